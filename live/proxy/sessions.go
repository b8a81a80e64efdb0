package proxy

import (
	"container/list"
	"hash/maphash"
	"net/http"
	"regexp"
	"time"
)

// conversations recognises which requests are turns of one conversation. It keeps hashes under a key of its own, no
// text, in bounded memory. One goroutine uses it, off the path of the bytes: it decodes the body.
//
// The order of precedence: the session header; the state that the request names at the server (previous_response_id,
// conversation); else its messages: a request that continues the messages of an earlier one is that conversation's
// next turn, also of an older turn (an edited question, an answer regenerated). Requests that share only their system
// prompt, tools or examples with others begin conversations of their own. So does a first request that is sent again:
// it may be another user's. So does each completion, which has no messages.
// Answers are not kept: of users who began with the same messages, the first to go on continues the oldest.
//
// A conversation that is idle for an hour, or the least recently used when memory is short, is forgotten: its next
// request begins another one. So does a turn whose client removed or changed earlier messages.
type conversations struct {
	sessionHeader string // a request header with the conversation's name; empty = none
	seed          maphash.Seed
	limit         int // of the memory, in bytes

	bytes  int
	known  map[uint64]*list.Element // of *place, by its key
	recent list.List                // of *place, the most recently used first
	last   int                      // number of the latest conversation; 0 = none yet
}

const (
	conversationIdle   = time.Hour
	conversationMemory = 64 << 20 // about 200,000 turns
)

// newConversations recognises conversations by a request header, too; empty = none.
func newConversations(sessionHeader string) *conversations {
	return &conversations{sessionHeader: sessionHeader, seed: maphash.MakeSeed(), limit: conversationMemory,
		known: map[uint64]*list.Element{}}
}

// turn is one request's place in its conversation. The zero turn is of no conversation: it is not copied.
type turn struct {
	session   int  // from 1; 0 = not recognised: the body could not be read
	number    int  // from 1, in the order of find
	fromStart bool // the conversation's first turn passed here
	atServer  bool // the request continues what only the server that answered before has stored: no copy can

	conversation *conversation // nil for the zero turn
}

type conversation struct {
	session   int
	turns     int
	fromStart bool
	lost      bool // a turn is missing at the candidate: under the lock of shadow, the only user
}

// find is the request's place, for a whole body as the caller sent it, or nil if it was too large to keep: then only
// the header can identify it. api is one of target.APIs. Call it once for each request, in the order in which their
// bodies were complete, before the turn is given to shadow.offer.
func (c *conversations) find(api string, header http.Header, body []byte) turn {
	k := readBody(c.seed, api, body)
	name := ""
	if c.sessionHeader != "" {
		name = header.Get(c.sessionHeader)
	}
	c.forget(time.Now())
	var of *conversation
	switch {
	case name != "":
		of = c.named(nameKey(c.seed, headerName, name), k.readable && k.state == 0 && !c.hasHistory(k))
	case !k.readable:
		return turn{}
	case k.state != 0:
		of = c.named(k.state, false)
	case len(k.ends) > 0:
		of = c.continued(k)
	default:
		of = c.begin(true)
	}
	of.turns++
	return turn{session: of.session, number: of.turns, fromStart: of.fromStart, atServer: k.atServer, conversation: of}
}

func (c *conversations) begin(fromStart bool) *conversation {
	c.last++
	return &conversation{session: c.last, fromStart: fromStart}
}

func (c *conversations) named(key uint64, fromStart bool) *conversation {
	p := c.use(key)
	if p.last.conversation == nil {
		p.last.conversation = c.begin(fromStart)
	}
	return p.last.conversation
}

// hasHistory reports whether a request that continues nothing known has turns before it. Messages of the assistant are
// examples, and no turns, if another request began with them, too.
func (c *conversations) hasHistory(k bodyKeys) bool {
	if k.examples == 0 {
		return false
	}
	whole := k.ends[len(k.ends)-1]
	p := c.use(mix(c.seed, examplesMark, k.ends[k.examples-1]))
	if p.first == 0 {
		p.first = whole
	}
	return p.first == whole
}

// examplesMark makes the key of messages up to the assistant's last.
const examplesMark = 0x6578

func (c *conversations) continued(k bodyKeys) *conversation {
	n := len(k.ends) - 1
	var of *conversation
	for i := n - 1; i >= 0 && of == nil; i-- {
		if e := c.known[k.ends[i]]; e != nil {
			of = c.use(k.ends[i]).next(k.head)
		}
	}
	if of == nil {
		of = c.begin(!c.hasHistory(k))
	}
	c.open(c.use(k.ends[n]), opening{of, k.head})
	return of
}

func (c *conversations) forget(now time.Time) {
	for e := c.recent.Back(); e != nil && now.Sub(e.Value.(*place).used) > conversationIdle; e = c.recent.Back() {
		c.remove(e)
	}
}

// answered notes the id of the answer to t, which a later request can name as its previous_response_id: call it for
// target.Responses, with answerID of the body's beginning. An empty id is ignored.
func (c *conversations) answered(t turn, id string) {
	if id == "" || t.conversation == nil {
		return
	}
	c.use(nameKey(c.seed, stateName, id)).last.conversation = t.conversation
}

// answerID is the id of an answer of the Responses API, from the beginning of its body: a piece with a document's or
// with the first event of a stream; empty = none is in it.
func answerID(beginning []byte) string {
	if id := responseID.FindSubmatch(beginning); id != nil {
		return string(id[1])
	}
	return ""
}

var responseID = regexp.MustCompile(`"id"\s*:\s*"(resp[^"]*)"`)
