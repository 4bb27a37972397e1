"""Writes one failing run with the real W&B client, offline: its loss is NaN from
step NAN on, it alerts, and it ends with an exception. The recorded runs beside
this script were made by

    python -m venv v && v/bin/pip install wandb==VERSION
    WANDB_DIR=out v/bin/python record.py 60 40

and are named after the version.
"""

import math
import sys

import wandb

steps, nan = int(sys.argv[1]), int(sys.argv[2])
run = wandb.init(project="vision", entity="acme", name="lively-fog", mode="offline", config={"lr": 0.001, "fp16": True, "optim": {"name": "adamw"}, "wd": "1e-4"})
for step in range(1, steps + 1):
    loss = 2.5 / math.sqrt(step) if step < nan else float("nan")
    run.log({"train/loss": loss, "train/grad_norm": 1.0 if step < nan else float("inf"), "train/global_step": 10 * step, "eval": {"acc": 0.5}}, step=step)
    print(f"step {step}/{steps} loss={loss:.4f}")
run.summary["best"] = 0.25
run.alert("careful", "the loss is NaN", level="ERROR")
raise FloatingPointError("the loss is NaN")
