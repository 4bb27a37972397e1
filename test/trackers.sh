#!/bin/sh
# Installs the libraries of the experiment trackers that the tests let write, into
# folders of their own outside the tree. Flask-WTF is what MLflow's basic-auth
# needs. Where the system's Python has torch, a second folder lets it find
# TensorBoard: torch.utils.tensorboard writes with both.
set -eu
tensorboard="tensorboard==2.21.0"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic"

# install FOLDER PYTHON OPTION PACKAGES makes a virtual environment, unless it is there.
install() {
	dir="$1" python="$2" option="$3"
	shift 3
	if [ "$(cat "$dir/versions" 2>/dev/null)" = "$*" ]; then
		return
	fi
	rm -rf "$dir"
	if ! "$python" -m venv "$option" "$dir" 2>/dev/null; then
		apt-get update -q
		apt-get install -q -y --no-install-recommends python3-venv
		"$python" -m venv "$option" "$dir"
	fi
	"$dir/bin/pip" install --quiet --disable-pip-version-check "$@"
	echo "$*" >"$dir/versions"
}

install "$cache/trackers" python3 --clear mlflow==3.17.2 Flask-WTF==1.3.0 "$tensorboard" tensorboardX==2.6.5 wandb==0.31.0
if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
	install "$cache/trackers-torch" /usr/bin/python3 --system-site-packages "$tensorboard"
fi
