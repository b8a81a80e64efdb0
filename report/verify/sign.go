package verify

import (
	"bytes"
	"crypto/rand"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/ssh"
)

// namespace keeps a signature of something else from being taken for one of a run. Signatures have the format of
// OpenSSH (PROTOCOL.sshsig), so that ssh-keygen makes and checks them, too: ssh-keygen -Y sign -n bench -f KEY
// run.json.
const namespace = "bench"

const (
	armor = "SSH SIGNATURE"
	magic = "SSHSIG"
)

// envelope is what a file of a signature has.
type envelope struct {
	Magic                         [6]byte
	Version                       uint32
	PublicKey                     []byte
	Namespace, Reserved, HashName string
	Signature                     []byte
}

// ReadKey reads a private key of ssh-keygen -t ed25519, without a passphrase.
func ReadKey(text []byte) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey(text)
	switch locked := new(ssh.PassphraseMissingError); {
	case errors.As(err, &locked):
		return nil, errors.New("the key has a passphrase\nhint: sign afterwards: ssh-keygen -Y sign -n " + namespace +
			" -f KEY run.json")
	case err != nil:
		return nil, errors.New("no private key of OpenSSH\nhint: ssh-keygen -t ed25519 -f KEY makes one, and " +
			"KEY.pub beside it")
	case key.PublicKey().Type() != ssh.KeyAlgoED25519:
		return nil, fmt.Errorf("the key is %s, and only ed25519 signs runs\nhint: ssh-keygen -t ed25519 -f KEY",
			key.PublicKey().Type())
	}
	return key, nil
}

// Sign signs the text of a run's run.json, which states every other file of the run.
func Sign(key ssh.Signer, run []byte) ([]byte, error) {
	signature, err := key.Sign(rand.Reader, signed(run))
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	e := envelope{Version: 1, PublicKey: key.PublicKey().Marshal(), Namespace: namespace, HashName: "sha512",
		Signature: ssh.Marshal(signature)}
	copy(e.Magic[:], magic)
	return pem.EncodeToMemory(&pem.Block{Type: armor, Bytes: ssh.Marshal(e)}), nil
}

// signed is what is signed of a text.
func signed(text []byte) []byte {
	sum := sha512.Sum512(text)
	return append([]byte(magic), ssh.Marshal(struct {
		Namespace, Reserved, HashName string
		Sum                           []byte
	}{namespace, "", "sha512", sum[:]})...)
}

// Signer is the key that has signed the text of a run.json.
func Signer(run, signature []byte) (ssh.PublicKey, error) {
	block, _ := pem.Decode(signature)
	if block == nil || block.Type != armor {
		return nil, errors.New("no signature of ssh-keygen")
	}
	var e envelope
	var s ssh.Signature
	if err := errors.Join(ssh.Unmarshal(block.Bytes, &e), ssh.Unmarshal(e.Signature, &s)); err != nil {
		return nil, fmt.Errorf("no signature of ssh-keygen: %w", err)
	}
	key, err := ssh.ParsePublicKey(e.PublicKey)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its key: %w", err)
	case string(e.Magic[:]) != magic || e.Version != 1 || e.Namespace != namespace || e.HashName != "sha512" ||
		key.Type() != ssh.KeyAlgoED25519:
		return nil, fmt.Errorf("a signature of %s in the namespace %q with %s: expected ssh-ed25519, %q, sha512",
			key.Type(), e.Namespace, e.HashName, namespace)
	}
	if err := key.Verify(signed(run), &s); err != nil {
		return nil, errors.New("it is of another run.json")
	}
	return key, nil
}

// SignedBy reports whether a key is among public keys, one a line as in a .pub file.
func SignedBy(key ssh.PublicKey, public []byte) (bool, error) {
	for found := false; ; found = true {
		own, _, _, rest, err := ssh.ParseAuthorizedKey(public)
		if err != nil {
			if found {
				return false, nil
			}
			return false, errors.New("no public key of OpenSSH\nhint: name the .pub file of the key that signs")
		}
		if bytes.Equal(own.Marshal(), key.Marshal()) {
			return true, nil
		}
		public = rest
	}
}
