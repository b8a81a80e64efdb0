package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/target"
)

// maxLoading is how long a server that loads its model is waited for, without [server] start_timeout.
const maxLoading = 10 * time.Minute

func (c *cli) loading(waited time.Duration, answer string) {
	fmt.Fprintf(c.stderr, "the server is loading, waited %s: %s\n", waited.Round(time.Second), safe(answer))
}

type unreachableError struct {
	error        // the cause
	text  string // with a hint, and without secrets
}

func (e *unreachableError) Error() string { return e.text }

func (e *unreachableError) Unwrap() error { return e.error }

func unreachable(base, key string, http2 bool, k *keyFlags, err error) error {
	shown := target.Redact(base)
	text := fmt.Sprintf("the endpoint %s: %v", shown, err)
	if other := new(endpoint.OtherError); errors.As(err, &other) {
		if own, baseErr := target.BaseURL(other.Endpoint); baseErr == nil {
			base, shown, text = own, target.Redact(own), err.Error()
		}
	}
	if strings.Contains(text, "\nhint:") { // it has its own
		return &unreachableError{err, text}
	}
	if hint := connectionHint(base, http2, err); hint != "" {
		return fmt.Errorf("%s\nhint: %s", text, hint)
	}
	auth := ""
	if key != "" {
		auth = k.curl()
	}
	curl := fmt.Sprintf("try: curl -sS%s %s/models", auth, shown)
	if r := endpoint.Failed(err); r != nil && r.Outcome == openai.Status {
		return &unreachableError{err, fmt.Sprintf("%s\nhint: %s; %s", text, statusHint(r), curl)}
	}
	return &unreachableError{err, fmt.Sprintf("%s\nhint: is the server up? %s", text, curl)}
}

// connectionHint is what to do about a fault below HTTP; empty: no hint is known.
func connectionHint(base string, http2 bool, err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "does not look like a TLS handshake"):
		plain := strings.Replace(strings.TrimSuffix(target.Redact(base), "/v1"), "https://", "http://", 1)
		return "the port serves http, not https: --endpoint " + plain
	case http2 && strings.HasPrefix(base, "http://") && strings.Contains(text, "http2: "):
		return "http2 = true without TLS needs h2c, which this server does not support: remove http2 from [target], or use its https:// address"
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "name a host of the server's certificate in --endpoint, or the file of its authority: SSL_CERT_FILE=ca.pem"
	}
	return ""
}

func statusHint(r *openai.Result) string {
	switch {
	case r.Status == 401 || r.Status == 403:
		return "the server requires an API key: --api-key-env VAR"
	case r.Status/100 == 3:
		return "the server redirects: use the address that it redirects to"
	case r.Status == 429 || r.Status >= 500:
		return "the server answers, but is not ready: check its log"
	}
	return "the server answers, but not as the API: check the address"
}
