#!/bin/sh
# Fuzzes every target of the tree, one after another, FUZZTIME each (5m). What is
# found lies below the package's testdata/fuzz, to be committed as a seed; the
# others are fuzzed all the same. FUZZ chooses targets by an expression over
# PACKAGE:TARGET.
set -u
cd "$(dirname "$0")/.."
failed=""
targets=$(grep -rn --include='*_test.go' '^func Fuzz' . | sed 's|^\(.*\)/[^/]*_test.go:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\)(.*|\1:\2|' | grep -E "${FUZZ:-.}" | sort -u)
for target in $targets; do
	echo "== $target"
	go test -run '^$' -fuzz "^${target#*:}\$" -fuzztime "${FUZZTIME:-5m}" -fuzzminimizetime 5s "${target%:*}" || failed="$failed $target"
done
echo "== $(echo "$targets" | wc -l) targets"
if [ -n "$failed" ]; then
	echo "failed:$failed"
	git status --short -- '*/testdata/fuzz/*'
	exit 1
fi
