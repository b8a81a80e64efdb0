// Package schema holds no code: its tests make these JSON Schemas from the Go types and their comments, and
// hold what bench really writes (a run, a report, a comparison, a self-test, …) against them. They lie beside
// the schemas, as no one package writes all the documents.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	reflector "github.com/invopop/jsonschema"
	"github.com/klauspost/compress/zstd"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"bench/experiment/bisect"
	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/selftest"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/trace"
	"bench/experiment/tune"
	"bench/experiment/workload"
	"bench/report"
	"bench/report/compare"
	"bench/report/referee"
	"bench/report/rehearse"
	"bench/report/size"
	"bench/report/why"
	"bench/sweep/live"
	"bench/sweep/revisions"
)

var update = flag.Bool("update", false, "write docs/schema anew")

// module is the path that our imports begin with; deploy/module can change it.
var module = strings.TrimSuffix(reflect.TypeFor[record.Manifest]().PkgPath(), "/experiment/record")

// TestMain runs the tests in the root of the module: the results of the example lie there, and the paths of
// Go comments begin there.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// schemas are the documents that have a schema. After a change of a type: go test ./docs/schema -update, and
// read the diff.
var schemas = []struct {
	name     string // in docs/schema, without .v1.json
	document any
}{
	{"run", record.Manifest{}},
	{"row", record.Row{}},
	{"record", record.Record{}},
	{"telemetry", telemetry.Sample{}},
	{"selftest", selftest.Result{}},
	{"event", live.Message{}},
	{"report", report.Document{}},
	{"comparison", compare.Comparison{}},
	{"gate", compare.GateRecord{}},
	{"trends", compare.History{}},
	{"decisions", report.Decisions{}},
	{"history", compare.Index{}},
	{"predict", roofline.Prediction{}},
	{"rehearsal", rehearse.Result{}},
	{"referee", referee.Card{}},
	{"size", size.Result{}},
	{"why", why.Result{}},
	{"bisect", revisions.Result{}},
	{"trace-report", trace.Report{}},
}

// mapped are the types that write themselves to JSON in a form that reflection can't see.
var mapped = map[reflect.Type]reflector.Schema{
	reflect.TypeFor[record.Micros](): {Type: "integer"},
	reflect.TypeFor[record.Packed](): {Type: "array", Items: &reflector.Schema{Type: "integer"}},
	reflect.TypeFor[workload.Span](): {Type: "number"},
	reflect.TypeFor[workload.Rate](): {OneOf: []*reflector.Schema{{Type: "number"}, {Const: "inf"}}},
	reflect.TypeFor[stats.Interval](): {
		Type: "array", MinItems: new(uint64(2)), MaxItems: new(uint64(2)), Items: nullable(&reflector.Schema{Type: "number"}),
	},
}

