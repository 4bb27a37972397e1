//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/cli"
)

// says is what the command prints.
func says(t *testing.T, args ...string) string {
	t.Helper()
	var out, err bytes.Buffer
	if code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}); code != 0 {
		t.Fatalf("%v: %d %s", args, code, err.String())
	}
	return out.String()
}

// TestShellsComplete asks the shells themselves what comes after some words.
func TestShellsComplete(t *testing.T) {
	for shell, script := range map[string]string{
		"bash": `source ./script; complete -p trainmedic >/dev/null; try() { COMP_WORDS=(trainmedic "$@"); COMP_CWORD=$#; _trainmedic; printf '%s\n' "${COMPREPLY[@]}"; }
try wa; try check --fra; try serve --allow-o; try completion run`,
		"fish": `source ./script; for words in "wa" "check --fra" "serve --allow-o" "completion run"; complete -C "trainmedic $words"; end`,
		"zsh": `autoload -Uz compinit; compinit -u -D; source ./script; [[ $_comps[trainmedic] == _trainmedic ]] || exit 1
functions _arguments _describe >/dev/null 2>&1; _describe() { print -l ${(P)2} | grep '^wa' }; _arguments() { print -l -- $@ }
words=(trainmedic wa); CURRENT=2; _trainmedic; for c in check serve; do words=(trainmedic $c x); CURRENT=3; _trainmedic; done; ls run.log`,
	} {
		t.Run(shell, func(t *testing.T) {
			need(t, shell, shell, "--version")
			dir := t.TempDir()
			for name, text := range map[string]string{"script": says(t, "completion", shell), "run.log": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"-c", script}
			if shell == "zsh" {
				args = append([]string{"-f"}, args...)
			}
			cmd := exec.Command(shell, args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, want := range []string{"watch", "--framework", "--allow-origin", "run.log"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %s: %s", want, out)
				}
			}
		})
	}
}

// TestTheManualIsRead has groff read it with all warnings.
func TestTheManualIsRead(t *testing.T) {
	need(t, "groff", "groff", "--version")
	cmd := exec.Command("groff", "-man", "-Tutf8", "-P-c", "-ww")
	cmd.Stdin = strings.NewReader(says(t, "man"))
	var page, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &page, &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, warnings.String())
	}
	if text := page.String(); !strings.Contains(text, "decision NO-GO or CONDITIONAL") {
		t.Error(text)
	}
}
