// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
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
	if err := flag.Set("test.parallel", "4"); err != nil { // those that are parallel wait most of the time; a flag of the command line counts more
		panic(err)
	}
	code := m.Run()
	if running.Err() != nil {
		select {} // the above ends the process, when all has stopped
	}
	end()
	os.Exit(code)
}
