#!/bin/sh
# Writes docs/LICENSES.md: the modules that are linked into the program, with
# their licences as google/go-licenses recognises them.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '{{range .}}{{.Name}}\t{{.LicenseName}}\n{{end}}' >"$work/template"
go run github.com/google/go-licenses@v1.6.0 report ./cmd/trainmedic --template "$work/template" 2>"$work/said" >"$work/found" || {
	cat "$work/said" >&2
	exit 1
}
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./cmd/trainmedic | sort -u |
	awk -v found="$work/found" '
		BEGIN {
			FS = "\t"
			while ((getline <found) > 0) if ($2 != "Unknown") licence[$1] = $2
			FS = " "
			# what the tool does not recognise, as their LICENSE files say
			licence["github.com/ajstarks/svgo"] = "CC-BY-4.0"
			licence["github.com/golang/freetype"] = "FTL"
			licence["modernc.org/mathutil"] = "BSD-3-Clause"
			print "# Licences\n\nThe program is under Apache-2.0. Written by `make licenses`: the modules that are linked into it.\n\n| module | version | licence |\n|---|---|---|"
		}
		{
			all = ""
			for (name in licence) # a package of a module may have a licence of its own
				if ((name == $1 || index(name, $1 "/") == 1) && index(" " all " ", " " licence[name] " ") == 0) all = all (all == "" ? "" : " ") licence[name]
			if (all == "") { print "no licence of " $1 " is known" >"/dev/stderr"; bad = 1 }
			n = split(all, l, " ")
			for (i = 2; i <= n; i++) for (j = i; j > 1 && l[j] < l[j-1]; j--) { t = l[j]; l[j] = l[j-1]; l[j-1] = t }
			all = l[1]
			for (i = 2; i <= n; i++) all = all ", " l[i]
			print "| " $1 " | " $2 " | " all " |"
		}
		END {
			print "\nTaken over as data: the token shapes in `internal/redact/gitleaks`, MIT (LICENSE beside them)."
			exit bad
		}' >"$work/page"
mv "$work/page" docs/LICENSES.md
