package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// status runs the program and wants an exit status, or any that a diagnosis may
// have: status N|any PROGRAM ARG...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N|any PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; strconv.Itoa(got) != want && (want != "any" || got == 1 || got == 2) {
		ts.Fatalf("exit status %d, want %s", got, want)
	}
}

// gz compresses a file and may cut the result: gz SOURCE TARGET [BYTES]
func gz(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: gz SOURCE TARGET [BYTES]")
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	if err = errors.Join(err, w.Close()); err != nil {
		ts.Fatalf("%v", err)
	}
	out := b.Bytes()
	if len(args) > 2 {
		n, err := strconv.Atoi(args[2])
		if err != nil || n > len(out) {
			ts.Fatalf("gz: %d bytes are there, not %s", len(out), args[2])
		}
		out = out[:n]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o644))
}

// zeros writes a file that is no text: zeros FILE BYTES
func zeros(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: zeros FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), make([]byte, n), 0o644))
}
