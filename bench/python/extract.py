"""Reads the metrics of a log as a script would: one compiled regular expression for the format, the values as floats in columns.

    extract.py FORMAT LOG

FORMAT "mixed" tries the expression that matched last, then the others. Prints how many lines matched.
"""

import array
import re
import sys

NUMBER = r"([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?)"  # where a pattern below says NUM
BAR = r"(\d+)%\|[^|]*\| (\d+)/(\d+) \[[\d:]+<[\d:]+, +NUMit/s"
FORMATS = {
    "hf": (r"^\{'loss': NUM, 'grad_norm': NUM, 'learning_rate': NUM, 'epoch': NUM\}", "loss grad_norm lr epoch"),
    "megatron": (
        r"iteration +(\d+)/ +(\d+) \| consumed samples: +(\d+) \| elapsed time per iteration \(ms\): NUM \| throughput per GPU \(TFLOP/s/GPU\): NUM"
        r" \| learning rate: NUM \| global batch size: +(\d+) \| lm loss: NUM \| loss scale: NUM \| grad norm: NUM \|"
        r" number of skipped iterations: +(\d+) \| number of nan iterations: +(\d+)",
        "step total samples ms tflops lr batch loss scale grad_norm skipped nan",
    ),
    "json": (
        r'^\{"step": (\d+), "epoch": NUM, "train/loss": NUM, "lr": NUM, "grad_norm": NUM, "samples_per_sec": NUM, "mem_gb": NUM, "time": NUM',
        "step epoch loss lr grad_norm sps mem time",
    ),
    "keyvalue": (
        r"\| train_inner \| epoch=(\d+) step=(\d+) loss=NUM ppl=NUM lr=NUM grad_norm=NUM samples/s=NUM ups=NUM mem=NUMGB wall=(\d+)",
        "epoch step loss ppl lr grad_norm sps ups mem wall",
    ),
    "fairseq": (
        r"\| train \| epoch (\d+): +(\d+) / (\d+) loss=NUM, nll_loss=NUM, ppl=NUM, wps=NUM, ups=NUM, wpb=NUM, bsz=(\d+), num_updates=(\d+), lr=NUM, gnorm=NUM,"
        r" clip=NUM, loss_scale=NUM, train_wall=(\d+), gb_free=NUM, wall=(\d+)",
        "epoch n total loss nll ppl wps ups wpb bsz step lr grad_norm clip scale train_wall free wall",
    ),
    "tqdm": (r"^ *" + BAR + r"\]", "percent step total rate"),
    "lightning": (
        r"^Epoch (\d+): +" + BAR + r", loss=NUM, v_num=\d+, train_loss_step=NUM, lr-AdamW=NUM\]",
        "epoch percent step total rate loss step_loss lr",
    ),
    "keras": (r"^ *(\d+)/(\d+) \[[=>.]*\] - ETA: \d+s - loss: NUM - accuracy: NUM", "step total loss accuracy"),
    "deepspeed": (
        r"\[Rank 0\] step=(\d+), skipped=(\d+), lr=\[NUM\], mom=\[\(NUM, NUM\)\], loss=NUM, RunningAvgSamplesPerSec=NUM, CurrSamplesPerSec=NUM,"
        r" MemAllocated=NUMGB, MaxMemAllocated=NUMGB",
        "step skipped lr mom1 mom2 loss avg_sps sps mem max_mem",
    ),
}


def main(name, path):
    chosen = FORMATS if name == "mixed" else {name: FORMATS[name]}
    readers = []
    for pattern, columns in chosen.values():
        search = re.compile(pattern.replace("NUM", NUMBER)).search
        readers.append((search, [array.array("d") for _ in columns.split()]))
    matched = 0
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            for i, (search, columns) in enumerate(readers):
                m = search(line)
                if m:
                    matched += 1
                    for column, value in zip(columns, m.groups()):
                        column.append(float(value))
                    if i:
                        readers.insert(0, readers.pop(i))
                    break
    print(matched)


main(sys.argv[1], sys.argv[2])
