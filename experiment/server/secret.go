package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Secrets are texts that must not be shown, or stay in a log. Shorter ones than leastSecret are words, and stay.
type Secrets []string

const leastSecret = 4 // bytes

// Hide is a text with * for each byte of a secret.
func (s Secrets) Hide(text string) string {
	b := []byte(text)
	s.find(b, func(from, to int) {
		text = text[:from] + strings.Repeat("*", to-from) + text[to:]
	})
	return text
}

// find finds all secrets in a text, also those that overlap.
func (s Secrets) find(text []byte, found func(from, to int)) {
	for _, secret := range s {
		if len(secret) < leastSecret {
			continue
		}
		for from := 0; ; from++ {
			i := bytes.Index(text[from:], []byte(secret))
			if i < 0 {
				break
			}
			from += i
			found(from, from+len(secret))
		}
	}
}

func (s Secrets) longest() int {
	n := 0
	for _, secret := range s {
		n = max(n, len(secret))
	}
	return n
}

const maskBytes = 64 << 10 // read at once

// maskFile writes * over the secrets in a file. Its size stays.
func (s Secrets) maskFile(name string) (err error) {
	if s.longest() < leastSecret {
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("masking secrets: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	window := make([]byte, 0, maskBytes+s.longest())
	for begin := int64(0); ; { // of the window in the file
		n, err := f.ReadAt(window[len(window):len(window)+maskBytes], begin+int64(len(window)))
		window = window[:len(window)+n]
		var failed error
		s.find(window, func(from, to int) {
			_, wrong := f.WriteAt(bytes.Repeat([]byte("*"), to-from), begin+int64(from))
			failed = errors.Join(failed, wrong)
		})
		if err == io.EOF {
			err = nil
			n = 0
		}
		if err := errors.Join(err, failed); err != nil || n == 0 {
			return err
		}
		gone := max(0, len(window)-s.longest()+1) // a secret can begin behind it
		begin += int64(gone)
		window = append(window[:0], window[gone:]...)
	}
}

// inherited is an environment without the variables that the server does not get, and those of them that it has.
func (c Config) inherited(environment []string) (kept, withheld []string) {
	for _, v := range environment {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(c.Withhold, name) {
			withheld = append(withheld, name)
		} else {
			kept = append(kept, v)
		}
	}
	return kept, withheld
}
