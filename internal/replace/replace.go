// SPDX-License-Identifier: Apache-2.0

// Package replace writes files so that nobody ever sees half of one.
package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File gives a file new content, through a temporary file beside it and a rename, so that
// nobody sees half of it. The file keeps its owner, its group and its mode; where the new one cannot
// be given them, that is an error. Other hard links keep the old content, and access lists and
// extended attributes are lost. A symbolic link stays, and the file that it leads to is replaced. After an
// error the file is as it was.
func File(file string, content []byte) (err error) {
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	// A rename asks for leave to write to the folder only.
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Beside(file, content, func(temp *os.File) error { return liken(temp, info) })
}

// Beside writes a file through another one beside it and a rename, so that there is never half of it. dress gives
// the other one its mode. After an error what was there before is there still.
func Beside(file string, content []byte, dress func(temp *os.File) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(file), ".imageoverrides-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(content); err != nil {
		return err
	}
	if err := dress(temp); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}

// modeBits are those that chmod changes.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// liken gives a new file the owner, the group and the mode of another.
func liken(f *os.File, like fs.FileInfo) error {
	if err := own(f, like); err != nil { // first, since the system then clears bits of the mode
		return err
	}
	if err := f.Chmod(like.Mode() & modeBits); err != nil {
		return fmt.Errorf("the new file cannot have mode %v: %w", like.Mode(), Reason(err))
	}
	switch info, err := f.Stat(); {
	case err != nil:
		return err
	case info.Mode() != like.Mode(): // the system drops bits in silence
		return fmt.Errorf("the new file cannot have mode %v; rewrite it to standard output", like.Mode())
	}
	return nil
}

// Reason is an error without the name of a file and what was done to it.
func Reason(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
