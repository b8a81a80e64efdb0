package telemetry

// TierRates are the shares of the looked-up prompt tokens that each tier had, in the order of TierNames, over
// the window. nil: the server does not report tiers.
func (u *ServerUsage) TierRates() []*float64 {
	if u == nil || u.Tiers == (TierHits{}) || u.PrefixQueries == nil || *u.PrefixQueries <= 0 {
		return nil
	}
	rates := u.Tiers.List()
	for i, hits := range rates {
		if hits != nil {
			rates[i] = new(Round(*hits / *u.PrefixQueries, 6))
		}
	}
	return rates
}
