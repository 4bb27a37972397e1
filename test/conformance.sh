#!/bin/sh
# The official conformance suite of the Model Context Protocol, in two releases:
# everything that it asks of servers against test/conformance, which has the
# suite's tools on the HTTP transport of trainmedic, and what needs no such tools
# against trainmedic itself. What fails and may is in test/conformance-2026-07-28.yml.
# Usage: test/conformance.sh [ROUNDS]     (1 when not given)
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-1}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/conformance-0.2.0-alpha.12
work=$(mktemp -d)
servers=
trap '[ -z "$servers" ] || kill $servers 2>/dev/null || true; rm -rf "$work"' EXIT

if [ ! -d "$cache/node_modules/conformance-stable" ] || [ ! -x "$cache/node_modules/node/bin/node" ]; then
	command -v npm >/dev/null || { [ -z "${CI:-}" ] || exit 1; echo "skip conformance: npm is missing"; exit 0; }
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error node@22.23.3 \
		@modelcontextprotocol/conformance@0.2.0-alpha.12 conformance-stable@npm:@modelcontextprotocol/conformance@0.1.16
fi
PATH=$cache/node_modules/node/bin:$PATH

go build -o "$work/fixtures" ./test/conformance
go build -o "$work/trainmedic" ./cmd/trainmedic
XDG_STATE_HOME="$work/state"
export XDG_STATE_HOME

# serve NAME PROGRAM [ARGUMENT...]   starts a server; url_NAME is where
serve() {
	name=$1
	shift
	"$@" 2>"$work/$name.txt" &
	servers="$servers $!"
	tries=0
	until grep -qs ' on http.*/mcp' "$work/$name.txt"; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { echo "FAIL conformance: $name does not come up" >&2; cat "$work/$name.txt" >&2; exit 1; }
		sleep 0.1
	done
	eval "url_$name=$(sed -n 's/.* on \(http.*\/mcp\)$/\1/p' "$work/$name.txt")"
}

program() { # RELEASE
	case $1 in
	0.1) echo "$cache/node_modules/conformance-stable/dist/index.js" ;;
	0.2) echo "$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js" ;;
	esac
}

# suite RELEASE ARGUMENT...   runs a part of the suite; what it passed is in $passed
suite() {
	release=$1
	shift
	if ! node "$(program "$release")" server --url "$url_fixtures" "$@" -o "$work/results" >"$work/out.txt" 2>&1; then
		echo "FAIL conformance $release: $*" >&2
		grep -v '^Skipped' "$work/out.txt" | tail -60 >&2
		exit 1
	fi
	passed=$(sed -n 's/^Total: *//p' "$work/out.txt" | tail -1)
}

serve fixtures "$work/fixtures"
serve trainmedic "$work/trainmedic" serve --http 127.0.0.1:0

round=1
while [ "$round" -le "$rounds" ]; do
	suite 0.1 --suite all
	old=$passed
	suite 0.2 --requirements 2025-11-25
	middle=$passed
	suite 0.2 --requirements 2026-07-28 --expected-failures test/conformance-2026-07-28.yml
	grep -q 'server-stateless: 28 passed, 2 failed' "$work/out.txt" || {
		echo "FAIL conformance: of server-stateless other checks fail than the two in test/conformance-2026-07-28.yml" >&2
		grep server-stateless "$work/out.txt" >&2
		exit 1
	}
	echo "ok   conformance, round $round of $rounds: 0.1.16 $old; 2025-11-25 $middle; 2026-07-28 $passed, tasks included"
	round=$((round + 1))
done

# holds RELEASE ARGUMENT... -- SCENARIO...   of a run that fails where it wants the
# suite's own tools, these have to pass
holds() {
	release=$1 options=
	shift
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # several words
	node "$(program "$release")" server --url "$url_trainmedic" $options -o "$work/results" >"$work/out.txt" 2>&1 || true
	for scenario; do
		grep -q "^✓ $scenario: " "$work/out.txt" || {
			echo "FAIL conformance $release of trainmedic itself,$options: $scenario" >&2
			grep "$scenario" "$work/out.txt" >&2 || tail -20 "$work/out.txt" >&2
			exit 1
		}
	done
	echo "ok   conformance $release of trainmedic itself,$options: $# scenarios"
}

# What needs no tools of the suite. server-stateless calls some in three of its
# parts, and there are no subscriptions: a result that is kept does not change.
every="completion-complete tools-list resources-list prompts-list server-sse-multiple-streams dns-rebinding-protection"
older="server-initialize logging-set-level ping server-sse-polling"
# shellcheck disable=SC2086 # several words
{
	holds 0.1 --suite all -- $every $older
	holds 0.2 --requirements 2025-11-25 -- $every $older server-session-lifecycle
	holds 0.2 --requirements 2026-07-28 -- $every caching http-header-validation input-required-result-unsupported-methods
}
grep -q '^[✓✗] server-stateless: 24 passed, 4 failed' "$work/out.txt" || {
	echo "FAIL conformance of trainmedic itself: server-stateless passes other than the 24 checks that need no tools" >&2
	exit 1
}
