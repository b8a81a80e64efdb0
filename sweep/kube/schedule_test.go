package kube

import "testing"

func TestSchedule(t *testing.T) {
	for text, want := range map[string]bool{
		"30 2 * * *": true, "*/5 0-6,22 1 jan-MAR mon": true, "0 0 ? * 0": true, "@daily": true, "5/10 * * * *": true,
		"61 2 * * *": false, "0 24 * * *": false, "0 0 0 * *": false, "0 0 * 13 *": false, "0 0 * * 7": false, "5-3 * * * *": false,
		"* * * *": false, "* * * * * *": false, "*/0 * * * *": false, "a * * * *": false, "jan * * * *": false, "1- * * * *": false,
		"30  2 * * *": false, "@reboot": false, "": false,
	} {
		if got := isSchedule(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
