package endpoint

import (
	"context"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/response"
	"bench/experiment/target"
)

// askers is the number of questions that are asked at once: not measured, and no load.
const askers = 8

// MeasureAccuracy asks each replica all questions. The error is ctx's: a request that fails is a wrong answer.
func (s *Server) MeasureAccuracy(ctx context.Context, a *experiment.Accuracy) error {
	source := "built-in"
	if a.File != "" {
		source = filepath.Base(a.File)
	}
	all := record.Accuracy{Source: source, API: s.Info.PromptAPI, MinCorrect: a.Least()}
	for _, server := range s.all() {
		counts, err := server.ask(ctx, s.Info.PromptAPI, a)
		if err != nil {
			return err
		}
		all.Add(server.Info.Endpoint, len(a.Questions), counts)
	}
	if len(s.replicas) == 0 {
		all.Replicas = nil
	}
	s.accuracy = &all
	return nil
}

func (s *Server) ask(ctx context.Context, of string, a *experiment.Accuracy) (record.AccuracyCounts, error) {
	api := s.apis[of]
	enc, err := api.questionEncoder(s.Target.ExtraBody, a.File == "")
	if err != nil {
		return record.AccuracyCounts{}, err
	}
	var mu sync.Mutex
	var n record.AccuracyCounts
	var all sync.WaitGroup
	turns := make(chan struct{}, askers)
	for _, q := range a.Questions {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			correct, r := api.answers(ctx, enc, q, a)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Outcome.Failed():
				n.Failed++
			case correct:
				n.Correct++
			case r.OutputTokens >= experiment.MostAccuracyTokens && len(r.Answer.Parts.Content) == 0:
				n.CutOff++
			}
		})
	}
	all.Wait()
	return n, ctx.Err()
}

// questionEncoder makes bodies without fields of other forms. A base model stops at the end of the line.
func (c *apiClient) questionEncoder(extra map[string]any, builtin bool) (*openai.Encoder, error) {
	fields := maps.Clone(extra)
	for _, field := range response.Fields {
		delete(fields, field)
	}
	if c.api == target.Completions && builtin {
		fields = merged(fields, map[string]any{"stop": []string{"\n"}})
	}
	return openai.Params{API: c.api, Model: c.model, Omit: c.omit, Extra: fields}.Encoder()
}

// example shows a base model what an answer is.
const example = "Answer with the number only.\nWhat is 2 + 3?\n5\n\n"

func (c *apiClient) answers(ctx context.Context, enc *openai.Encoder, q experiment.Question,
	a *experiment.Accuracy) (correct bool, r openai.Result) {
	text := q.Prompt
	if c.api == target.Completions && a.File == "" {
		text = example + text + "\n"
	}
	c.client.Do(ctx, &openai.Call{Body: enc.Body(nil, openai.Prompt{Text: text}, experiment.MostAccuracyTokens),
		KeepParts: true, Epoch: time.Now()}, &r)
	if r.Outcome.Failed() {
		return false, r
	}
	v := response.Check(answerOf(&r), nil, q.Expected)
	return *v.Correct, r
}
