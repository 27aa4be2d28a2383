// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import "syscall"

// attributes puts a process into a group of its own, so that it is ended together with its
// children.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
