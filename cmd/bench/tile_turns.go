package main

import "sync"

// sideOf is whose block is the i-th of all: A B B A A B B A. What drifts as time goes by, a server that warms up or a network that
// fills, is shared out evenly so, as it is not by A B A B.
func sideOf(i int) int { return (i + 1) / 2 % 2 }

// turns lets two runs measure one after the other, block by block.
type turns struct {
	parallel bool // neither waits for the other

	mu    sync.Mutex
	moved *sync.Cond
	block int     // of all, that has its turn
	here  [2]bool // sides that have begun
	gone  [2]bool // sides that have no block left
	ended bool
}

func newTurns(parallel bool) *turns {
	t := &turns{parallel: parallel}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// open says that a side has begun: no block is measured before both have.
func (t *turns) open(side int) { t.move(func() { t.here[side] = true }) }

// await waits until a side has begun, or is gone.
func (t *turns) await(side int) { t.wait(func() bool { return t.here[side] || t.gone[side] }) }

// take waits for a side's turn; false: there are no more turns.
func (t *turns) take(side int) bool {
	other := 1 - side
	t.wait(func() bool {
		return t.ended || (t.here[other] || t.gone[other]) && (t.parallel || t.whose() == side)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ended
}

func (t *turns) wait(until func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !until() {
		t.moved.Wait()
	}
}

// whose turn it is: of one that is gone it is the other's.
func (t *turns) whose() int {
	if side := sideOf(t.block); !t.gone[side] {
		return side
	}
	return 1 - sideOf(t.block)
}

// pass ends a turn.
func (t *turns) pass() { t.move(func() { t.block++ }) }

// leave says that a side has no more blocks.
func (t *turns) leave(side int) { t.move(func() { t.gone[side] = true }) }

// over ends all turns.
func (t *turns) over() { t.move(func() { t.ended = true }) }

func (t *turns) move(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	t.moved.Broadcast()
}
