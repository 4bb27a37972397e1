"""How fast trainmedic reads trackers, beside the libraries' own readers, in one run:
the same data, written by the libraries, each reader in a process of its own.

  python speed.py TRAINMEDIC [EVENTS]

needs mlflow and tensorboard (test/trackers.sh) and, for W&B's row, wandb 0.19.11:
later ones have no reader in Python. Times are processor time, user and system, the
best of five whole processes, which take turns, less what the same process takes
with a run of one value, so that nobody pays for its start; trainmedic's include
the diagnosis.
"""
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile

program, events = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"


def write_events(dir, n):
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    os.makedirs(dir)
    with open(f"{dir}/events.out.tfevents.1700000000.host.1.0", "wb") as f:
        w = RecordWriter(f)
        for i in range(n):
            v = summary_pb2.Summary.Value(tag="train/loss", simple_value=math.nan if i > n * 0.9 else 1 + 1 / (1 + i))
            w.write(event_pb2.Event(wall_time=1.7e9 + i, step=i, summary=summary_pb2.Summary(value=[v])).SerializeToString())
        w.flush()


WANDB_ROW = 20  # values of a step, as a run of some size logs


def write_wandb(dir, n):
    from wandb.proto import wandb_internal_pb2 as pb
    from wandb.sdk.internal.datastore import DataStore

    os.makedirs(dir)
    store = DataStore()
    store.open_for_write(f"{dir}/run-speed.wandb")
    for i in range(-(-n // WANDB_ROW)):
        r = pb.Record(num=i + 1)
        for k in range(min(WANDB_ROW, n)):
            v = math.nan if k == 0 and i * WANDB_ROW > n * 0.9 else 1 + 1 / (1.5 + i + k)
            r.history.item.add(nested_key=["train/loss" if k == 0 else f"train/metric_{k}"], value_json=json.dumps(v))
        for key, v in (("_step", i), ("_timestamp", 1.7e9 + i), ("_runtime", i * 1.0)):
            r.history.item.add(nested_key=[key], value_json=json.dumps(v))
        store.write(r)
    store.close()


def write_mlflow(uri, n):
    import mlflow

    c = mlflow.MlflowClient(uri)
    run = c.create_run("0", run_name="speed").info.run_id
    for i in range(0, n, 1000):
        c.log_batch(run, [mlflow.entities.Metric("train/loss", math.nan if j > n * 0.9 else 1 + 1 / (1 + j), 1_700_000_000_000 + j, j) for j in range(i, min(n, i + 1000))])
    return run


accumulator = """
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
a.Reload()
print(len(a.Scalars("train/loss")))
"""
datastore = """
import json, sys
from wandb.proto import wandb_internal_pb2 as pb
from wandb.sdk.internal.datastore import DataStore
store, n = DataStore(), 0
store.open_for_scan(sys.argv[1] + "/run-speed.wandb")
while (b := store.scan_data()) is not None:
    r = pb.Record()
    r.ParseFromString(b)
    for i in r.history.item:
        v = json.loads(i.value_json)
        n += i.nested_key[0][0] != "_"
print(n)
"""
client = """
import sys, mlflow
print(len(mlflow.MlflowClient(sys.argv[1]).get_metric_history(sys.argv[2], "train/loss")))
"""


def apart(f, *args):
    """Calls f in a process of its own: what this one holds would count as its
    children's memory."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        os.write(w, (f(*args) or "").encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as out:
        said = out.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


def best(*commands):
    """Of each command the best processor time of five, the peak memory in MB and
    what it printed."""
    seen = [(math.inf, 0, b"")] * len(commands)
    for _ in range(5):
        for i, command in enumerate(commands):
            p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            out = p.stdout.read()
            _, _, usage = os.wait4(p.pid, 0)
            seen[i] = min(seen[i][0], usage.ru_utime + usage.ru_stime), max(seen[i][1], usage.ru_maxrss / 1024), out
    return seen


def row(name, n, full, empty, peer_full, peer_empty, of_loss=1):
    (ours, peak, out), (theirs, peer_peak, peer_out), none, peer_none = best(full, peer_full, empty, peer_empty)
    count = json.loads(out)["metrics"]["loss"]["count"] * of_loss
    assert count == n, (count, n)
    assert int(peer_out.split()[-1]) == n, peer_out
    ours, theirs = ours - none[0], theirs - peer_none[0]
    print(f"| {name} | {n:,} | {n / ours:,.0f}/s | {n / theirs:,.0f}/s | {theirs / ours:.0f}x | {peak:.0f} MB | {peer_peak:.0f} MB |", flush=True)


with tempfile.TemporaryDirectory() as d:
    check = lambda flag, ref: [program, "check", flag, ref, "--json"]
    print("| tracker | values | trainmedic | library | factor | memory | library's |\n|---|---|---|---|---|---|---|")
    apart(write_events, f"{d}/tb", events)
    apart(write_events, f"{d}/tb0", 1)
    peer = lambda dir: [sys.executable, "-c", accumulator, dir]
    row("TensorBoard, EventAccumulator", events, check("--tensorboard", f"{d}/tb"), check("--tensorboard", f"{d}/tb0"), peer(f"{d}/tb"), peer(f"{d}/tb0"))
    if importlib.util.find_spec("wandb"):
        apart(write_wandb, f"{d}/wb", events)
        apart(write_wandb, f"{d}/wb0", 1)
        peer = lambda dir: [sys.executable, "-c", datastore, dir]
        row("W&B, DataStore", events, check("--wandb", f"{d}/wb"), check("--wandb", f"{d}/wb0"), peer(f"{d}/wb"), peer(f"{d}/wb0"), WANDB_ROW)
    for name, uri in (("MLflow, folder", f"file://{d}/mlruns"), ("MLflow, SQLite", f"sqlite:///{d}/mlflow.db")):
        few, full = apart(write_mlflow, uri, 1), apart(write_mlflow, uri, events)
        peer = lambda run: [sys.executable, "-c", client, uri, run]
        row(name + ", client", events, check("--mlflow", f"{uri}#{full}"), check("--mlflow", f"{uri}#{few}"), peer(full), peer(few))
    big = f"{d}/big"  # the same file again and again: ten million values
    os.makedirs(big)
    for i in range(math.ceil(10_000_000 / events)):
        os.link(f"{d}/tb/events.out.tfevents.1700000000.host.1.0", f"{big}/events.out.tfevents.{1700000000 + i}.host.1.0")
    t, peak, out = best(check("--tensorboard", big))[0]
    loss = json.loads(out)["metrics"]["loss"]
    print(f"\nTen million values: {loss['count']:,} in {t:.1f} s, {peak:.0f} MB, {loss['nonfinite_count']:,} of them not finite, the first at step {loss['first_nonfinite_step']:,}.")
