package main

import (
	"errors"
	"strings"
	"testing"

	"bench/experiment/endpoint"
)

// The hint names the server that failed, which need not be the target.
func TestUnreachableOther(t *testing.T) {
	for _, e := range []struct {
		err  error
		want string
	}{
		{errors.New("connection refused"), "http://first:8000/v1/models"},
		{&endpoint.OtherError{Endpoint: "http://second:8000", Err: errors.New("connection refused")}, "http://second:8000/v1/models"},
	} {
		got := unreachable("http://first:8000/v1", "", false, &keyFlags{}, e.err).Error()
		if !strings.HasSuffix(got, e.want) {
			t.Errorf("%s", got)
		}
	}
}
