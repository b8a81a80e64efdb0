package record

// Cost is what the output of a row costs, at the throughput of its window: all
// of it is put on the output tokens.
type Cost struct {
	HourUSD       float64 `json:"hour_usd"` // of all GPUs
	USDPerMillion float64 `json:"usd_per_million_output_tokens"`
	TokensPerUSD  float64 `json:"output_tokens_per_usd"` // 0: the hour costs nothing

	Utilisation *float64 `json:"utilisation"` // null: not stated
	// USDPerMillionUsed is the price where the GPUs carry this load in that share of their hours only, and cost as much in the others.
	USDPerMillionUsed *float64 `json:"usd_per_million_output_tokens_at_utilisation"`

	Watts  *float64 `json:"watts"` // of all GPUs, as stated in [target]; null: not stated
	Joules *float64 `json:"joules_per_output_token"`
}
