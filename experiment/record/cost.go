package record

// Cost is the cost of a row's output tokens at the throughput of its window. The whole price of the GPUs falls
// on the output tokens.
type Cost struct {
	HourUSD       float64 `json:"hour_usd"` // of all GPUs
	USDPerMillion float64 `json:"usd_per_million_output_tokens"`
	TokensPerUSD  float64 `json:"output_tokens_per_usd"` // 0: the hour is free
}
