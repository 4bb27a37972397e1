#!/bin/sh
# Builds the commit at hand twice, in two clones with a build cache each, and
# wants the same bytes.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
commit=$(git rev-parse HEAD)
trap 'rm -rf "$work"' EXIT
for n in one another/and/longer; do
	git clone -q --no-local . "$work/$n"
	git -C "$work/$n" checkout -q --detach "$commit"
	(cd "$work/$n" && GOCACHE="$work/cache-${n%%/*}" make --no-print-directory release >/dev/null 2>"$work/said") || { cat "$work/said" >&2; exit 1; }
	sha256sum "$work/$n/trainmedic" | cut -d' ' -f1
done | tee "$work/sums"
[ "$(sort -u "$work/sums" | wc -l)" = 1 ] || { echo "FAIL reproducible: two builds, two hashes" >&2; exit 1; }
