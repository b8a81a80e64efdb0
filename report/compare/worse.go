package compare

// WorseBy is a change of a figure with its sign turned so that above 0 is worse.
func WorseBy(figure string, change float64) float64 { return worse(figure, change) }
