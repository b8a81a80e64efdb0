package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func newKey(t testing.TB, seed byte) ssh.Signer {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	block, err := ssh.MarshalPrivateKey(private, "test")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSignature(t *testing.T) {
	key, other := newKey(t, 1), newKey(t, 2)
	text := []byte(`{"schema":"bench/run/v1"}`)
	signature, err := Sign(key, text)
	if err != nil {
		t.Fatal(err)
	}
	who, err := Signer(text, signature)
	if err != nil || !bytes.Equal(who.Marshal(), key.PublicKey().Marshal()) {
		t.Fatal(who, err)
	}
	if _, err := Signer(append(text, ' '), signature); err == nil {
		t.Error("another text is signed, too")
	}
	trusted := append(ssh.MarshalAuthorizedKey(other.PublicKey()), ssh.MarshalAuthorizedKey(key.PublicKey())...)
	if ok, err := SignedBy(who, trusted); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := SignedBy(who, ssh.MarshalAuthorizedKey(other.PublicKey())); ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := SignedBy(who, []byte("words")); err == nil {
		t.Error("words are no keys")
	}
}

// FuzzSigner: no text is a signature but one that was made.
func FuzzSigner(f *testing.F) {
	key := newKey(f, 1)
	text := []byte("words")
	signature, err := Sign(key, text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(signature)
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"))
	f.Add([]byte(strings.Replace(string(signature), "U1", "V1", 1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if who, err := Signer(text, b); err == nil && !bytes.Equal(who.Marshal(), key.PublicKey().Marshal()) {
			t.Fatalf("%q signs", b)
		}
	})
}
