package load

// takeShare reduces the load to the driver's share of it. In an open loop only the cap is divided, since every machine
// counts the arrivals of all. empty: requests are counted, and the share has none of the window.
func (c *Config) takeShare() (empty bool) {
	s := c.Share
	if s.Of == 0 {
		return false
	}
	c.Concurrency = s.Concurrency()
	if c.hasSchedule() {
		return false
	}
	warmup := s.Among(c.Warmup.Requests)
	if c.Requests > 0 {
		c.Requests = s.Among(c.Warmup.Requests+c.Requests) - warmup
		empty = c.Requests == 0
	}
	c.Warmup.Requests = warmup
	return empty
}

// Join is the window of a row whose load several machines sent.
//
// Where time ends it they all have the same. Where requests are counted, each ended its own after its part of them:
// together it goes from the first start to the first arrival behind, or the latest arrival of a request that counts.
// With rate "inf" it goes to the last end.
func (c *Config) Join(parts []Measured) Measured {
	var all Measured
	for i, m := range parts {
		cut := m.Cut || all.Cut
		switch {
		case i == 0 || all.Requests == 0 && m.Requests > 0:
			all = m
		case m.Requests > 0 || all.Requests == 0:
			end := min(all.End, m.End)
			if c.Rate.IsInf() {
				end = max(all.End, m.End)
			}
			all.Start, all.Last, all.End = min(all.Start, m.Start), max(all.Last, m.Last), end
		}
		all.Cut = cut
	}
	all.End = max(all.End, all.Last)
	return all
}
