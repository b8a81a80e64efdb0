package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// ask runs a search against an oracle; it fails where the search does not end.
func ask(t interface{ Fatalf(string, ...any) }, s Search, oracle func(load float64) Verdict) []Answer {
	var answers []Answer
	for {
		x, more := s.Next(answers)
		if !more {
			return answers
		}
		if len(answers) > 20000 {
			t.Fatalf("%+v does not end", s)
		}
		if x < s.Min || x > s.Max || s.Whole && x != math.Round(x) {
			t.Fatalf("%+v asks at %v", s, x)
		}
		answers = append(answers, Answer{x, oracle(x)})
	}
}

func anySearch(t *rapid.T) Search {
	s := Search{Whole: rapid.Bool().Draw(t, "whole"), Tolerance: rapid.Float64Range(0.01, 0.5).Draw(t, "tolerance"), Confirm: rapid.IntRange(0, 4).Draw(t, "confirm")}
	if s.Whole {
		s.Min = float64(rapid.IntRange(1, 50).Draw(t, "min"))
		s.Max = s.Min + float64(rapid.IntRange(1, 2000).Draw(t, "more"))
		return s
	}
	s.Min = round4(rapid.Float64Range(1e-3, 100).Draw(t, "min"))
	s.Max = round4(s.Min * rapid.Float64Range(1.1, 1000).Draw(t, "times"))
	return s
}

func threshold(at float64) func(float64) Verdict {
	return func(x float64) Verdict {
		if x <= at {
			return Pass
		}
		return Fail
	}
}

func TestSearchByHand(t *testing.T) {
	s := Search{Min: 1, Max: 64, Tolerance: 0.1, Confirm: 2}
	var loads []float64
	for _, a := range ask(t, s, threshold(10)) {
		loads = append(loads, a.Load)
	}
	want := []float64{1, 2, 4, 8, 16, 11.31, 9.512, 10.37, 10.37, 9.512}
	if len(loads) != len(want) {
		t.Fatalf("%v", loads)
	}
	for i := range want {
		if loads[i] != want[i] {
			t.Errorf("%v, want %v", loads, want)
			break
		}
	}
	if n := s.Most(); n < len(want) || n > 15 {
		t.Errorf("at most %d", n)
	}
}

func TestSearchEnds(t *testing.T) {
	s := Search{Min: 2, Max: 64, Tolerance: 0.05, Confirm: 3}
	if b := s.Bracket(ask(t, s, threshold(1))); b.Low != nil || *b.High != 2 || b.HighRuns != 3 {
		t.Errorf("all fail: %+v", b)
	}
	if b := s.Bracket(ask(t, s, threshold(100))); b.High != nil || *b.Low != 64 || b.LowRuns != 3 {
		t.Errorf("all pass: %+v", b)
	}
	undecided := func(float64) Verdict { return Undecided }
	if b := s.Bracket(ask(t, s, undecided)); b.Low != nil || b.High != nil || len(b.Open) != 6 {
		t.Errorf("none decides: %+v", b)
	}
	if b := s.Bracket(nil); b.Low != nil || b.High != nil {
		t.Errorf("nothing asked: %+v", b)
	}
}

// TestSearchExact holds that an oracle which is never wrong is bracketed to the tolerance, both ends
// confirmed.
func TestSearchExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySearch(t)
		at := s.Min * math.Pow(s.Max/s.Min, rapid.Float64Range(0.001, 0.999).Draw(t, "place"))
		answers := ask(t, s, threshold(at))
		b := s.Bracket(answers)
		if b.Low == nil || b.High == nil || *b.Low > at || *b.High <= at || len(b.Open) > 0 || b.LowRuns < s.confirm() || b.HighRuns < s.confirm() {
			t.Fatalf("threshold %v: %+v", at, b)
		}
		if w := *b.High / *b.Low; w > (1+s.Tolerance)*1.0001 && !(s.Whole && *b.High-*b.Low == 1) {
			t.Fatalf("width %v", w)
		}
		if steps := math.Log2(s.Max/s.Min) + math.Log2(math.Log(2)/math.Log1p(s.Tolerance)) + 4 + 2*float64(s.confirm()-1); float64(len(answers)) > steps {
			t.Fatalf("%d answers, more than %.1f", len(answers), steps)
		}
	})
}

