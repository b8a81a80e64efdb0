package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// Flags of several commands, each declared once.

func setFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "set", nil,
		"change a key of the matrix, e.g. row.chat.rate=10, target.hardware=h200-sxm: `PATH=VALUE` (repeatable)")
}

func onlyFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "only", nil, "run only rows that match this name or `GLOB` (repeatable)")
}

func outFlag(fl *pflag.FlagSet, into *string, otherwise string) {
	fl.StringVar(into, "out", otherwise, "`DIR` for results")
}

func resumeFlag(fl *pflag.FlagSet, into *string) {
	fl.StringVar(into, "resume", "", "`DIR` of the run to continue")
}

func enforceFlag(fl *pflag.FlagSet, into *bool) {
	fl.BoolVar(into, "enforce", false, "exit 3 unless every SLO is met by valid rows")
}

func rowFlag(fl *pflag.FlagSet, into *string) {
	fl.StringVar(into, "row", "", "`NAME` of the row, with its axes if it has some: 'chat max_num_seqs=64' "+
		"(default: the row of the run's answer, else the first that can answer)")
}

func listenFlag(fl *pflag.FlagSet, into *string, otherwise string) {
	fl.StringVar(into, "listen", otherwise,
		"`ADDRESS` to listen on; a host other than 127.0.0.1 opens it to the network")
}

func modelFlag(fl *pflag.FlagSet, into *string, what string) { fl.StringVar(into, "model", "", what) }

// requestedModel is what --model is of a command with a server.
const requestedModel = "model to request (default: [target] model, else the one that the server lists)"

// positive refuses a stated number that is not above 0, of the named flags or, without names, of all: most zeros
// would count as a flag that was left out.
func positive(fl *pflag.FlagSet, names ...string) (err error) {
	fl.Visit(func(f *pflag.Flag) {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		switch f.Value.Type() {
		case "intSlice", "float64Slice":
			values = f.Value.(pflag.SliceValue).GetSlice()
		case "int", "float64":
		case "duration":
			d, _ := time.ParseDuration(values[0])
			values[0] = strconv.FormatFloat(d.Seconds(), 'g', -1, 64)
		default:
			return
		}
		for _, text := range values {
			if x, _ := strconv.ParseFloat(text, 64); err == nil && !(x > 0 && x <= math.MaxFloat64) {
				err = usage("--%s %s: expected a number above 0\nhint: leave it out for the default", f.Name,
					strings.Trim(f.Value.String(), "[]"))
			}
		}
	})
	return err
}

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
	if err == nil {
		return l, nil
	}
	if _, notPort := strconv.ParseUint(address, 10, 16); notPort == nil {
		example = ":" + address
	}
	code := codeUsage
	// The machine refuses the address now, and another time or with another user may not.
	for _, refused := range []error{syscall.EADDRINUSE, syscall.EACCES, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, refused) {
			code = codeFailed
		}
	}
	err = fmt.Errorf("%s: %w\nhint: choose another address, such as %s %s", flag, err, flag, example)
	return nil, &exitError{code, err}
}

// warnOpen warns of a listener that other machines reach.
func (c *cli) warnOpen(l net.Listener, flag, effect string) {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(c.stderr, "warning: %s %s is open to the network%s\n", flag, l.Addr(), effect)
	}
}
