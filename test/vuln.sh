#!/bin/sh
# Looks for known vulnerabilities in what the program calls. Where the database
# (vuln.go.dev, or GOVULNDB) cannot be reached nothing is known, and it says so;
# with STRICT=1 that is a failure.
set -u
cd "$(dirname "$0")/.."
out=$(go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./... 2>&1)
code=$?
echo "$out"
case $out in
*"fetching vulnerabilities"*)
	echo "NOT CHECKED: the vulnerability database cannot be reached from here" >&2
	[ -z "${STRICT:-}" ] && exit 0
	;;
esac
exit $code
