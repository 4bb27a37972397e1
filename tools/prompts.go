package tools

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/source"
)

// The prompts are the two skills, told for the tools of this server.
//
//go:embed prompts/*.md
var promptFiles embed.FS

// promptArgs are the arguments of both prompts, in order.
var promptArgs = []struct{ name, doc string }{
	{"target", "The run: a log, a directory, a quoted glob"},
	{"framework", "What the run uses: " + strings.Join(frameworks, ", ")},
	{"task", "What it trains: " + strings.Join(tasks, ", ")},
}

func (s *Server) addPrompts() {
	s.addPrompt("check-failed-run", "Find out why a training run failed or is unstable, and plan its recovery")
	s.addPrompt("babysit-training", "Watch a training run until it ends or needs a person")
}

func (s *Server) addPrompt(name, doc string) {
	opts := []mcp.PromptOption{mcp.WithPromptDescription(doc)}
	for _, a := range promptArgs {
		o := []mcp.ArgumentOption{mcp.ArgumentDescription(a.doc)}
		if a.name == "target" {
			o = append(o, mcp.RequiredArgument())
		}
		opts = append(opts, mcp.WithArgument(a.name, o...))
	}
	body, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("tools: prompt %s: %v", name, err))
	}
	s.mcp.AddPrompt(mcp.NewPrompt(name, opts...), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := string(body) + "\n" + given(req.Params.Arguments)
		return mcp.NewGetPromptResult(doc, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
	})
}

// given lists the arguments as the tools take them.
func given(args map[string]string) string {
	var b strings.Builder
	b.WriteString("Arguments:\n")
	for _, a := range promptArgs {
		v := redact.Clip(strings.TrimSpace(args[a.name]), 1000)
		if v == "" && a.name == "target" {
			b.WriteString("- target: not given; ask the user for the log or directory of the run first\n")
		} else if v != "" {
			fmt.Fprintf(&b, "- %s: %q\n", a.name, v)
		}
	}
	return b.String()
}

// completer completes the arguments of the prompts: the words that a framework
// or task may be, and the paths that a target may be.
type completer struct{ roots source.Roots }

const maxCompletions = 100

// CompletePromptArgument implements server.PromptCompletionProvider.
func (c completer) CompletePromptArgument(_ context.Context, _ string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	var from []string
	switch arg.Name {
	case "framework":
		from = frameworks
	case "task":
		from = tasks
	case "target":
		from = c.paths(arg.Value)
	}
	out := &mcp.Completion{Values: []string{}}
	for _, v := range from {
		if strings.HasPrefix(v, arg.Value) {
			out.Values = append(out.Values, v)
		}
	}
	out.Total = len(out.Values)
	if out.Total > maxCompletions {
		out.Values, out.HasMore = out.Values[:maxCompletions], true
	}
	return out, nil
}

// paths lists the files and directories that a path may go on to.
func (c completer) paths(prefix string) []string {
	dir, base := filepath.Split(prefix)
	if c.roots.Check(filepath.Clean(dir+".")) != nil {
		return nil
	}
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || redact.Text(name) != name {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		out = append(out, dir+name)
	}
	slices.Sort(out)
	return out
}
