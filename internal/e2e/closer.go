// SPDX-License-Identifier: Apache-2.0

package e2e

import "sync"

// A closer undoes, last first, what was done. It is closed by whoever comes first, the end
// of the tests or a signal.
type closer struct {
	mu     sync.Mutex
	closed bool
	undo   []func()
}

// add adds something to undo; at once, if the closer is closed already.
func (c *closer) add(undo func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		undo()
		return
	}
	c.undo = append(c.undo, undo)
}

// close returns when everything is undone, also the second time.
func (c *closer) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for i := len(c.undo) - 1; i >= 0; i-- {
		c.undo[i]()
	}
	c.undo = nil
}
