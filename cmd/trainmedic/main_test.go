package main

import (
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
			return os.WriteFile(e.WorkDir+"/oom.log", logs, 0o644)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"gz":     gz,
			"zeros":  zeros,
		},
	})
}
