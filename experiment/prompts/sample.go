package prompts

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Sample is the prompts that one plan draws, and their order: a function of the plan's seed.
type Sample struct {
	source *Source
	random func(epoch uint64) *rand.Rand

	mu      sync.Mutex // plans are copied
	numbers []int32    // of the prompts, in the order of the file
	cuts    map[int32]int
	epoch   int     // of order
	order   []int32 // shuffled: the numbers in the order of this epoch
}

// Sample makes the sample of a source that was looked at. Each epoch, which draws every prompt once, has its own
// random stream.
func (s *Source) Sample(random func(epoch uint64) *rand.Rand) *Sample {
	out := &Sample{source: s, random: random, numbers: s.kept, epoch: -1}
	if s.Limit > 0 && s.Limit < len(s.kept) {
		all := slices.Clone(s.kept)
		// A stream that no epoch has: else the sample would decide the order.
		random(1<<63).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		out.numbers = slices.Clone(all[:s.Limit])
		slices.Sort(out.numbers)
	}
	return out
}

func (s *Sample) Len() int { return len(s.numbers) }

// Draw is the n-th prompt that is drawn, from 0: every prompt once before any comes again.
func (s *Sample) Draw(n int) *Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers) == 0 { // every prompt was filtered out, which ended the row before
		return &Prompt{source: s.source}
	}
	epoch, i := n/len(s.numbers), n%len(s.numbers)
	number := s.numbers[i]
	if s.source.Order != Listed {
		if s.epoch != epoch {
			s.epoch, s.order = epoch, append(s.order[:0], s.numbers...)
			s.random(uint64(epoch)).Shuffle(len(s.order),
				func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		}
		number = s.order[i]
	}
	p := s.source.prompt(number)
	p.Repeat, p.cut = epoch, s.cuts[number]
	return p
}

// Keep leaves out prompts, and truncates others to cut bytes of their last text; 0 = not. The prompts come in the order
// in which they are drawn first. It ends with the first error, or when enough are kept; 0 = with the last prompt.
func (s *Sample) Keep(enough int, each func(*Prompt) (keep bool, cut int, err error)) error {
	var numbers []int32
	cuts := map[int32]int{}
	for n := range s.Len() {
		p := s.Draw(n)
		keep, cut, err := each(p)
		if err != nil {
			return err
		}
		if keep {
			numbers = append(numbers, int32(p.Number))
			if cut > 0 {
				cuts[int32(p.Number)] = cut
			}
		}
		if enough > 0 && len(numbers) == enough {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(numbers)
	s.numbers, s.cuts, s.epoch = numbers, cuts, -1
	return nil
}