// closed are the texts that have a fixed set of values, by type and property; "" in a set is "not yet".
// TestSchemas fails for a key that no document has.
var closed = map[string][]any{
	"record.Manifest.schema":    {record.SchemaRun},
	"record.Manifest.state":     {"running", "done", "interrupted", "failed"},
	"record.Planned.state":      {"planned", "done", "failed", "skipped", "removed"},
	"record.Attempt.ended":      {"", "done", "interrupted", "failed"},
	"experiment.Search.axis":    {"rate", "concurrency"},
	"experiment.Search.search":  {"slo", "saturation"},
	"record.Found.state":        {"searching", "found", "above", "below", "none", "beaten", "budget", "unprobed"},
	"record.Tune.state":         {"racing", "confirming", tune.Certified, tune.BudgetSpent, tune.NothingRuns},
	"record.TunedSetting.state": {tune.Measured, tune.RacedOut, tune.Predicted, tune.Audited, tune.Infeasible, tune.NotRun},
	"revisions.Result.schema":   {revisions.Schema},
	"revisions.Result.state": {revisions.StateRunning, revisions.StateInterrupted, revisions.StateFailed, bisect.Found,
		bisect.Unchanged, bisect.Inconclusive, bisect.Unsettled, revisions.StateBudget},
	"revisions.Revision.state":      {revisions.Built, revisions.PassedOver},
	"report.Decisions.schema":       {report.SchemaDecisions},
	"report.Decision.outcome":       {"accepted", "rejected", "open"},
	"record.TargetInfo.api":         {"completions", "chat"},
	"record.Row.schema":             {record.SchemaRow},
	"record.Row.prompt_form":        {"token_ids", "text", "mixed"},
	"record.Roofline.tpot_place":    places,
	"record.Roofline.ttft_place":    places,
	"record.Clock.stamps":           {"kernel", "user", "mixed", "virtual"},
	"record.Finding.severity":       severities,
	"report.Finding.severity":       severities,
	"record.Effect.direction":       {string(record.Inflated), string(record.Lowered), string(record.Unknown)},
	"record.Effect.unit":            {record.UnitMs, record.UnitFactor, record.UnitRequests},
	"record.Verdict.unit":           {"ms", "share", "1/s", "tokens/s", "usd", "J", "tokens/J"},
	"record.Verdict.verdict":        verdicts,
	"record.Record.phase":           {record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown},
	"record.Record.outcome":         {"ok", "short", "truncated", "timeout", "connect", "status", "protocol", "cancelled", "unfinished"},
	"record.TargetInfo.prompt_form": {"token_ids", "text"},
	"telemetry.Sample.schema":       {telemetry.Schema},
	"telemetry.Sample.source":       {telemetry.SourceClient, telemetry.SourceServer, telemetry.SourceGPU},
	"selftest.Result.schema":        {selftest.Schema},
	"selftest.Measured.kind":        {selftest.Burst, selftest.Spread, selftest.Rate},
	"live.Message.schema":           {live.SchemaEvent},
	"live.Message.event": {"server_starting", "run_started", "search_started", "row_started", "row_skipped", "row_cut",
		"row_progress", "row_finished", "search_ended", "run_ended"},
	"live.MessageSearch.axis":    {"rate", "concurrency"},
	"live.MessageSearch.search":  {"slo", "saturation"},
	"live.MessageSearch.state":   {"found", "above", "below", "none", "budget"},
	"live.MessageRun.state":      {"done", "interrupted", "failed"},
	"live.MessageProgress.phase": {"preparing", "settling", record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown},
	"report.Document.schema":     {report.SchemaDocument},
	"diagnosis.Answer.verdict":   maybe(verdicts),
	"diagnosis.Workload.verdict": maybe(verdicts),
	"diagnosis.Workload.lead": {diagnosis.LeadShip, diagnosis.LeadMet, diagnosis.LeadLikely, diagnosis.LeadNotYet, diagnosis.LeadNone, diagnosis.LeadMeasured,
		diagnosis.LeadBaseline},
	"diagnosis.Change.result":        {string(diagnosis.Better), string(diagnosis.Worse), string(diagnosis.Inconclusive)},
	"diagnosis.Change.spread":        {stats.SpreadOfRuns, stats.SpreadOfPairs, stats.SpreadAssumed, diagnosis.OfLoads},
	"diagnosis.PointStatus.status":   {string(diagnosis.Ship), string(diagnosis.Meets), string(diagnosis.Misses), string(diagnosis.Open), string(diagnosis.Invalid), string(diagnosis.NoSLO)},
	"diagnosis.Limit.bottleneck":     bottlenecks(),
	"series.Series.axis":             {"rate", "concurrency"},
	"series.Series.prompt_form":      {"", "token_ids", "text", "mixed"},
	"series.Series.frontier_latency": {"ttft", "e2e"},
	"series.Point.slo":               maybe(verdicts),
	"record.Percentile.name":         {"p50", "p90", "p95", "p99", "p999"},
	"record.Percentile.grade":        {string(stats.NoBound), string(stats.Thin), string(stats.Sound)},
	"series.Frontier.gain":           {"output_tokens_per_s", "output_tokens_per_s_per_gpu"},
	"series.Frontier.cost":           {"ttft_p99", "tpot_p95", "e2e_p99", "per_user_tokens_per_s"},
	"diagnosis.Diagnosis.bottleneck": bottlenecks(),
	"diagnosis.NextSweep.bottleneck": bottlenecks(),
	"compare.Comparison.schema":      {compare.Schema},
	"compare.Metric.unit":            {"ms", "share", "1/s", "tokens/s"},
	"compare.Metric.test":            {compare.ByRuns, compare.ByPairs},
	"compare.Spread.source": {stats.SpreadOfRuns, stats.SpreadOfHistory, stats.SpreadOfPairs, stats.SpreadOfMachine,
		stats.SpreadOfRepeats, stats.SpreadAssumed},
	"compare.Metric.verdict": {string(compare.Better), string(compare.Worse), string(compare.NoChange),
		string(compare.Inconclusive)},
	"compare.Metric.gate":       verdicts,
	"compare.Outcome.verdict":   verdicts,
	"compare.SearchAnswer.goal": {"slo", "saturation"},
	"compare.SearchAnswer.axis": {"rate", "concurrency"},
	"compare.SearchAnswer.verdict": {string(compare.Better), string(compare.Worse),
		string(compare.Inconclusive)},
	"compare.Case.verdict":       verdicts,
	"compare.GateRecord.schema":  {compare.SchemaGate},
	"compare.GateRecord.verdict": verdicts,
	"compare.History.schema":     {compare.SchemaHistory},
	"compare.NightGate.verdict":  verdicts,
	"compare.GateNight.verdict":  verdicts,
	"compare.Trend.unit":         {"ms", "share", "1/s", "tokens/s"},
	"compare.Index.schema":       {compare.SchemaIndex},
	"compare.Headline.state":     {"running", "done", "interrupted", "failed"},
	"compare.Headline.answer": {"", diagnosis.LeadShip, diagnosis.LeadMet, diagnosis.LeadLikely, diagnosis.LeadNotYet, diagnosis.LeadNone,
		diagnosis.LeadMeasured, diagnosis.LeadBaseline},
	"compare.Headline.verdict":   maybe(verdicts),
	"compare.Percentile.stat":    {"p50", "p90", "p95", "p99", "p999"},
	"roofline.Prediction.schema": {roofline.SchemaPredict},
	"referee.Card.schema":        {referee.Schema},
	"referee.Load.arrival":       {"poisson", "constant"},
	"referee.Line.verdict": {referee.Right, referee.Wrong, referee.Unclear, referee.NotShown,
		referee.NotAsked},
	"rehearse.Result.schema":   {rehearse.Schema},
	"rehearse.Morning.job":     {"red", "green"},
	"rehearse.Morning.verdict": verdicts,
	"trace.Report.schema":      {trace.SchemaReport},
	"live.MessageResult.slo":   verdicts,
}

