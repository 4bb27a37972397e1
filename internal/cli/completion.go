package cli

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
)

//go:embed completion/*
var scripts embed.FS

// shells are those that have a script, by the name of their file.
var shells = map[string]string{"bash": "completion/bash.sh", "zsh": "completion/zsh.sh", "fish": "completion/fish.sh"}

const completionHelp = `usage: trainmedic completion bash|zsh|fish

Prints the script that completes commands, flags and files in a shell:

  bash   source <(trainmedic completion bash)
  zsh    trainmedic completion zsh > "${fpath[1]}/_trainmedic"
  fish   trainmedic completion fish > ~/.config/fish/completions/trainmedic.fish
`

func completion(_ context.Context, args []string, s Streams, d Deps) int {
	f := newFlags("completion", s.Err)
	if code, ok := f.parse(args, s.Out, completionHelp); !ok {
		return code
	}
	if f.NArg() != 1 || shells[f.Arg(0)] == "" {
		return f.fail("want one of %s", strings.Join(slices.Sorted(maps.Keys(shells)), ", "))
	}
	t, err := template.New("").Funcs(template.FuncMap{"quote": quoted}).ParseFS(scripts, "completion/*")
	if err == nil {
		err = t.ExecuteTemplate(s.Out, strings.TrimPrefix(shells[f.Arg(0)], "completion/"), describe(d))
	}
	if err != nil {
		fmt.Fprintf(s.Err, "trainmedic completion: %v\n", err)
		return exitBlind
	}
	return exitGo
}

// quoted is a text between apostrophes, as all three shells take it; what zsh
// reads more out of it is taken away.
func quoted(parts ...string) string {
	s := strings.NewReplacer("[", "(", "]", ")", ":", " -", `\`, "/", "\n", " ").Replace(strings.Join(parts, ""))
	return "'" + strings.ReplaceAll(s, "'", "") + "'"
}
