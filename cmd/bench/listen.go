package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

func tlsFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringSliceVar(into, "tls", nil, "files of the certificate and its private key (PEM), to serve TLS: `CERT,KEY`")
}

// keyPair reads the files of --tls; nil: none are given.
func keyPair(files []string) (*tls.Config, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) != 2 {
		return nil, usage("--tls takes two files\nhint: --tls cert.pem,key.pem")
	}
	pair, err := tls.LoadX509KeyPair(files[0], files[1])
	if err != nil {
		return nil, usage("--tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, nil
}

// listenOn listens on the address of a flag. A port without a host listens on this machine only.
func listenOn(ctx context.Context, address, flag, example string) (net.Listener, error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		if _, notPort := strconv.ParseUint(address, 10, 16); notPort == nil {
			example = ":" + address
		}
		return nil, listenError(flag, example, err)
	}
	return l, nil
}

// listenError is the error of a flag whose address cannot be listened on: of usage (exit code 2), unless the machine
// refuses the address now, and another time or with another user may not.
func listenError(flag, example string, err error) error {
	code := codeUsage
	for _, refused := range []error{syscall.EADDRINUSE, syscall.EACCES, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, refused) {
			code = codeFailed
		}
	}
	return &exitError{code, fmt.Errorf("%s: %w\nhint: choose another address, such as %s %s", flag, err, flag, example)}
}
