#!/bin/sh
# The MCP server against the official MCP Inspector, over stdio and streamable
# HTTP (both eras of the protocol) and SSE: the list of tools passes --strict
# without a warning, every tool answers a call, a wrong argument gives exit 5
# (isError), prompts and resources are there, calls side by side all succeed,
# without the token nothing is, and the Inspector's web page works in a browser.
# Usage: test/inspector.sh [PROGRAM]     (builds the program when not given)
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/inspector-2.12.0
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

if [ ! -x "$cache/node_modules/.bin/mcp-inspector" ] || [ ! -x "$cache/node_modules/node/bin/node" ] || [ ! -d "$cache/node_modules/puppeteer-core" ]; then
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error \
		@modelcontextprotocol/inspector@2.12.0 node@22.23.3 puppeteer-core@24.43.1
fi
PATH=$cache/node_modules/node/bin:$PATH

program=${1:-$work/trainmedic}
[ $# -gt 0 ] || go build -o "$program" ./cmd/trainmedic
export MCP_CATALOG_PATH="$work/catalog.json"

XDG_STATE_HOME="$work/state"
export XDG_STATE_HOME
token=tm_$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
(umask 077 && echo "$token" >"$work/token")
"$program" serve --http 127.0.0.1:0 --sse localhost:0 --token-file "$work/token" 2>"$work/serve.txt" &
server=$!
tries=0
until grep -q 'SSE on' "$work/serve.txt"; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { echo "FAIL inspector: the server does not come up" >&2; cat "$work/serve.txt" >&2; exit 1; }
	sleep 0.1
done
http=$(sed -n 's/.*streamable HTTP on //p' "$work/serve.txt")
sse=$(sed -n 's/.*SSE on //p' "$work/serve.txt")
log="$root/cmd/trainmedic/testdata/logs/oom.log"

# inspect [-v] ARGUMENT...   with -v warnings are shown
inspect() {
	quiet=-q
	[ "$1" != -v ] || { quiet= && shift; }
	case $way in
	stdio) set -- "$@" -- "$program" serve ;;
	stdio-modern) set -- --protocol-era modern "$@" -- "$program" serve ;;
	http) set -- --server-url "$http" --transport http --header "Authorization: Bearer $token" "$@" ;;
	modern) set -- --server-url "$http" --transport http --protocol-era modern --header "Authorization: Bearer $token" "$@" ;;
	sse) set -- --server-url "$sse" --transport sse --header "Authorization: Bearer $token" "$@" ;;
	esac
	node "$cache/node_modules/.bin/mcp-inspector" --cli --format json $quiet "$@"
}

call() { # TOOL ARGUMENTS
	inspect --method tools/call --tool-name "$1" --tool-args-json "$2" >"$work/out.json" || {
		echo "FAIL inspector, $way: $1 $2: exit $?" >&2
		cat "$work/out.json" >&2
		exit 1
	}
	grep -q '"structuredContent"' "$work/out.json" || { echo "FAIL inspector, $way: $1: no structured content" >&2; exit 1; }
	echo "ok   inspector, $way: $1 ($(wc -c <"$work/out.json") bytes)"
}

all() {
	inspect -v --method tools/list --strict >"$work/list.json" 2>"$work/warnings.txt"
	! grep -i 'warn\|portab' "$work/warnings.txt" || { echo "FAIL inspector, $way: tools/list --strict warns" >&2; exit 1; }
	echo "ok   inspector, $way: tools/list --strict ($(wc -c <"$work/list.json") bytes)"
	for tool in fetch_target tail_log extract_metrics classify_failure plan_recovery check_failed_run; do
		call "$tool" "{\"target\":\"$log\"}"
	done
	call monitor_run "{\"target\":\"$log\",\"once\":true}"
	call classify_failure '{"text":"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"}'
	call tail_log "{\"target\":\"$log\",\"match\":\"(?i)error\",\"lines\":5}"

	code=0
	inspect --method tools/call --tool-name tail_log --tool-args-json '{"taget":"x"}' >"$work/bad.json" 2>&1 || code=$?
	[ $code -eq 5 ] || { echo "FAIL inspector, $way: a wrong argument gave exit $code, want 5" >&2; cat "$work/bad.json" >&2; exit 1; }
	echo "ok   inspector, $way: a wrong argument is isError"

	inspect --method prompts/list | grep -q babysit-training
	inspect --method prompts/get --prompt-name check-failed-run --prompt-args target=run.log | grep -q check_failed_run
	inspect --method resources/list | grep -q trainmedic://schemas/check-failed-run
	inspect --method resources/read --uri trainmedic://schemas/check-failed-run | grep -q run_status
	inspect --method resources/templates/list | grep -q 'run://{id}'
	echo "ok   inspector, $way: prompts and resources"

	version=2025-11-25
	case $way in
	*modern) version=2026-07-28 ;; # which has no level of a session
	*) inspect --method logging/setLevel --log-level debug >/dev/null ;;
	esac
	inspect --method initialize | grep -q "\"protocolVersion\":\"$version\""
	inspect --method tools/call --tool-name tail_log --tool-args-json "{\"target\":\"$log\"}" --load --load-requests 100 --load-concurrency 8 >"$work/load.json"
	grep -q '"ok":100,' "$work/load.json" || { echo "FAIL inspector, $way: of 100 calls, eight side by side, some fail" >&2; cat "$work/load.json" >&2; exit 1; }
	echo "ok   inspector, $way: speaks $version, answers calls side by side"
}

for way in stdio stdio-modern http modern sse; do
	all
done

right=$token
token=tm_wrong
for way in http sse; do
	if inspect --method tools/list >"$work/denied.json" 2>&1; then
		echo "FAIL inspector, $way: a wrong token is let in" >&2
		exit 1
	fi
	echo "ok   inspector, $way: a wrong token is refused"
done
token=$right

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$browser" ]; then
	"$program" serve --http 127.0.0.1:0 2>"$work/open.txt" & # the page has no field for a token here
	open=$!
	tries=0
	until grep -q ' on http' "$work/open.txt" || [ $tries -gt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	code=0
	HOME=$work node test/inspector-web.mjs "$cache" "$browser" "$(sed -n 's/.*streamable HTTP on //p' "$work/open.txt")" "$log" || code=$?
	kill "$open"
	[ $code -eq 0 ] || { echo "FAIL inspector, web page" >&2; exit 1; }
elif [ -n "${CI:-}" ]; then
	echo "FAIL inspector: there is no browser for its web page" >&2
	exit 1
else
	echo "skip inspector, web page: there is no browser"
fi

kill "$server"
wait "$server" || { echo "FAIL inspector: the server ended with exit $?" >&2; cat "$work/serve.txt" >&2; exit 1; }
server=
echo "ok   inspector: the server ends when it is asked to"
