package record

// SummarizeBy summarizes the requests of each name by itself; an empty name belongs to no group. nil: there is none.
func SummarizeBy(records []*Record, name func(*Record) string,
	summarize func(name string, own []*Record) Summary) map[string]Summary {
	groups := map[string][]*Record{}
	for _, r := range records {
		if n := name(r); n != "" {
			groups[n] = append(groups[n], r)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	out := map[string]Summary{}
	for n, own := range groups {
		out[n] = summarize(n, own)
	}
	return out
}
