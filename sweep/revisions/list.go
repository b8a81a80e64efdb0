package revisions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"bench/experiment/server"
)

// FromGit lists the commits from good to bad along first parents.
func FromGit(ctx context.Context, repo, good, bad string) (out []Revision, err error) {
	log, err := os.CreateTemp("", "bench-git-*")
	if err != nil {
		return nil, fmt.Errorf("making a file for git's output: %w", err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	git := func(args ...string) error {
		c := server.Config{Command: append([]string{"git", "-C", repo}, args...), Log: log}
		return server.Once(ctx, c, "git", time.Minute)
	}
	if err := git("merge-base", "--is-ancestor", "--end-of-options", good, bad); err != nil {
		return nil, fmt.Errorf("%s is no ancestor of %s in %s: %w\nhint: --revs $(git merge-base %[1]s %[2]s)..%[2]s, "+
			"or a list of revisions", good, bad, repo, err)
	}
	const format = "--format=%H%x09%s"
	const quiet = "--no-show-signature"
	err = errors.Join(git("log", "-1", quiet, format, "--end-of-options", good),
		git("log", "--first-parent", "--reverse", quiet, format, "--end-of-options", good+".."+bad))
	text, errRead := os.ReadFile(log.Name())
	if err := errors.Join(err, errRead); err != nil {
		return nil, fmt.Errorf("listing revisions: %w", err)
	}
	commit := regexp.MustCompile(`(?m)^[0-9a-f]{40,64}\t.*$`) // beside git's warnings
	return read(commit.FindAllString(string(text), -1))
}

// FromList takes revisions from a file, one a line, with a remark behind a tab; or from a text with commas.
func FromList(list string) ([]Revision, error) {
	lines := strings.Split(list, ",")
	if text, err := os.ReadFile(list); err == nil {
		lines = strings.Split(string(text), "\n")
	} else if len(lines) < 2 {
		return nil, fmt.Errorf("--revs: %w", err)
	}
	return read(lines)
}

func read(lines []string) (out []Revision, err error) {
	for _, line := range lines {
		name, subject, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch {
		case name == "" || strings.HasPrefix(name, "#"):
		case slices.ContainsFunc(out, func(r Revision) bool { return r.Name == name }):
			return nil, fmt.Errorf("revision %s is listed twice", name)
		default:
			out = append(out, Revision{Name: name, Subject: strings.TrimSpace(subject)})
		}
	}
	if len(out) < 2 {
		return nil, errors.New("--revs: no revision is behind the first\nhint: list revisions from good to bad")
	}
	return out, nil
}

// short is a name for people: of a commit its first digits.
func (r *Revision) short() string {
	const digits, whole = 9, 40
	if len(r.Name) >= whole && strings.Trim(r.Name, "0123456789abcdef") == "" {
		return r.Name[:digits]
	}
	return r.Name
}
