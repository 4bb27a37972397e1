"""A run whose loss is NaN from a known step on, told to W&B, offline, and to a log.

    train.py LOG STEPS NAN SECONDS [EXIT]

It takes SECONDS for a step and ends with EXIT: none (0), raise, or kill.
"""

import os
import signal
import sys
import time
import traceback

import wandb

log, steps, nan, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
how = sys.argv[5] if len(sys.argv) > 5 else ""
run = wandb.init(project="vision", entity="acme", mode="offline", config={"lr": 0.001})
with open(log, "w") as out:
    for step in range(1, steps + 1):
        loss = 2.5 / step**0.5 if step < nan else float("nan")
        norm = 1.0 + step % 7 / 10 if step < nan else float("inf")
        # One line's worth, and padding: the client writes blocks of 32 KB.
        run.log({"loss": loss, "grad_norm": norm, "lr": 0.001, "note": "x" * 400}, step=step)
        print(f"step {step}/{steps} loss={loss!r} grad_norm={norm!r} lr=0.001", file=out, flush=True)
        time.sleep(seconds)
if how == "raise":
    try:
        raise FloatingPointError("loss is nan, stopping")
    except FloatingPointError:
        with open(log, "a") as out:
            traceback.print_exc(file=out)
        raise
if how == "kill":
    time.sleep(2)  # the client's own process takes the rows in
    os.kill(os.getpid(), signal.SIGKILL)
run.finish()
