package workload

// runs are the prompts that an unbounded cache with blocks of one token holds. One entry per block of the plan
// is enough: a chain of keys per token would take 16 times the memory.
type runs map[uint64]int // by the blocks up to here: the most tokens of the last one

// serve returns how many leading tokens of a prompt are known, and adds the first common tokens of the prompt
// and its answer.
func (s runs) serve(common int, parts ...[]Block) (hit int) {
	key, hits := uint64(0), true
	for _, blocks := range parts {
		for _, b := range blocks {
			tokens := min(b.Tokens, common)
			if tokens == 0 {
				return hit
			}
			common -= tokens
			key = mix(key, b.ID)
			known := s[key]
			if hits {
				hit += min(tokens, known)
				hits = known >= tokens
			}
			s[key] = max(known, tokens)
			key = mix(key, uint64(tokens)) // what follows a shorter run of this block is another prompt
		}
	}
	return hit
}
