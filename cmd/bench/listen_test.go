package main

import "testing"

// A port without a host is open on this machine only.
func TestListensOnLoopback(t *testing.T) {
	for _, address := range []string{":0", "127.0.0.1:0"} {
		l, err := listenOn(t.Context(), address, "--listen", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if host := l.Addr().String(); host[:10] != "127.0.0.1:" {
			t.Errorf("%s: %s", address, host)
		}
	}
}
