package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"bench/experiment/target"
)

// TestSecretsStay: a server echoes every secret that it received, wherever it can.
func TestSecretsStay(t *testing.T) {
	const key, password, team = `sk/very"secret&key`, "pass/word!", "team-secret"
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + password))
	quoted, _ := json.Marshal(key)
	echo := fmt.Sprintf("%s %s %s %s Bearer %s sk%%2Fvery%%22secret%%26key", key, password, team, basic, key)
	inJSON, _ := json.Marshal(echo)
	bodies := map[string]func(p *peer){
		"status text": func(p *peer) { p.say("HTTP/1.1 401 ", key, "\r\nContent-Length: 0\r\n\r\n") },
		"status body": func(p *peer) {
			p.say("HTTP/1.1 401 No\r\nX-Echo: ", echo, "\r\nConnection: close\r\n\r\n", echo, strings.Repeat("x", 470), echo)
		},
		"status JSON": func(p *peer) {
			p.say("HTTP/1.1 401 No\r\nConnection: close\r\n\r\n", `{"error":{"message":`, string(inJSON), `}}`)
		},
		"redirect": func(p *peer) { p.say("HTTP/1.1 302 No\r\nLocation: /?k=", key, "\r\nContent-Length: 0\r\n\r\n") },
		"stream":   func(p *peer) { p.say(plainHead, `data: {"error":`, string(inJSON), "}\n\n") },
		"garbage":  func(p *peer) { p.say(plainHead, "data: ", string(quoted), echo, "\n\n") },
		"stray":    func(p *peer) { p.say(plainHead, "<html>", echo) },
		"names": func(p *peer) {
			p.say(plainHead, `data: {"id":`, string(inJSON), `,"choices":[{"text":"a","finish_reason":`, string(inJSON), "}]}\n\n", doneEvent)
		},
		"no HTTP": func(p *peer) { p.say(key, " ", echo, "\r\n\r\n") },
	}
	clean := func(t *testing.T, where, text string) {
		t.Helper()
		for _, secret := range []string{key, string(quoted[1 : len(quoted)-1]), password, team, basic, "sk%2Fvery%22secret%26key"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q: %s", where, secret, text)
			}
		}
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			addr := listen(t, once(body))
			base, err := target.BaseURL("http://me:pass%2Fword%21@" + addr)
			if err != nil {
				t.Fatal(err)
			}
			c := testClient(t, "", func(o *Options) { o.BaseURL, o.APIKey, o.Headers = base, key, map[string]string{"X-Team": team} })
			var r Result
			c.Do(t.Context(), &streamCall, &r)
			clean(t, "the result", fmt.Sprintf("%+v", r))
			status, header, answer, err := c.Get(t.Context(), "/metrics")
			clean(t, "the answer", fmt.Sprint(status, header, string(answer), err))
			_, err = c.Models(t.Context())
			clean(t, "the error", fmt.Sprint(err))
			e, _ := Params{}.Encoder()
			clean(t, "the count", fmt.Sprintf("%+v", c.CountTokens(t.Context(), e, "x")))
		})
	}
}

func TestClean(t *testing.T) {
	s := newSecrets("KEY", map[string]string{"Authorization": "Bearer abcd", "X-Flag": "1"})
	for in, want := range map[string]string{
		"a\x00b\x1b[31m\n\tc\u202e": "a b [31m c",
		"a KEY, Bearer abcd, abcd":  "a ***, ***, ***",
		"1 of 1":                    "1 of 1",
		"\xff":                      "�",
	} {
		if got := s.clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for n := 480; n < 520; n++ {
		got := s.clean(strings.Repeat("x", n) + "日本語KEY")
		if len(got) > maxError || !utf8.ValidString(got) || strings.Contains(got, "KE") {
			t.Errorf("%d: %d bytes, %q", n, len(got), got[len(got)-10:])
		}
	}
}

func TestBasicAuth(t *testing.T) {
	seen := make(chan *http.Request, 1)
	addr := listen(t, func(_ int, p *peer) {
		req, _, _ := p.request()
		seen <- req
	})
	c := testClient(t, "", func(o *Options) { o.BaseURL, o.APIKey = "http://me:pw@"+addr+"/v1", "" })
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if user, password, ok := (<-seen).BasicAuth(); user != "me" || password != "pw" || !ok {
		t.Errorf("%q %q %v", user, password, ok)
	}
}

// A short value of a header that is no secret by name is an ordinary word of other texts.
func TestShortHeaderValuesStay(t *testing.T) {
	s := newSecrets("", map[string]string{"X-Env": "prod", "X-Zone": "eu-north-1", "X-Api-Key": "abcd"})
	if got := s.hide("saturation-prod in eu-north-1: abcd"); got != "saturation-prod in ***: ***" {
		t.Errorf("%q", got)
	}
}
