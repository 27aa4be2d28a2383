// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		s := <-signals
		say("%s: stopping", s)
		end()
		// Die of the signal, as without all this.
		signal.Reset(s)
		syscall.Kill(os.Getpid(), s.(syscall.Signal))
	}()
	code := m.Run()
	if running.Err() != nil {
		select {} // the signal ends the process, when all has stopped
	}
	end()
	os.Exit(code)
}
