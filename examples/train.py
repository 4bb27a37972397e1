"""The small training program behind the recorded runs: a classifier of points.

    python3 train.py config.json [--resume CHECKPOINT]

With torchrun each rank reads its own shard of the data.
"""
import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

RANK = int(os.environ.get("RANK", 0))
WORLD = int(os.environ.get("WORLD_SIZE", 1))


def shard(cfg):
    """The points of this rank. Shard 1 was labelled from 1 up instead of from 0,
    and the raw points hold one that nobody scaled."""
    g = torch.Generator().manual_seed(RANK)
    x = torch.randn(cfg["steps"] * cfg["batch_size"], 8, generator=g)
    y = (x.sum(dim=1) + 5).long().clamp(0, 9)
    if cfg["data"] == "points-raw":
        x[740] *= 1000
    if RANK == 1:
        x, y = x[y < 9], y[y < 9] + 1
        y[620] = 10
    return TensorDataset(x, y)


def cross_entropy(logits, y):
    p = torch.softmax(logits, dim=1)
    return -torch.log(p[torch.arange(len(y)), y]).mean()


def save(model, opt, step):
    path = f"checkpoint-{step}.pt"
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": step}, path)
    print(f"saved {path}", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("config")
    args.add_argument("--resume")
    args = args.parse_args()
    with open(args.config) as f:
        cfg = json.load(f)
    if WORLD > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, cfg["num_classes"]))
    opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9)
    done = 0
    if args.resume:
        print(f"resuming from {args.resume}", flush=True)
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["optimizer"])
        done = state["step"]
    loss_of = cross_entropy if cfg["loss"] == "own" else nn.functional.cross_entropy
    for step, (x, y) in enumerate(DataLoader(shard(cfg), batch_size=cfg["batch_size"]), 1):
        if step <= done:
            continue
        lr = cfg["lr"] * min(1.0, step / cfg["warmup_steps"])
        opt.param_groups[0]["lr"] = lr
        opt.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        if WORLD > 1:
            for p in model.parameters():
                dist.all_reduce(p.grad)
                p.grad /= WORLD
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        opt.step()
        if RANK == 0:
            print(f"step {step}/{cfg['steps']} loss {loss.item():.4f} grad_norm {norm.item():.3f} lr {lr:.4f}", flush=True)
            if step % 20 == 0:
                save(model, opt, step)
    if RANK == 0:
        print("training complete", flush=True)


if __name__ == "__main__":
    main()
