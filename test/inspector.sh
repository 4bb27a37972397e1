#!/bin/sh
# The MCP server against the official MCP Inspector, over stdio: the list of
# tools passes --strict, every tool answers a call, a wrong argument gives exit 5
# (isError), prompts and resources are there.
# Usage: test/inspector.sh [PROGRAM]     (builds the program when not given)
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/inspector-2.12.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -x "$cache/node_modules/.bin/mcp-inspector" ] || [ ! -x "$cache/node_modules/node/bin/node" ]; then
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error \
		@modelcontextprotocol/inspector@2.12.0 node@22.23.3
fi
PATH=$cache/node_modules/node/bin:$PATH

program=${1:-$work/trainmedic}
[ $# -gt 0 ] || go build -o "$program" ./cmd/trainmedic
export MCP_CATALOG_PATH="$work/catalog.json"

inspect() {
	node "$cache/node_modules/.bin/mcp-inspector" --cli --format json -q "$@" -- "$program" serve
}

call() { # TOOL ARGUMENTS
	inspect --method tools/call --tool-name "$1" --tool-args-json "$2" >"$work/out.json" || {
		echo "FAIL inspector: $1 $2: exit $?" >&2
		cat "$work/out.json" >&2
		exit 1
	}
	grep -q '"structuredContent"' "$work/out.json" || { echo "FAIL inspector: $1: no structured content" >&2; exit 1; }
	echo "ok   inspector: $1 ($(wc -c <"$work/out.json") bytes)"
}

log="$root/cmd/trainmedic/testdata/logs/oom.log"
inspect --method tools/list --strict >"$work/list.json"
echo "ok   inspector: tools/list --strict ($(wc -c <"$work/list.json") bytes)"
for tool in fetch_target tail_log extract_metrics classify_failure plan_recovery check_failed_run; do
	call "$tool" "{\"target\":\"$log\"}"
done
call classify_failure '{"text":"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"}'
call tail_log "{\"target\":\"$log\",\"match\":\"(?i)error\",\"lines\":5}"

set +e
inspect --method tools/call --tool-name tail_log --tool-args-json '{"taget":"x"}' >"$work/bad.json" 2>&1
code=$?
set -e
[ $code -eq 5 ] || { echo "FAIL inspector: a wrong argument gave exit $code, want 5" >&2; cat "$work/bad.json" >&2; exit 1; }
echo "ok   inspector: a wrong argument is isError"

inspect --method prompts/list | grep -q babysit-training
inspect --method prompts/get --prompt-name check-failed-run --prompt-args target=run.log | grep -q check_failed_run
inspect --method resources/list | grep -q trainmedic://schemas/check-failed-run
inspect --method resources/read --uri trainmedic://schemas/check-failed-run | grep -q run_status
echo "ok   inspector: prompts and resources"
