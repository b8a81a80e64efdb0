package main

import (
	"os"
	"time"

	"github.com/spf13/pflag"

	"bench/live/proxy"
)

type shadowFlags struct {
	to, share, keyEnv string
	warmup            time.Duration
}

func (f *shadowFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.to, "shadow", "", "`URL` of a candidate server that gets copies of whole conversations")
	fl.StringVar(&f.share, "share", "", "share of the conversations that are copied, e.g. 10% (default 10%)")
	fl.StringVar(&f.keyEnv, "shadow-key-env", "",
		"environment variable `VAR` with the candidate's API key (default: the caller's key is sent)")
	fl.DurationVar(&f.warmup, "shadow-warmup", time.Minute, "time since the first copy whose requests are not compared")
}

// config reads the flags; nil: no candidate.
func (f *shadowFlags) config(bad func(format string, args ...any)) *proxy.ShadowConfig {
	if f.to == "" {
		if f.share != "" || f.keyEnv != "" {
			bad("--share and --shadow-key-env need --shadow\nhint: --shadow http://localhost:9000")
		}
		return nil
	}
	c := &proxy.ShadowConfig{To: serverURL("--shadow", f.to, bad), Share: 0.1}
	switch f.share {
	case "":
	case "100%":
		c.Share = 1
	default:
		c.Share = percentage("--share", f.share, "10%", func(string, ...any) {
			bad("--share %q: expected above 0%% and at most 100%%\nhint: --share 10%%", f.share)
		})
	}
	if f.warmup < 0 {
		bad("--shadow-warmup must not be negative\nhint: --shadow-warmup 1m")
	}
	if f.keyEnv != "" {
		if c.Key = os.Getenv(f.keyEnv); c.Key == "" {
			bad("--shadow-key-env: environment variable %s is not set\nhint: export %s=...", f.keyEnv, f.keyEnv)
		}
	}
	return c
}
