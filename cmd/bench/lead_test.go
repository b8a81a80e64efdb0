package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/sweep/workers"
)

// oneRow writes a matrix of one short row.
func oneRow(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "one.toml")
	text := "name = \"one\"\n[target]\nendpoint = \"mock\"\n[mock]\nttft = \"5ms\"\nitl = \"1ms\"\n[[row]]\nname = \"a\"\ninput = 20\noutput = 2\nconcurrency = 1\nrequests = 3\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLeaderWaits interrupts a leader that waits for its workers.
func TestLeaderWaits(t *testing.T) {
	t.Setenv(tokenEnv, "")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	waiting := regexp.MustCompile(`0 of 2 workers joined; on each one of these:\n(  BENCH_TOKEN=\S+ bench work --join http://127.0.0.1:\d+\n){2}`)
	stderr := &seenBy{match: waiting.MatchString, call: cancel}
	code := bench(ctx, nil, io.Discard, stderr, []string{"sweep", oneRow(t, dir), "--workers", "2", "--out", dir})
	if code != codeInterrupted || !strings.Contains(stderr.String(), "interrupted before anything was measured") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, error %v", left, err)
	}
}

// TestWorkersTLS joins at https://, with and without the authority of the certificate.
func TestWorkersTLS(t *testing.T) {
	t.Setenv(tokenEnv, "a-token")
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	join, listens := regexp.MustCompile(`bench work --join (https://\S+)`), make(chan struct{})
	stderr := &seenBy{match: join.MatchString, call: func() { close(listens) }}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		args := []string{"sweep", oneRow(t, dir), "--workers", "1", "--out", dir, "--tls", cert + "," + key}
		if code := bench(t.Context(), nil, io.Discard, stderr, args); code != codeDone {
			t.Errorf("the leader's exit code is %d:\n%s", code, stderr)
		}
	})
	<-listens
	url := join.FindStringSubmatch(stderr.String())[1]
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, codeFailed, "hint: --tls-ca FILE, with the certificate that the leader has"},
		{[]string{"--tls-ca", cert}, codeDone, "as worker 0 (of 0 to 0)"},
	} {
		out := new(seenBy)
		args := append([]string{"work", "--join", url}, c.args...)
		if code := bench(t.Context(), nil, io.Discard, out, args); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: exit code %d:\n%s", c.args, code, out)
		}
	}
}

// TestNoLeader: a worker tries for a while.
func TestNoLeader(t *testing.T) {
	t.Setenv(tokenEnv, "a-token")
	joinFor = time.Millisecond
	defer func() { joinFor = 5 * time.Minute }()
	var stderr bytes.Buffer
	code := bench(t.Context(), nil, io.Discard, &stderr, []string{"work", "--join", "http://127.0.0.1:1"})
	want := regexp.MustCompile(`error: joining the leader at http://127.0.0.1:1 for 1ms: .*connection refused`)
	if code != codeFailed || !want.MatchString(stderr.String()) {
		t.Errorf("exit code %d:\n%s", code, &stderr)
	}
}

// certificate writes a certificate of 127.0.0.1 and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "leader"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return write("cert.pem", "CERTIFICATE", public), write("key.pem", "EC PRIVATE KEY", secret)
}

// TestWorkFlags covers the flags that a worker takes from its surroundings.
func TestWorkFlags(t *testing.T) {
	for _, c := range []struct {
		name, kube, slurm string
		args              []string
		index             int
		want              string // of the error; empty = none
	}{
		{name: "none", index: -1},
		{name: "Kubernetes", kube: "3", index: 3},
		{name: "Slurm", slurm: "2", index: 2},
		{name: "both", kube: "3", slurm: "2", index: 3},
		{name: "no number", slurm: "two", want: `SLURM_PROCID is "two", not the number of a worker`},
		{name: "negative", kube: "-1", want: `JOB_COMPLETION_INDEX is "-1"`},
		{name: "authority without TLS", args: []string{"--tls-ca", "x"}, want: "--tls-ca needs a leader at https://"},
		{name: "no authority", args: []string{"--join", "https://leader:9470", "--tls-ca", "/nonexistent"}, want: "--tls-ca: open /nonexistent"},
		{name: "user", args: []string{"--join", "http://me:x@leader:1"}, want: "--join needs the URL of the leader"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("JOB_COMPLETION_INDEX", c.kube)
			t.Setenv("SLURM_PROCID", c.slurm)
			t.Setenv(tokenEnv, "t")
			var w *workers.Worker
			f := &workFlags{}
			fl := pflag.NewFlagSet("work", pflag.ContinueOnError)
			f.register(fl)
			err := fl.Parse(append([]string{"--join", "http://leader:9470"}, c.args...))
			if err == nil {
				w, err = f.worker()
			}
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != codeUsage {
					t.Errorf("error %v, want %q", err, c.want)
				}
			case err != nil || w.Index != c.index || w.Token != "t" || w.Host == "":
				t.Errorf("worker %+v, error %v", w, err)
			}
		})
	}
}

// TestKeyServers states the servers that get a worker's API key; with --endpoint no other does.
func TestKeyServers(t *testing.T) {
	var a endpoint.ServerAddress
	a.Target.Proxy = "http://evil:3128"
	var notes []string
	note := func(line string) { notes = append(notes, line) }
	own := &workFlags{endpoint: "http://gpu:8000"}
	if err := own.admit("http://gpu:8000", a, &experiment.Spec{}, note); err == nil || !strings.Contains(err.Error(), "the proxy http://evil:3128") || len(notes) > 0 {
		t.Errorf("error %v, notes %q", err, notes)
	}
	if err := new(workFlags).admit("http://gpu:8000", a, &experiment.Spec{}, note); err != nil || len(notes) != 2 || !strings.HasSuffix(notes[0], "to http://gpu:8000") {
		t.Errorf("error %v, notes %q", err, notes)
	}
}