var severities = []any{string(record.Invalid), string(record.Caution), string(record.Note)}

// verdicts of an SLO and of a gate.
var verdicts = []any{stats.Pass, stats.Fail, stats.Undecided}

// maybe is values, or the empty text: there is none.
func maybe(values []any) []any { return append([]any{""}, values...) }

func bottlenecks() []any {
	var all []any
	for _, b := range diagnosis.Bottlenecks {
		all = append(all, string(b))
	}
	return all
}

// places are where a measured time can lie beside its bound.
var places = []any{string(roofline.BelowFloor), string(roofline.Fast), string(roofline.Inside), string(roofline.Slow)}

// maybeNull are lists that are null where there is nothing; all other lists and maps are empty then.
var maybeNull = []string{"record.Manifest.not_stated"}

// nullable allows null beside s.
func nullable(s *reflector.Schema) *reflector.Schema {
	described := *s
	described.Description = ""
	return &reflector.Schema{OneOf: []*reflector.Schema{&described, {Type: "null"}}, Description: s.Description}
}

// comments are the doc comments of our types and fields.
var comments = sync.OnceValues(func() (map[string]string, error) {
	var r reflector.Reflector
	for _, folder := range []string{"experiment", "live", "report", "sweep"} {
		if err := r.AddGoComments(module, folder, reflector.WithFullComment()); err != nil {
			return nil, err
		}
	}
	return r.CommentMap, nil
})

// generate makes the schema of a document; it adds the properties that it meets, as "record.Row.schema", to
// seen.
func generate(t *testing.T, name string, document any, seen map[string]bool) []byte {
	t.Helper()
	described, err := comments()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]reflect.Type{}
	r := reflector.Reflector{
		Anonymous: true, ExpandedStruct: true, CommentMap: described,
		Namer: func(t reflect.Type) string {
			if t.PkgPath() == "" || t.Kind() != reflect.Struct { // only structs get a definition of their own
				return ""
			}
			name := path.Base(t.PkgPath()) + "." + t.Name()
			types[name] = t
			return name
		},
		Mapper: func(t reflect.Type) *reflector.Schema {
			if s, ok := mapped[t]; ok {
				return &s
			}
			return nil
		},
	}
	s := r.Reflect(document)
	own := path.Base(reflect.TypeOf(document).PkgPath()) + "." + reflect.TypeOf(document).Name()
	tighten(s, own, types[own], seen)
	for name, def := range s.Definitions {
		tighten(def, name, types[name], seen)
	}
	s.ID = reflector.ID("urn:bench:" + name + ":v1")
	s.Title = "bench/" + name + "/v1"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	// The schemas' own MarshalJSON escapes for HTML; these files are read by people.
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	return []byte(plain + "\n")
}

