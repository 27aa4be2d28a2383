// SPDX-License-Identifier: Apache-2.0

//go:build unix

package replace

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// own gives a new file the owner and the group of another.
func own(f *os.File, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if got, is := info.Sys().(*syscall.Stat_t); ok && is && (got.Uid != want.Uid || got.Gid != want.Gid) {
		if err := f.Chown(int(want.Uid), int(want.Gid)); err != nil {
			return fmt.Errorf("the new file cannot have owner %d and group %d: %w; rewrite it to standard output", want.Uid, want.Gid, Reason(err))
		}
	}
	return nil
}
