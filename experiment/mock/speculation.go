package mock

import "fmt"

// drafter is the speculative decoding of one sequence. The zero drafter is none.
type drafter struct {
	tokens     int     // drafted in each decode step
	acceptance float64 // probability that a draft is accepted after those before it
	drafted    int     // tokens so far
	steps      []int   // number of steps that accepted exactly i drafts
}

func newDrafter(s Speculation) drafter {
	if s.Tokens == 0 {
		return drafter{}
	}
	return drafter{tokens: s.Tokens, acceptance: s.Acceptance, steps: make([]int, s.Tokens+1)}
}

// accept is the number of the next drafts of q that are accepted: each by its own draw, until the first rejection.
func (q *seq) accept(drafted int) (accepted int) {
	for accepted < drafted {
		draw := mix(q.hash ^ mix(uint64(q.out)<<8|uint64(accepted)))
		if float64(draw>>11)/(1<<53) >= q.drafter.acceptance {
			break
		}
		accepted++
	}
	return accepted
}

func (d *drafter) count(drafted, accepted int) {
	d.drafted += drafted
	d.steps[accepted]++
}

func (d *drafter) verified() (steps, accepted int) {
	for i, n := range d.steps {
		steps += n
		accepted += n * i
	}
	return steps, accepted
}

// metrics is d in the form of vLLM's metrics of a request; empty: no step had drafts.
func (d *drafter) metrics() string {
	steps, accepted := d.verified()
	if steps == 0 {
		return ""
	}
	return fmt.Sprintf(`{"mean_acceptance_length":%g,"draft_acceptance_rate":%g,"acceptance_histogram":%s,"num_spec_steps":%d,`+
		`"num_accepted_draft_tokens":%d,"num_draft_tokens":%d,"num_spec_tokens":%d}`,
		1+float64(accepted)/float64(steps), float64(accepted)/float64(d.drafted), marshal(d.steps), steps, accepted,
		d.drafted, d.tokens)
}