// TestSearchUndecided holds that what an oracle can't decide lies inside of the answer, and is named.
func TestSearchUndecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySearch(t)
		s.Whole = false
		from := s.Min * math.Pow(s.Max/s.Min, rapid.Float64Range(0.01, 0.6).Draw(t, "from"))
		to := from * math.Pow(s.Max/from, rapid.Float64Range(0.01, 0.9).Draw(t, "width"))
		b := s.Bracket(ask(t, s, func(x float64) Verdict {
			switch {
			case x <= from:
				return Pass
			case x > to:
				return Fail
			}
			return Undecided
		}))
		if b.Low == nil || b.High == nil || *b.Low > from || *b.High <= to {
			t.Fatalf("undecided from %v to %v: %+v", from, to, b)
		}
		if *b.Low*math.Pow(1+s.Tolerance, 2)*1.001 < from || *b.High/math.Pow(1+s.Tolerance, 2)/1.001 > to {
			t.Fatalf("undecided from %v to %v: %v to %v is too wide for %v", from, to, *b.Low, *b.High, s.Tolerance)
		}
		for _, x := range b.Open {
			if x <= from || x > to {
				t.Fatalf("%v is open", x)
			}
		}
	})
}

// TestSearchAnyAnswers: a search ends whatever the answers are, its result agrees with them, and it continues
// from any subset of them in any order.
func TestSearchAnyAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySearch(t)
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 0))
		answers := ask(t, s, func(float64) Verdict { return []Verdict{Pass, Fail, Undecided}[rng.IntN(3)] })
		b := s.Bracket(answers)
		if b.Low != nil && b.High != nil && *b.Low >= *b.High {
			t.Fatalf("%+v", b)
		}
		for _, a := range answers {
			if b.Low != nil && a.Load == *b.Low && a.Verdict == Fail || b.High != nil && a.Load == *b.High && a.Verdict == Pass {
				t.Fatalf("an end is contradicted: %+v by %+v", b, a)
			}
		}
		shuffled := append([]Answer(nil), answers...)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, more := s.Next(shuffled); more {
			t.Fatal("in another order there is more to ask")
		}
		part := shuffled[:len(shuffled)/2]
		x, more := s.Next(part)
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		if y, again := s.Next(part); x != y || more != again {
			t.Fatalf("the order decides: %v or %v", x, y)
		}
	})
}

// TestSearchNoisy holds what confirmation is for: answers that are wrong by chance, most near the threshold
// and some anywhere, leave the threshold inside of the answer. Without confirmation the same answers lose it
// several times as often.
func TestSearchNoisy(t *testing.T) {
	const trials, at, slope, anywhere = 2000, 10.0, 0.01, 0.02
	missed := func(confirm int) int {
		rng := rand.New(rand.NewPCG(1, uint64(confirm)))
		s := Search{Min: 1, Max: 64, Tolerance: 0.05, Confirm: confirm}
		n := 0
		for range trials {
			b := s.Bracket(ask(t, s, func(x float64) Verdict {
				pass := anywhere + (1-2*anywhere)/(1+math.Exp(math.Log(x/at)/slope))
				if rng.Float64() < pass {
					return Pass
				}
				return Fail
			}))
			// Where one in four answers differs from the other side's is no threshold to miss.
			if b.Low == nil || b.High == nil || *b.Low > at*1.011 || *b.High < at/1.011 {
				n++
			}
		}
		return n
	}
	once, twice, thrice := missed(1), missed(2), missed(3)
	t.Logf("of %d: %d missed with one run at each end, %d with two, %d with three", trials, once, twice, thrice)
	if twice > trials/50 || thrice > trials/100 || once < 3*twice {
		t.Errorf("missed: %d, %d, %d of %d", once, twice, thrice, trials)
	}
}
