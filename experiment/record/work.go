package record

// TokensPerS is the row's throughput in tokens, and its unit: output tokens or, where the server writes none, prompt
// tokens.
func (r *Row) TokensPerS() (perS float64, unit string) {
	if !r.Spec.Writes() {
		return r.Summary.Throughput.PromptTokensPerS, "prompt tok/s"
	}
	return r.Summary.Throughput.OutputTokensPerS, "tok/s"
}
