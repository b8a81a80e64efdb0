package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/record"
)

type driving struct {
	l       *Leader
	c       endpoint.DriveConfig
	n       int
	members []*member
	inbox   chan delivery
	over    chan struct{} // closed when no more deliveries are taken

	start   time.Duration // common start on the leader's clock; 0 = not yet
	records record.Indexes
	parts   []part
	counts  []endpoint.Counts
	drained int
	ready   int
	results int
}

type part struct {
	rtt    time.Duration // 0 = it is not ready
	over   bool          // it sends nothing any more: its result or error came
	done   bool          // its own window has ended
	result *endpoint.ShareResult

	allowed allowed
	records int  // that came
	samples int  // that came
	more    more // of the result, so far
}

func (l *Leader) Drive(ctx context.Context, c endpoint.DriveConfig) ([]endpoint.ShareResult, error) {
	d := &driving{l: l, c: c, inbox: make(chan delivery), over: make(chan struct{}), records: record.Indexes{},
		parts: make([]part, l.of), counts: make([]endpoint.Counts, l.of)}
	if err := d.begin(); err != nil {
		return nil, err
	}
	err := d.run(ctx)
	if c.Progress != nil {
		c.Progress.Take(d.counts)
	}
	if err != nil {
		d.cancel(err)
	}
	d.end()
	if err != nil {
		return nil, err
	}
	results := make([]endpoint.ShareResult, l.of)
	for k := range results {
		results[k] = *d.parts[k].result
		w := &results[k].Worker
		w.Worker, w.Host = k, d.members[k].host
		w.RTTUs, w.StartSkewUs = d.parts[k].rtt.Microseconds(), (d.parts[k].rtt / 2).Microseconds()
	}
	return results, nil
}

func (d *driving) begin() error {
	l := d.l
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expelSilent()
	if missing := l.missing(); len(missing) > 0 {
		return d.failed(missing[0], "", "is not there")
	}
	row := d.c.Row
	row.Worker, row.Of = 0, l.of
	to := &server{d.c.Server, d.c.Server.Target.Headers, d.c.Server.Target.Proxy}
	c := command{Do: doRow, Row: l.rows + 1, Share: &row, Server: to, Files: filesOf(row.Spec)}
	if err := c.fits(); err != nil {
		return err
	}
	l.rows++
	l.driving, d.n = d, l.rows
	d.members = append(d.members, l.members...)
	l.files = map[string]string{}
	for _, f := range c.Files {
		l.files[f.SHA256] = f.Name
	}
	for k, m := range d.members {
		share := row
		share.Worker = k
		c.Share = &share
		m.command(c)
		d.parts[k].allowed.replicas = len(d.c.Server.Target.Replicas)
		if spec := share.Spec; !spec.HasConversations() {
			d.parts[k].allowed.share = spec.Share(k, l.of)
		}
	}
	return nil
}

func (c *command) fits() error {
	if n := len(jsonBody(c)); n >= mostCommand {
		return fmt.Errorf("what a worker needs to know of %s takes %d MiB, the limit is %d MiB\nhint: let the row use fewer prompts or lengths", c.Share.ID, n>>20, mostCommand>>20)
	}
	return nil
}

func (d *driving) end() {
	close(d.over)
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	d.l.driving, d.l.files = nil, nil
}

// run takes what the workers send until all have ended.
func (d *driving) run(ctx context.Context) error {
	t := time.NewTicker(beat / 4)
	defer t.Stop()
	never := context.Background()
	ends, decided := cmp.Or(d.c.Ends, never).Done(), cmp.Or(d.c.Decided, never).Done()
	for d.results < len(d.parts) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ends:
			ends = nil
			d.tell(command{Do: doClose})
		case <-decided:
			decided = nil
			d.tell(command{Do: doDecided})
		case x := <-d.inbox:
			err := d.take(&x)
			x.wanted <- d.wants(x.m)
			if err != nil {
				return err
			}
		case <-t.C:
			if err := d.gone(); err != nil {
				return err
			}
			if d.c.Progress != nil {
				d.c.Progress.Take(d.counts)
			}
		}
	}
	return nil
}

// gone is the error of a worker that was expelled before its result came.
func (d *driving) gone() error {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	d.l.expelSilent()
	for k, m := range d.members {
		if m.gone != "" && !d.parts[k].over {
			return d.failed(k, m.host, m.gone)
		}
	}
	return nil
}

func (d *driving) failed(worker int, host, text string) error {
	return &endpoint.WorkerError{Worker: worker, Host: host, Text: text}
}

func (d *driving) tell(c command) {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	c.Row = d.n
	for _, m := range d.members {
		m.command(c)
	}
}

// cancel ends the row on all workers, and waits until they have ended it. Those that take too long are expelled.
func (d *driving) cancel(why error) {
	reason := why.Error()
	if errors.Is(why, context.Canceled) {
		reason = "the sweep was interrupted"
	}
	d.tell(command{Do: doCancel, Reason: reason})
	over := time.After(ending)
	t := time.NewTicker(beat / 4)
	defer t.Stop()
	for d.running() {
		select {
		case x := <-d.inbox:
			p := &d.parts[x.m.index]
			for i := range x.events {
				if d.members[x.m.index] == x.m && (x.events[i].kind == kindResult || x.events[i].kind == kindError) {
					p.over = true
				}
			}
			x.wanted <- d.wants(x.m)
		case <-t.C:
		case <-over:
			d.l.mu.Lock()
			for k, m := range d.members {
				if !d.parts[k].over {
					d.l.expel(m, fmt.Sprintf("did not end the row within %v", ending))
				}
			}
			d.l.mu.Unlock()
		}
	}
}

func (d *driving) running() bool {
	d.l.mu.Lock()
	defer d.l.mu.Unlock()
	d.l.expelSilent()
	for k, m := range d.members {
		if m.gone == "" && !d.parts[k].over {
			return true
		}
	}
	return false
}
