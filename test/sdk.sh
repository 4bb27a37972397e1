#!/bin/sh
# The MCP server with the official SDKs as its clients, that of TypeScript and that
# of Go (test/gosdk, a module of its own), over stdio, streamable HTTP and SSE.
set -eu
cd "$(dirname "$0")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/sdk-1.32.2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go build -o "$work/trainmedic" ./cmd/trainmedic
go build -o "$work/fixtures" ./test/conformance
log=$PWD/cmd/trainmedic/testdata/logs/oom.log

if [ ! -d "$cache/node_modules/@modelcontextprotocol/sdk" ] || [ ! -x "$cache/node_modules/node/bin/node" ]; then
	command -v npm >/dev/null || { [ -z "${CI:-}" ] || exit 1; echo "skip sdk: npm is missing"; exit 0; }
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error node@22.23.3 @modelcontextprotocol/sdk@1.32.2
fi
"$cache/node_modules/node/bin/node" test/sdk.mjs "$cache/node_modules/@modelcontextprotocol/sdk" "$work/trainmedic" "$work/fixtures" "$log"

cd test/gosdk
TRAINMEDIC=$work/trainmedic FIXTURES=$work/fixtures LOG=$log go test -count=1 ./...
echo "ok   sdk of Go: stdio, streamable HTTP, SSE"