// tighten adds to the schema of a struct what its Go type does not say: which properties can be
// null, and which texts have a fixed set of values.
func tighten(s *reflector.Schema, name string, t reflect.Type, seen map[string]bool) {
	s.Description = strings.Join(strings.Fields(s.Description), " ")
	if t == nil { // a list that has a name
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, ok := s.Properties.Get(key)
		if !ok {
			continue
		}
		property.Description = strings.Join(strings.Fields(property.Description), " ")
		at := name + "." + key
		seen[at] = true
		if values := closed[at]; len(values) == 1 {
			property.Const = values[0]
		} else {
			property.Enum = values
		}
		if options == "" && (f.Type.Kind() == reflect.Pointer || slices.Contains(maybeNull, at)) {
			s.Properties.Set(key, nullable(property))
		}
	}
}

func schemaFile(name string) string {
	version := "v1"
	switch {
	case name == "history":
		version = "v5"
	case slices.Contains([]string{"report", "comparison", "trends", "predict"}, name):
		version = "v2"
	}
	return filepath.Join("docs", "schema", name+"."+version+".json")
}

func TestSchemas(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range schemas {
		got := generate(t, s.name, s.document, seen)
		if *update {
			if err := os.MkdirAll(filepath.Dir(schemaFile(s.name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(schemaFile(s.name), got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(schemaFile(s.name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s is not what the types say (go test ./docs/schema -update writes it; a document that was valid must stay so, or the version changes):\n%s", schemaFile(s.name), diff)
		}
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(closed)), maybeNull) {
		if !seen[key] {
			t.Errorf("no document has the property %s: was its type or its field renamed?", key)
		}
	}
}

// compile reads the committed schemas.
func compile(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	if *update {
		t.Skip("TestSchemas writes what this would be held against")
	}
	all, err := compileAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var compileAll = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	return compileWith(func(text []byte) []byte { return text })
})

// compileWith reads the committed schemas, each with its text changed.
func compileWith(changed func(text []byte) []byte) (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	all := map[string]*jsonschema.Schema{}
	for _, s := range schemas {
		text, err := os.ReadFile(schemaFile(s.name))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(changed(text)))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(schemaFile(s.name), doc); err != nil {
			return nil, err
		}
		if all[s.name], err = c.Compile(schemaFile(s.name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// documents are the JSON texts of a run, by kind.
type documents map[string][][]byte

// collect reads what lies in a run's directory, by the names of its files.
func collect(t *testing.T, dir string) documents {
	t.Helper()
	found := documents{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Name() == "run.json":
			found["run"] = append(found["run"], text)
		case strings.HasSuffix(e.Name(), ".json"):
			found["row"] = append(found["row"], text)
		case strings.HasSuffix(e.Name(), ".requests.jsonl.zst"):
			found["record"] = append(found["record"], lines(t, text)...)
		case strings.HasSuffix(e.Name(), ".telemetry.jsonl.zst"):
			found["telemetry"] = append(found["telemetry"], lines(t, text)...)
		}
	}
	return found
}

// lines are those of compressed records.
func lines(t *testing.T, compressed []byte) [][]byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := z.DecodeAll(compressed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// parse reads JSON with its numbers as they are written.
func parse(t *testing.T, text []byte) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// validate holds documents against their schemas, and says where it was.
func validate(t *testing.T, compiled map[string]*jsonschema.Schema, where string, found documents) {
	t.Helper()
	for kind, texts := range found {
		for _, text := range texts {
			if err := compiled[kind].Validate(parse(t, text)); err != nil {
				t.Errorf("%s: %v\n%.2000s", where, err, text)
			}
		}
	}
}

// TestSchemasOfTheExample holds the results that are in the repository to the schemas. They may have fields that bench no
// longer writes, and ignores.
func TestSchemasOfTheExample(t *testing.T) {
	compiled, err := compileWith(func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte(`"additionalProperties": false`), []byte(`"additionalProperties": true`))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join("results", "example"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "run.json" {
			return err
		}
		dir := filepath.Dir(name)
		validate(t, compiled, dir, collect(t, dir))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
