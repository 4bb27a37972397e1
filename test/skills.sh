#!/bin/sh
# Installs the reference library of Agent Skills for the tests of packaging, into
# the cache that they look in; nothing is done where it is there already.
set -eu
version=0.1.1
venv=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/skills-ref-$version
[ ! -e "$venv/ready" ] || exit 0
rm -rf "$venv"
mkdir -p "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check "skills-ref==$version"
touch "$venv/ready"
