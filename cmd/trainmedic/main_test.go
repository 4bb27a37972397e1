package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the scripts compare anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"trainmedic": main})
}

// TestScripts runs the program as a user does: each script is one behaviour,
// exit statuses included.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			logs, err := os.ReadFile("testdata/logs/oom.log")
			if err != nil {
				return err
			}
			if err := os.CopyFS(e.WorkDir+"/examples", os.DirFS("../../examples")); err != nil {
				return err
			}
			text, err := transcript("../../README.md")
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(e.WorkDir+"/oom.log", logs, 0o644), os.WriteFile(e.WorkDir+"/readme.txt", text, 0o644))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"gz":     gz,
			"zeros":  zeros,
			"vertex": serveVertex,
		},
	})
}

// transcript is the first block of text in a document.
func transcript(document string) ([]byte, error) {
	b, err := os.ReadFile(document)
	if err != nil {
		return nil, err
	}
	_, b, begins := bytes.Cut(b, []byte("\n```text\n"))
	b, _, ends := bytes.Cut(b, []byte("```\n"))
	if !begins || !ends {
		return nil, errors.New(document + " shows no transcript")
	}
	return b, nil
}
