package mock

import (
	"fmt"
	"slices"
	"time"
)

// Lateness is the server's own timing error: from the due time of the latest events to their write.
type Lateness struct {
	Events int           `json:"events"`
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
	Max    time.Duration `json:"max_ns"`
}

const lastEvents = 200_000

func (l Lateness) String() string {
	return fmt.Sprintf("server write delay over the last %d events: p50 %v, p99 %v, max %v", l.Events, l.P50, l.P99,
		l.Max)
}

// Lateness covers requests that have ended. It includes delays by faults.
func (s *Server) Lateness() Lateness {
	var late []time.Duration
	all := s.records.after(0)
	for i := len(all) - 1; i >= 0 && len(late) < lastEvents; i-- {
		for k, due := range all[i].DueNS {
			late = append(late, time.Duration(all[i].WrittenNS[k]-due))
		}
	}
	if len(late) == 0 {
		return Lateness{}
	}
	slices.Sort(late)
	n := len(late)
	return Lateness{Events: n, P50: late[n/2].Round(time.Microsecond), P99: late[n*99/100].Round(time.Microsecond),
		Max: late[n-1].Round(time.Microsecond)}
}
