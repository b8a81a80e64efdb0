package main

import (
	"crypto/x509"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TestRootsWithoutASystem: certificates are verified on a system that has no roots of its own.
func TestRootsWithoutASystem(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems verify certificates themselves")
	}
	if os.Getenv("SSL_CERT_FILE") != "/nonexistent" {
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	bench(t.Context(), strings.NewReader(""), io.Discard, io.Discard, []string{"report", "/nonexistent"})
	n := 0
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		at := cert.NotBefore.AddDate(1, 0, 0)
		if _, err := cert.Verify(x509.VerifyOptions{CurrentTime: at}); err == nil {
			n++
		}
	}
	if n < 50 {
		t.Errorf("only %d roots are trusted", n)
	}
}
