// SPDX-License-Identifier: Apache-2.0

package e2e

import "syscall"

// attributes puts a process into a group of its own, so that it is ended together with its
// children, and lets the kernel kill it when the test is gone for whatever reason.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
