"""Writes with torch.utils.tensorboard's SummaryWriter, and prints the scalars that
a reader should find, one "name@step=value" a line.

  python summary.py DIR

DIR/once is a run with add_scalars and add_hparams, DIR/resumed one that stopped at
step 7 and went on from step 5 with purge_step. All numbers are exact in 32 bits.
"""
import math
import sys

from torch.utils.tensorboard import SummaryWriter

out = sys.argv[1]


def tell(run, name, step, value):
    print(f"{run} {name}@{step}={value}")


w = SummaryWriter(f"{out}/once")
for step in range(1, 11):
    loss = math.nan if step > 8 else 4 / 2**step
    w.add_scalar("train/loss", loss, step)
    tell("once", "train/loss", step, loss)
    w.add_scalars("acc", {"train": step / 16, "val": step / 32}, step)
    tell("once", "acc_train", step, step / 16)
    tell("once", "acc_val", step, step / 32)
w.add_hparams({"lr": 0.5, "optimizer": "adam"}, {"hparam/best": 0.25})
tell("once", "hparam/best", 0, 0.25)
w.close()

for purge, steps, base in ((None, range(1, 8), 1), (5, range(5, 10), 64)):
    w = SummaryWriter(f"{out}/resumed", purge_step=purge)
    for step in steps:
        w.add_scalar("train/loss", base + step, step)
        tell("resumed", "train/loss", step, float(base + step))
    w.close()
