package roofline

// DecodeSpeculated is decoding alone and under a load, for a server that drafts tokens and verifies them in one step of
// the model (Leviathan et al., arXiv 2211.17192): a step verifies a mean number of drafted tokens of each sequence, and
// yields a mean number of tokens. Drafting takes no time in it.
func (s Setup) DecodeSpeculated(batch, context, drafted, tokens float64, loaded Bound) (alone, underLoad Bound) {
	batch, context = atLeast(1, batch), atLeast(0, context)
	p := s.decode(batch*(drafted+1), context)
	p.kv = batch * s.Model.kvRead(context, s.kvBytes(), s.kvWidth())
	p.leastKV = batch * s.Model.kvRead(context, s.kvBytes(), 1)
	p.sequences = batch
	plain := s.Decode(batch, context)
	alone = s.bound(p, s.efficiency().TPOT)
	for i, x := range alone.times() {
		*x /= tokens
		*loaded.times()[i] += *x - *plain.times()[i]
	}
	for i := range alone.Terms {
		alone.Terms[i].Amount /= tokens
		alone.Terms[i].Ms /= tokens
	}
	return alone, loaded
}

func (b *Bound) times() [4]*float64 {
	return [4]*float64{&b.FloorMs, &b.LowMs, &b.ExpectedMs, &b.HighMs}
}
