package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/sweep/matrix"
)

// firstNight is when the first sweep of a history starts.
var firstNight = time.Date(2026, 1, 1, 2, 30, 0, 0, time.UTC)

// sweepNight stands in for bench sweep: it measures the matrix in virtual time, and writes the run's
// directory below out. The error lists the failed rows.
func (n *night) sweepNight(file, out string) error {
	m, err := matrix.ReadSet(file, nil)
	if err != nil {
		return err
	}
	began := firstNight.AddDate(0, 0, n.N-1)
	name := began.Format("20060102T150405Z")
	dir := filepath.Join(out, m.Name, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the run's directory: %w", err)
	}
	target := record.TargetInfo{
		Endpoint: "mock", Simulated: true, API: "completions", Model: "sim-8b", Hardware: m.Target.Hardware,
		GPUs:    m.Target.GPUs,
		Version: map[string]any{"version": "1.0"}, PromptForm: "token_ids", PromptAPI: "completions",
		Connections: "kept open",
		Vantage:     record.Vantage{Place: "same host"},
	}
	target.Identity = target.Hash()
	client := record.ClientInfo{Version: "simulated", Host: "client", CPU: "simulated", Cores: 8, MaxProcs: 8}
	manifest := record.Manifest{
		Schema: record.SchemaRun, Run: name, Matrix: m.Name, MatrixFile: m.File, MatrixText: m.Text,
		MatrixHash: m.Hash(),
		Notes:      []string{}, Command: []string{"bench", "sweep"}, StartedAt: began, State: "done",
		Salt:  name,
		Seed:  m.Seed,
		Order: matrix.OrderListed, Client: client, Target: target, Facts: map[string]string{},
		Unspecified: []string{},
	}
	var failed []string
	at := began
	for i := range m.Points {
		s := &m.Points[i]
		id := matrix.ID(s)
		e, err := n.run(s, id, name, at)
		if err != nil {
			return err
		}
		at = e.EndedAt.Add(time.Second)
		e.SpecHash = hashOf(s)
		e.Conclude(m.Target, record.RooflineSource{})
		p := record.Planned{ID: id, Name: s.Name, SpecHash: e.SpecHash, State: "done"}
		if e.Row.AllFailed() {
			p.State, p.Error, manifest.State = "failed", e.Records[0].Error, "failed"
			failed = append(failed, id)
		}
		manifest.Plan = append(manifest.Plan, p)
		if err := writeRow(dir, e.Row, e.Records); err != nil {
			return err
		}
	}
	manifest.EndedAt = at
	manifest.Attempts = []record.Attempt{{StartedAt: began, EndedAt: at, Command: manifest.Command,
		Bench: client.Version, Target: &target, Ended: manifest.State}}
	if err := writeJSON(filepath.Join(dir, "run.json"), &manifest); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errors.New("no request completed in: " + strings.Join(failed, ", "))
	}
	return nil
}

func hashOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // all values come from TOML
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// writeRow writes the three files of a row.
func writeRow(dir string, row *record.Row, records []*record.Record) error {
	base := filepath.Join(dir, row.ID)
	err := write(base+".requests.jsonl.zst", func(w io.Writer) error {
		z, err := record.NewRecordWriter(w)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := z.Write(r); err != nil {
				return err
			}
		}
		return z.Close()
	})
	if err != nil {
		return err
	}
	err = write(base+".telemetry.jsonl.zst", func(w io.Writer) error {
		z, err := telemetry.NewWriter(w)
		if err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return err
	}
	return writeJSON(base+".json", row)
}

func writeJSON(name string, v any) error {
	return write(name, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// write writes a file that no crash has to survive.
func write(name string, to func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	return errors.Join(to(f), f.Close())
}
