package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"

	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// connectionsOfPart is the number of connections to open to one of the replicas: an equal share of all, and what
// chance adds, since a request is not sent to the replica with the fewest.
func connectionsOfPart(all, parts int) int {
	if parts == 1 {
		return all
	}
	share := float64(all) / float64(parts)
	return min(all, int(math.Ceil(share+2*math.Sqrt(share))))
}

// sessionID is the value of the session header: the same for all requests of a session, and another one in each
// attempt.
func sessionID(salt string, r *workload.Request) string {
	if !r.InSession() {
		return ""
	}
	return salt + "-" + strconv.Itoa(r.Session)
}

// traceparent is the W3C trace context of a request, with the sampled flag (https://www.w3.org/TR/trace-context). Both
// ids are the beginning of SHA-256 digests, so that a user can find the traces of the records: the trace id that of
// "bench/SALT/session/N" or, outside of sessions, of "bench/SALT/request/I"; the span id is characters 33 to 48 of the
// digest of "bench/SALT/request/I".
func traceparent(salt string, r *workload.Request) string {
	request := digest(salt, "/request/", r.Index)
	trace := request
	if r.InSession() {
		trace = digest(salt, "/session/", r.Session)
	}
	b := append(make([]byte, 0, 55), "00-"...)
	b = append(hex.AppendEncode(b, trace[:16]), '-')
	b = hex.AppendEncode(b, request[16:24])
	return string(append(b, "-01"...))
}

func digest(salt, kind string, number int) [sha256.Size]byte {
	b := append(make([]byte, 0, 64), "bench/"...)
	b = append(append(b, salt...), kind...)
	return sha256.Sum256(strconv.AppendInt(b, int64(number), 10))
}

func (m *measurement) addRoute(r *record.Record, job *load.Job) {
	e := m.encoders[job.Request.Class]
	if e == nil { // of a prediction
		return
	}
	if m.severalModels {
		r.Model = e.model(&job.Request)
	}
	if len(e.apis) > 1 {
		r.Endpoint = new(m.plan.Replica(&job.Request))
	}
}
