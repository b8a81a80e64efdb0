package roofline

// Chunk is a part of one prompt in a step: Tokens of it are computed, after Before tokens that are in the KV cache.
type Chunk struct{ Tokens, Before float64 }

// StepMs is the expected time of one step with continuous batching: chunks of prompts, and one token for each of
// decodes sequences with a mean context. The weights are read once, KV and attention are those of each.
func (s Setup) StepMs(chunks []Chunk, decodes, context float64) float64 {
	return s.ms(s.expect(s.mixed(chunks, decodes, context)))
}

func (s *Setup) mixed(chunks []Chunk, decodes, context float64) pass {
	fresh, before := 0.0, 0.0
	for _, c := range chunks {
		fresh += c.Tokens
		before += c.Before
	}
	p := s.step(0, 0, decodes, context)
	if fresh == 0 {
		return p
	}
	read := s.read(fresh + decodes)
	read.kv, read.leastKV, read.scan = p.kv, p.leastKV, p.scan
	for _, c := range chunks {
		read.attention += s.Model.attentionFlops(c.Before+c.Tokens, c.Before)
		if c.Before > 0 {
			read.kv += s.Model.kvRead(c.Before, s.kvBytes(), s.kvWidth())
			read.leastKV += s.Model.kvRead(c.Before, s.kvBytes(), 1)
		}
	}
	s.concentrate(&read, fresh, len(chunks))
	read.flops += 2 * (decodes + float64(len(chunks))) * float64(s.Model.headParams())
	read.sequences, read.context = decodes, context
	if decodes == 0 {
		read.sequences, read.context = float64(len(chunks)), before/float64(len(chunks))
	}
	return read
}
