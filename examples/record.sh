#!/usr/bin/env bash
# Records the three examples again, from real PyTorch runs on this machine's CPU.
# Needs a python with torch: PYTHON=/path/to/python ./record.sh. Each run happens
# in a directory of its own; in the logs /home/user/run then stands for it and for
# the directories of the scripts, node-0 for this host, and nothing else is changed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
launch=$(cd "$here/../internal/diagnose/testdata/torch" && pwd)
python=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONDONTWRITEBYTECODE=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# begin DATA STEPS WARMUP LOSS: an empty run directory with its config.
begin() {
	rm -rf "$work/run"
	mkdir "$work/run"
	cd "$work/run"
	cat >config.json <<-JSON
	{
	  "data": "$1",
	  "steps": $2,
	  "batch_size": 16,
	  "num_classes": 10,
	  "lr": 0.05,
	  "warmup_steps": $3,
	  "loss": "$4"
	}
	JSON
}

# keep NAME: what the run left behind becomes the example.
keep() {
	find . -name '*.log' -exec sed -i "s#$work/run#/home/user/run#g; s#$here#/home/user/run#g; s#$launch#/home/user/run#g; s#$(hostname)#node-0#g" {} +
	cd "$here"
	rm -rf "${here:?}/$1"
	cp -r "$work/run" "$here/$1"
}

# Rank 1 meets a label that the model has no class for; torchrun then names rank
# 0 as the root cause, which only lost its peer.
begin points 60 10 torch
"$python" "$launch/launch.py" --nproc_per_node 2 --master_addr 127.0.0.1 --master_port "${PORT:-29611}" \
	--redirects 3 --log_dir logs "$here/train.py" config.json >train.log 2>&1 || true
keep two-ranks-one-raises

# After the warmup comes a point that nobody scaled, and a hand-written
# cross-entropy takes the log of a probability that has underflowed.
begin points-raw 80 40 own
"$python" "$here/train.py" config.json >train.log 2>&1
keep nan-after-warmup

# The copy of the newest checkpoint to this machine broke off; the run resumes from it.
begin points 60 10 torch
"$python" "$here/train.py" config.json >/dev/null 2>&1
rm checkpoint-60.pt
truncate -s 4000 checkpoint-40.pt
"$python" "$here/train.py" config.json --resume checkpoint-40.pt >train.log 2>&1 || true
keep torn-checkpoint-on-resume
