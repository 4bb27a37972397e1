package cli

import (
	"context"
	"fmt"
	"strings"
)

// ServeOptions say how the MCP server is reached and what it may read. The zero
// value is standard input and output, and any file.
type ServeOptions struct {
	HTTP, SSE string   // addresses; "" for none
	Token     bool     // make a token even where only this machine can reach the server
	TokenFile string   // holds the token, "" for one that is made when it is needed
	Hosts     []string // names by which the server may be called
	Origins   []string // web pages that may call it
	Roots     []string // folders, or SCHEME: for all targets of a kind; none means anything
	Metrics   string   // address of the metrics of the server itself, "" for none
	Actions   Actions  // what may be done; over HTTP only for who has a token
}

const serveHelp = `usage: trainmedic serve [flags]

Serves the Model Context Protocol on standard input and output, or over HTTP:

  --http 8765     streamable HTTP on http://127.0.0.1:8765/mcp
  --sse 8766      the older HTTP with SSE on http://127.0.0.1:8766/sse; the port may be the same

Without a host an address is this machine only. Any other needs a token, which is
printed once unless --token-file gives it; clients send it as
"Authorization: Bearer TOKEN". Every user of this machine can reach a port of it:
on a shared one use --token too. Without --allow-actions or --policy nothing is
changed, and over HTTP nothing for a client without a token. A token file with a
line NAME TOKEN for each client tells them apart.

Traces go by OTLP over HTTP to where OTEL_EXPORTER_OTLP_ENDPOINT says, if it does.

Flags:
`

func serve(ctx context.Context, args []string, s Streams, d Deps) int {
	f := newFlags("serve", s.Err)
	var o ServeOptions
	f.StringVar(&o.HTTP, "http", "", "`address` of the streamable HTTP transport")
	f.StringVar(&o.SSE, "sse", "", "`address` of the older HTTP with SSE")
	f.BoolVar(&o.Token, "token", false, "want a token on this machine too")
	f.StringVar(&o.TokenFile, "token-file", "", "`file` that holds the token, or a line NAME TOKEN for each client; only its owner may read it")
	f.StringSliceVar(&o.Hosts, "allow-host", nil, "`name` by which the server may be called, as behind a proxy")
	f.StringSliceVar(&o.Origins, "allow-origin", nil, "web page that may call, as https://`host`")
	f.StringSliceVar(&o.Roots, "root", nil, "read and write only below this `folder`; SCHEME: allows a kind of target, as wandb:")
	f.StringVar(&o.Metrics, "metrics", "", "serve Prometheus metrics of the server itself on this `address`, at /metrics")
	a := &o.Actions
	a.flags(f)
	f.BoolVar(&a.Elicit, "allow-elicitation", false, "safe actions that ask may be decided in the client's own dialog, which its host can answer by itself")
	f.StringVar(&a.Page, "approval-page", "", "serve the approval page on this loopback `address:port`; set its passphrase with trainmedic approvals --set-passphrase")
	f.StringSliceVar(&a.Hosts, "approval-host", nil, "a further `name` that a browser may call the approval page by, as behind a tunnel")
	f.StringVar(&a.Socket, "approval-socket", "", "take decisions on a socket at this `path`, which other users reach; the policy's approvers may decide")
	if code, ok := f.parse(args, s.Out, serveHelp+f.FlagUsages()); !ok {
		return code
	}
	stdio := o.HTTP == "" && o.SSE == ""
	switch {
	case f.NArg() > 0:
		return f.fail("unexpected argument %q", f.Arg(0))
	case stdio && (f.Changed("http") || f.Changed("sse")):
		return f.fail("the address is empty: give a port, or HOST:PORT")
	case stdio && (o.Token || o.TokenFile != "" || len(o.Hosts)+len(o.Origins) > 0):
		return f.fail("--token, --token-file, --allow-host and --allow-origin need --http or --sse")
	}
	for _, origin := range o.Origins {
		if origin == "*" || !strings.Contains(origin, "://") || strings.HasSuffix(origin, "/") {
			return f.fail("--allow-origin %q: want scheme://host[:port], without a path; every page at once is not offered", origin)
		}
	}
	if err := d.Serve(ctx, o, s); err != nil && ctx.Err() == nil {
		fmt.Fprintf(s.Err, "trainmedic serve: %v\n", err)
		return exitBlind
	}
	return exitGo
}
