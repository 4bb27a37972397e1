"""A small real training run that can be made to fail in one way.

    python3 train.py SCENARIO                               alone
    python3 launch.py ARGS-OF-TORCHRUN train.py SCENARIO    with ranks

STEP_SECONDS is how long a step waits, for those who watch it run.

Nothing is imitated: layers, DataLoader workers, checkpoints and gloo
collectives are torch's own, and so is every message of a failure.
"""
import ctypes
import datetime
import os
import resource
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

SCENARIO = sys.argv[1] if len(sys.argv) > 1 else "ok"
RANK = int(os.environ.get("RANK", 0))
WORLD = int(os.environ.get("WORLD_SIZE", 1))
STEPS, BATCH, WIDTH, CLASSES = 60, 16, 8, 10
FAILS_AT = 31  # on the last rank
PACE = float(os.environ.get("STEP_SECONDS", 0))


class Points(Dataset):
    """Points with the class that they fall into."""

    def __init__(self):
        g = torch.Generator().manual_seed(RANK)
        self.x = torch.randn(STEPS * BATCH, WIDTH, generator=g)
        self.y = (self.x.sum(dim=1) + CLASSES / 2).long().clamp(0, CLASSES - 1)
        self.hurt = (FAILS_AT - 1) * BATCH + 5

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        record = {"features": self.x[i], "label": self.y[i]}
        if i == self.hurt and SCENARIO == "loader-raise":
            del record["label"]
        if i == self.hurt and SCENARIO == "loader-killed":
            time.sleep(1)  # until the training loop waits for this very batch
            os.kill(os.getpid(), signal.SIGKILL)
        if i == self.hurt and SCENARIO == "loader-hang":
            time.sleep(3600)
        if i == self.hurt and SCENARIO in ("ragged", "ragged-worker"):
            record["features"] = record["features"][:-1]
        return record["features"], record["label"]


def rate(step):
    """Linear warmup; one scenario warms up to a rate at which SGD diverges."""
    top = 0.8 if SCENARIO == "diverge" else 0.5
    return top * min(1.0, step / 25)


def build():
    width = WIDTH + 1 if SCENARIO == "shape" else WIDTH
    if SCENARIO == "diverge":  # a linear regression: nothing saturates
        return nn.Linear(width, 1)
    hidden = 256 if SCENARIO == "resume-torn-short" else 32
    return nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, CLASSES))


def loss_of(model, x, y, step):
    out = model(x)
    if SCENARIO == "diverge":
        return nn.functional.mse_loss(out.squeeze(1), y.float())
    loss = nn.functional.cross_entropy(out, y)
    if SCENARIO == "nan":  # the root of 0 has no gradient, and step 31 has the same point twice
        if step == FAILS_AT:
            out = torch.cat([out, out[:1], out[:1]])
        gap = out[1:] - out[:-1]
        loss = loss + 0.01 * (gap ** 2).sum(dim=1).sqrt().mean()
    return loss


def save(model, step):
    path = f"checkpoint-{step}.pt"
    if SCENARIO == "disk-full" and step == 40:
        os.symlink("/dev/full", path)
    state = {"model": model.state_dict(), "step": step}
    if SCENARIO == "disk-fills":
        state["history"] = torch.zeros(1 << 20)
    torch.save(state, path)
    print(f"saved {path}", flush=True)


def resume(model):
    """Resume from a checkpoint that a cut-off copy left torn; torch words it by the length that is left."""
    save(model, 40)
    os.truncate("checkpoint-40.pt", 8000 if SCENARIO == "resume-torn-short" else 3000)
    print("resuming from checkpoint-40.pt", flush=True)
    model.load_state_dict(torch.load("checkpoint-40.pt")["model"])


def fail(step, x, y, group):
    """What happens to the last rank between backward and the all-reduce."""
    if step != FAILS_AT or RANK != WORLD - 1:
        return
    if SCENARIO == "raise":
        label = int(y[0]) + 12
        raise ValueError(f"label {label} is out of range for {CLASSES} classes")
    if SCENARIO == "sigkill":
        os.kill(os.getpid(), signal.SIGKILL)
    if SCENARIO == "sigterm":
        os.kill(os.getpid(), signal.SIGTERM)
    if SCENARIO == "segfault":
        ctypes.string_at(0)
    if SCENARIO == "hang":
        time.sleep(3600)
    if SCENARIO == "mismatch":
        dist.all_reduce(torch.zeros(3), group=group)
    if SCENARIO == "shape-one-rank":
        x[:, :-1] @ torch.zeros(WIDTH, 2)
    if SCENARIO == "host-oom":
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        torch.zeros(4 << 30)
    if SCENARIO == "cgroup-oom":  # whoever starts it sets the limit
        kept = []
        while True:
            kept.append(torch.ones(2 << 20))


def main():
    if SCENARIO == "missing-module":
        import flash_attention_of_nobody  # noqa: F401
    group = None
    if WORLD > 1:
        dist.init_process_group("gloo")
        group = dist.new_group(timeout=datetime.timedelta(seconds=8 if SCENARIO == "hang" else 60))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = build()
    if SCENARIO.startswith("resume"):
        resume(model)
    workers = 1 if SCENARIO in ("loader-raise", "loader-killed", "loader-hang", "ragged-worker") else 0
    data = DataLoader(Points(), batch_size=BATCH, num_workers=workers)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    if RANK == 0:
        print(f"training on {WORLD} rank(s): {len(data)} steps, batch {BATCH}", flush=True)
    for step, (x, y) in enumerate(data, 1):
        opt.param_groups[0]["lr"] = rate(step)
        opt.zero_grad()
        loss = loss_of(model, x, y, step)
        loss.backward()
        fail(step, x, y, group)
        time.sleep(PACE * 3 if SCENARIO == "slow" and step >= FAILS_AT else PACE)
        if WORLD > 1:
            for p in model.parameters():
                dist.all_reduce(p.grad, group=group)
                p.grad /= WORLD
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        opt.step()
        if RANK == 0:
            print(f"step {step}/{STEPS} loss {loss.item():.4f} grad_norm {norm.item():.3f} lr {rate(step):.4f}", flush=True)
            if step % (10 if SCENARIO == "disk-fills" else 20) == 0:
                save(model, step)
    if RANK == 0:
        print("training complete", flush=True)


if __name__ == "__main__":
    main()
