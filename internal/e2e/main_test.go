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
		os.Exit(1)
	}()
	code := m.Run()
	if running.Err() != nil {
		select {} // the above ends the process, when all has stopped
	}
	end()
	os.Exit(code)
}
