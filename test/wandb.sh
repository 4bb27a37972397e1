#!/bin/sh
# Installs W&B's own client for the tests of internal/source/wandb, into the cache
# that they look in; nothing is done where it is there already.
set -eu
version=0.31.0
venv=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/wandb-$version
[ ! -e "$venv/ready" ] || exit 0
rm -rf "$venv"
mkdir -p "$venv"
if ! python3 -m venv "$venv" 2>/dev/null; then
	apt-get update -q
	apt-get install -q -y --no-install-recommends python3-venv
	python3 -m venv "$venv"
fi
"$venv/bin/pip" install -q --disable-pip-version-check "wandb==$version"
touch "$venv/ready"
