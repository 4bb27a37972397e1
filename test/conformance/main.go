// Command conformance is a server for the official conformance suite of the
// Model Context Protocol: the tools, resources and prompts that the suite asks
// for, on the HTTP transport that trainmedic itself uses. It is no part of the
// product; test/conformance.sh runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/transport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// serve listens on a port of the loopback and says on which; with the argument
// stdio it answers one client on standard input and output.
func serve(ctx context.Context) error {
	m := server.NewMCPServer("trainmedic-conformance", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithCompletions(), server.WithLogging(), server.WithElicitation())
	m.EnableSampling()
	way := transport.New(m)
	contents(m)
	notices(m, way)
	questions(m)
	rounds(m)
	documents(m)
	if len(os.Args) > 1 && os.Args[1] == "stdio" {
		return way.Stdio(ctx, os.Stdin, os.Stdout, os.Stderr)
	}
	const here = "127.0.0.1:0"
	run, err := way.Listen(ctx, transport.Network{HTTP: here, SSE: here, Say: func(line string) { fmt.Fprintln(os.Stderr, "conformance: "+line) }})
	if err != nil {
		return err
	}
	return run()
}

// add gives the server a tool without a schema of its own.
func add(m *server.MCPServer, name, doc string, f server.ToolHandlerFunc) {
	m.AddTool(mcp.NewTool(name, mcp.WithDescription(doc)), f)
}

// answers is a handler that always says the same.
func answers(c ...mcp.Content) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: c}, nil
	}
}

// done is a result of one text.
func done(format string, args ...any) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...)), nil
}
