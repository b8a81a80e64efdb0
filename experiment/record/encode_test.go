package record

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// serverText draws what a server may say: any bytes, and those that encoding/json escapes in a way of its
// own.
func serverText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(), rapid.StringMatching(`[a-z0-9-]{0,20}`),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
		rapid.SampledFrom([]string{`</script>&"\`, "\u2028\u2029", "\xff", "\x00\x1f\x7f\b\f\n\r\t", "é"}),
	)
}

func anyRecord() *rapid.Generator[*Record] {
	return rapid.Custom(func(t *rapid.T) *Record {
		number := rapid.OneOf(rapid.Int64Range(-3, 20_000), rapid.Int64())
		whole := rapid.Custom(func(t *rapid.T) int { return int(number.Draw(t, "int")) })
		at := rapid.Custom(func(t *rapid.T) (m Micros) {
			if rapid.Bool().Draw(t, "happened") {
				m = At(number.Draw(t, "µs"))
			}
			return m
		})
		text := serverText()
		return &Record{
			Schema: text.Draw(t, "schema"), I: whole.Draw(t, "i"), ServerID: text.Draw(t, "id"), Class: text.Draw(t, "class"), Model: text.Draw(t, "model"), Endpoint: rapid.Ptr(whole, true).Draw(t, "endpoint"), Phase: text.Draw(t, "phase"), Category: text.Draw(t, "category"), PromptHash: text.Draw(t, "hash"),
			Session: rapid.Ptr(whole, true).Draw(t, "session"), Turn: rapid.Ptr(whole, true).Draw(t, "turn"), Worker: rapid.Ptr(whole, true).Draw(t, "worker"), TurnsLost: whole.Draw(t, "turns lost"),
			Arrival: at.Draw(t, "at"), Ready: at.Draw(t, "ready"), Sent: at.Draw(t, "sent"), FirstEvent: at.Draw(t, "event"),
			First: at.Draw(t, "first"), FirstAnswer: at.Draw(t, "answer"), Last: at.Draw(t, "last"), End: at.Draw(t, "end"),
			ConnectUs: rapid.Ptr(number, true).Draw(t, "connect"),
			Gaps:      Pack(rapid.SliceOf(number).Draw(t, "gaps")...), TokensPerEvent: Pack(rapid.SliceOf(whole).Draw(t, "tokens")...),
			PromptRequested: whole.Draw(t, "prompt asked"), PromptTokens: rapid.Ptr(whole, true).Draw(t, "prompt"), CachedTokens: rapid.Ptr(whole, true).Draw(t, "cached"),
			OutputRequested: whole.Draw(t, "output asked"), OutputTokens: whole.Draw(t, "output"), Estimated: rapid.Bool().Draw(t, "estimated"),
			ReasoningTokens: rapid.Ptr(whole, true).Draw(t, "reasoning"), ReasoningEstimated: rapid.Bool().Draw(t, "counted"), ThinkTag: rapid.Bool().Draw(t, "tag"),
			Drafts: rapid.Ptr(whole, true).Draw(t, "drafts"), DraftTokens: rapid.Ptr(whole, true).Draw(t, "drafted"), AcceptedTokens: rapid.Ptr(whole, true).Draw(t, "accepted"),
			Server: rapid.Ptr(rapid.Custom(func(t *rapid.T) ServerTimes {
				return ServerTimes{Queue: rapid.Ptr(number, true).Draw(t, "queue"), Prefill: rapid.Ptr(number, true).Draw(t, "prefill"), Decode: rapid.Ptr(number, true).Draw(t, "decode")}
			}), true).Draw(t, "server"),
			Outcome: text.Draw(t, "outcome"), Error: text.Draw(t, "error"), Status: whole.Draw(t, "status"), Finish: text.Draw(t, "finish"),
			Valid: rapid.Ptr(rapid.Bool(), true).Draw(t, "valid"), Correct: rapid.Ptr(rapid.Bool(), true).Draw(t, "correct"), Invalid: text.Draw(t, "reason"),
		}
	})
}

func TestAppendJSONIsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRecord().Draw(t, "record")
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON([]byte("before")); string(got) != "before"+string(want) {
			t.Fatalf("\ngot  %s\nwant before%s", got, want)
		}
	})
}

// fullRecord has every field.
func fullRecord() Record {
	n, us := 1, int64(1)
	return Record{Schema: "s", I: 1, ServerID: "s", Class: "s", Model: "s", Endpoint: &n, Category: "s", PromptHash: "s", Phase: "s", Arrival: At(1), Ready: At(1), Sent: At(1), FirstEvent: At(1), First: At(1), FirstAnswer: At(1), Last: At(1), End: At(1),
		ConnectUs: &us, Gaps: Pack(1), TokensPerEvent: Pack(1), PromptRequested: 1, PromptTokens: &n, CachedTokens: &n, OutputRequested: 1, OutputTokens: 1, Estimated: true, Server: &ServerTimes{Queue: &us, Prefill: &us, Decode: &us},
		ReasoningTokens: &n, ReasoningEstimated: true, ThinkTag: true, Drafts: &n, DraftTokens: &n, AcceptedTokens: &n,
		Impossible: &Usage{Prompt: &n, Cached: &n, Output: &n},
		Outcome:    "s", Error: "s", Status: 1, Finish: "s", Session: &n, Turn: &n, Turns: 1, Agent: 1, Worker: &n, TurnsLost: 1,
		Valid: new(true), Correct: new(false), Invalid: "s"}
}

// A field that is added to Record and forgotten in AppendJSON would be lost from the evidence.
func TestAppendJSONHasEveryField(t *testing.T) {
	full := fullRecord()
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is missing in this test", v.Type().Field(i).Name)
		}
	}
	want, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(full.AppendJSON(nil))); d != "" {
		t.Error(d)
	}
}

// plain is what Packed stands for.
type plain struct {
	Gaps []int64 `json:"gaps_us,omitempty"`
}

func TestPackedIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(0, 20_000), rapid.Int64())).Draw(t, "numbers")
		p := Pack(xs...)
		if got := slices.Collect(p.All()); !slices.Equal(got, xs) || p.Len() != len(xs) || p.IsZero() != (len(xs) == 0) {
			t.Fatalf("%d of %v came back as %v", p.Len(), xs, got)
		}
		want, err := json.Marshal(plain{xs})
		if err != nil {
			t.Fatal(err)
		}
		record := struct {
			Gaps Packed `json:"gaps_us,omitzero"`
		}{p}
		got, err := json.Marshal(record)
		if err != nil || string(got) != string(want) {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
		record.Gaps = Pack(7)
		if len(xs) == 0 {
			record.Gaps = Packed{}
		}
		if err := json.Unmarshal(got, &record); err != nil || !slices.Equal(slices.Collect(record.Gaps.All()), xs) {
			t.Fatalf("read back: %v, %v", slices.Collect(record.Gaps.All()), err)
		}
	})
}

func TestPackedJSON(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int64
		ok   bool
	}{
		{"null", nil, true}, {"[]", nil, true}, {"[ ]", nil, true}, {"[ 1 ,\n2]", []int64{1, 2}, true}, {"[-9223372036854775808]", []int64{math.MinInt64}, true},
		{"[1.5]", nil, false}, {"[1e3]", nil, false}, {"[9223372036854775808]", nil, false}, {`["1"]`, nil, false}, {"[null]", nil, false},
		{"[[1]]", nil, false}, {`{"a":[1]}`, nil, false}, {`"x"`, nil, false}, {"7", nil, false}, {"true", nil, false},
	} {
		p := Pack(7)
		err := json.Unmarshal([]byte(c.text), &p)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.text, err)
		}
		if got := slices.Collect(p.All()); !slices.Equal(got, c.want) {
			t.Errorf("%s is %v, want %v", c.text, got, c.want)
		}
	}
}

func TestPackedStopsWithTheCaller(t *testing.T) {
	for x := range Pack(1, 2, 3).All() {
		if x == 2 {
			return
		}
	}
	t.Error("the second entry did not come")
}
