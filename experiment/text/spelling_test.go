package text

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"rate", "requests", "duration", "concurrency", "max_duration", "stop", "seed", "until", "on"}
	cases := map[string]string{
		"ratee": "rate", "rat": "rate", "raet": "rate", "Rate": "rate", "request": "requests", "maxduration": "max_duration",
		"max-duration": "max_duration", "conc": "concurrency", "concurrency_max": "concurrency", "sotp": "stop", "no": "on",
		"x": "", "": "", "temperature": "", "mode": "", "i": "", "untli": "until",
	}
	for word, want := range cases {
		if got, ok := Nearest(word, known); got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}

func TestSlip(t *testing.T) {
	known := []string{"h100-sxm", "h100-pcie", "h200-sxm", "l40s", "bf16", "fp8", "fp16", "int8"}
	cases := map[string]string{
		"h100-smx": "h100-sxm", "h100sxm": "h100-sxm", "H100-SXN": "h100-sxm", "h010-sxm": "h100-sxm", "bf61": "bf16", "pf8": "fp8", "l40": "l40s",
		"h300-sxm": "", "h100-sxm-liquid": "", "h100": "", "fp6": "", "int4": "", "": "", "mi300x": "", "my-gpu": "",
	}
	for word, want := range cases {
		if got, ok := Slip(word, known); got != want || ok != (want != "") {
			t.Errorf("Slip(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}
