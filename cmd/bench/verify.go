package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/foreign"
	"bench/report/verify"
	"bench/sweep"
)

func newVerify(c *cli) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "recompute a run from its request records, and check its files and its signature",
		Long: `verify reads the request records of a run (results/<matrix>/<start time>) and recomputes its figures, findings,
verdicts, searches and answer: they must be equal, to 9 digits. The SHA-256 of each file must be the stated one. One line is
the result; exit code 1 if a file or a figure differs. It changes no file.

A run that was forged as a whole is consistent. A signature shows who vouches for it (bench sweep --sign, or ssh-keygen -Y sign
-n bench -f KEY run.json); --key takes the public keys that you trust. Hardware, model, server and clock are claims of the
signer. report.html and summary.md are not verified: bench report RUN writes the one again, with --format md
-o RUN/summary.md the other.`,
		Example: `  bench verify results/chat/20260101T120000Z
  bench verify results/chat/20260101T120000Z --key vendor.pub`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return verifyRun(c, key, args[0]) },
	}
	cmd.Flags().StringVar(&key, "key", "",
		"`FILE` with the public keys that you trust (.pub); the run must be signed by one of them")
	return cmd
}

func verifyRun(c *cli, key, dir string) error {
	run, err := foreign.Load(dir)
	if _, there := os.Stat(filepath.Join(dir, "run.json")); err != nil && there == nil {
		return err
	}
	if err != nil {
		return usage("%w", err)
	}
	if run.Files == nil || run.RecordsDir != "" {
		return usage("%s is no directory of a run\nhint: bench verify results/<matrix>/<start time>", dir)
	}
	signed, err := signature(key, run)
	if err != nil {
		return err
	}
	by := report.Evaluation{}
	if by.Models, by.Hardware, err = readTables(c.stderr); err != nil {
		return err
	}
	result, err := verify.Run(run, by, sweep.Client(version()))
	if err != nil {
		return err
	}
	if len(result.Problems) > 0 {
		return differs(run.Dir, result)
	}
	switch {
	case result.Rows == 0:
		return fmt.Errorf("%s has no row to verify", dir)
	case result.Unstated > 0 && signed != unsigned:
		return fmt.Errorf("%s: run.json, which is signed, does not state %s", dir, unit.Plural(result.Unstated, "row"))
	}
	line := verifiedLine(run, result)
	h := run.Headline()
	line += "; " + strings.TrimSpace(h.Answer+" "+h.Point)
	if tag := run.Tag(); tag != "" {
		line += " (" + strings.ToLower(tag) + ")"
	}
	_, err = fmt.Fprintln(c.stdout, safe(line+"; "+signed))
	return err
}

// verifiedLine is what was verified: "verified: 3 of 4 rows, 900 requests (interrupted)".
func verifiedLine(run *report.Run, v *verify.Result) string {
	line := "verified: "
	if n := len(run.Missing); n > 0 {
		line += unit.Count(v.Rows) + " of "
	}
	line += unit.Plural(v.Rows+len(run.Missing), "row") + ", " + unit.Plural(v.Requests, "request")
	var limits []string
	if state := run.Manifest.State; state != "done" {
		limits = append(limits, state)
	}
	if run.Manifest.SHA256 == "" {
		limits = append(limits, "run.json states no SHA-256")
	} else if v.Unstated > 0 {
		limits = append(limits, unit.Plural(v.Unstated, "row")+" without a stated SHA-256")
	}
	if len(limits) > 0 {
		line += " (" + strings.Join(limits, ", ") + ")"
	}
	return line
}

const mostDiffering = 20

func differs(dir string, v *verify.Result) error {
	lines := v.Problems
	if n := len(lines) - mostDiffering; n > 0 {
		lines = append(lines[:mostDiffering:mostDiffering], fmt.Sprintf("and %d more", n))
	}
	text := fmt.Sprintf("%s is not what its records give:\n  %s", dir, strings.Join(lines, "\n  "))
	if v.Other != "" {
		text += "\nhint: " + v.Other + " measured it, whose rules and last digits can differ: verify it there, too"
	}
	return errors.New(text)
}

const unsigned = "not signed"

// signature is who signed a run, as the line of verify has it. With --key it is an error if none of these keys did.
func signature(trusted string, run *report.Run) (string, error) {
	dir := run.Dir
	text, err := record.ReadRegular(run.Files, "run.json")
	if err != nil {
		return "", err
	}
	signature, err := record.ReadRegular(run.Files, record.SignatureFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && trusted != "":
		return "", fmt.Errorf("%s is not signed: it has no %s", dir, record.SignatureFile)
	case errors.Is(err, fs.ErrNotExist):
		return unsigned, nil
	case err != nil:
		return "", err
	}
	key, err := verify.Signer(text, signature)
	if err != nil {
		return "", fmt.Errorf("the signature of %s does not hold: %w", dir, err)
	}
	who := "signed by " + ssh.FingerprintSHA256(key)
	if trusted == "" {
		return who + " (compare it with a key that you trust: --key FILE)", nil
	}
	public, err := os.ReadFile(trusted)
	if err != nil {
		return "", usage("--key: %w", err)
	}
	switch is, err := verify.SignedBy(key, public); {
	case err != nil:
		return "", usage("--key %s: %w", trusted, err)
	case !is:
		return "", fmt.Errorf("%s is %s, which is not in %s", dir, who, trusted)
	}
	return who + ", which is in " + trusted, nil
}

// signer is the key of --sign; nil = none is given.
func signer(file string) (ssh.Signer, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--sign: %w", err)
	}
	key, err := verify.ReadKey(text)
	if err != nil {
		return nil, usage("--sign %s: %w", file, err)
	}
	return key, nil
}

// noteSigned notes that a resumed run loses its signature, which is of another run.json.
func (f *sweepFlags) noteSigned(stderr io.Writer) {
	if _, err := os.Stat(filepath.Join(f.resume, record.SignatureFile)); f.resume != "" && f.signer == nil &&
		err == nil {
		fmt.Fprintln(stderr, "note: the run is signed, and loses its signature: resume with --sign to sign it again")
	}
}

// sign signs run.json as it is now; without a key it does nothing.
func sign(dir string, key ssh.Signer) error {
	if key == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	signature, err := verify.Sign(key, text)
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, record.SignatureFile), func(w io.Writer) error {
		_, err := w.Write(signature)
		return err
	})
}
