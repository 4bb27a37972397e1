#!/bin/sh
# Installs the libraries of the experiment trackers that the tests let write, into
# a folder of their own outside the tree.
set -eu
versions="mlflow==3.17.2 tensorboard==2.21.0 tensorboardX==2.6.5"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/trackers"
if [ "$(cat "$dir/versions" 2>/dev/null)" = "$versions" ]; then
	exit 0
fi
rm -rf "$dir"
if ! python3 -m venv "$dir" 2>/dev/null; then
	apt-get update -q
	apt-get install -q -y --no-install-recommends python3-venv
	python3 -m venv "$dir"
fi
# shellcheck disable=SC2086 # a list
"$dir/bin/pip" install --quiet --disable-pip-version-check $versions
echo "$versions" >"$dir/versions"
