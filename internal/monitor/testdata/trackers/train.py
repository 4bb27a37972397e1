"""A run that writes its metrics to experiment trackers with their own libraries.
Its loss is NaN from a step on; all numbers are exact in 32 bits, so that each
tracker holds the same.

  python train.py DIR STEPS NAN TRACKER…

TRACKER is tensorboardX, tensorboard (what torch.utils.tensorboard writes with),
tensors (TensorFlow 2's form), mlflow=URI#NAME or wandb=NAME with a name for the run. With PACE in the environment a step
takes so many seconds; when three values of NaN are written, DIR/nan is made, and
the run waits until DIR/seen is there.
"""
import math
import os
import sys
import time

out, steps, nan = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
pace = float(os.environ.get("PACE", 0))


class TensorboardX:
    def __init__(self, _):
        import tensorboardX

        self.w = tensorboardX.SummaryWriter(f"{out}/tensorboardX", flush_secs=1)

    def log(self, step, values):
        for k, v in values.items():
            self.w.add_scalar(k, v, step)

    def flush(self):
        self.w.flush()  # what its thread has not taken yet stays out

    def settle(self):
        self.w.close()

    close = settle


class Tensorboard:
    def __init__(self, _):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.w, self.event, self.summary = EventFileWriter(f"{out}/tensorboard"), event_pb2.Event, summary_pb2.Summary

    def log(self, step, values):
        for k, v in values.items():
            s = self.summary(value=[self.summary.Value(tag=k, simple_value=v)])
            self.w.add_event(self.event(wall_time=time.time(), step=step, summary=s))

    def flush(self):
        self.w.flush()

    settle = flush

    def close(self):
        self.w.close()


class Tensors(Tensorboard):
    def __init__(self, _):
        from tensorboard.summary import Writer

        self.w = Writer(f"{out}/tensors")

    def log(self, step, values):
        for k, v in values.items():
            self.w.add_scalar(k, v, step)


class MLflow:
    def __init__(self, store):
        import mlflow

        uri, _, name = store.partition("#")
        self.client = mlflow.MlflowClient(uri)
        self.metric = mlflow.entities.Metric
        self.id = self.client.create_run("0", run_name=name).info.run_id
        self.client.log_param(self.id, "optim/lr", 0.5)
        self.batch = []

    def log(self, step, values):
        now = int(time.time() * 1000)
        self.batch += [self.metric(k, v, now, step) for k, v in values.items()]
        if len(self.batch) > 900:
            self.flush()

    def flush(self):
        self.client.log_batch(self.id, self.batch)
        self.batch = []

    def settle(self):
        pass

    def close(self):
        self.flush()
        self.client.set_terminated(self.id)


class WandB:
    def __init__(self, name):
        import wandb

        settings = wandb.Settings(console="off", x_disable_stats=True, x_disable_meta=True, silent=True)
        self.run = wandb.init(project="trackers", name=name, mode="offline", dir=out, config={"optim/lr": 0.5}, settings=settings)

    def log(self, step, values):
        self.run.log(values, step=step)

    def flush(self):
        pass

    settle = flush

    def close(self):
        self.run.finish()


makers = {"wandb": WandB, "tensorboardX": TensorboardX, "tensorboard": Tensorboard, "tensors": Tensors, "mlflow": MLflow}
trackers = []
for t in sys.argv[4:]:
    name, _, uri = t.partition("=")
    trackers.append(makers[name](uri))
for step in range(1, steps + 1):
    values = {"train/loss": math.nan if step >= nan else 2 + 64 / 2 ** (step % 16 + step // 16), "train/lr": 1 / 2 ** (step // 64), "val/loss": 3.5}
    for t in trackers:
        t.log(step, values)
    if pace:
        for t in trackers:
            t.flush()
        time.sleep(pace)
    if pace and step == nan + 2:
        for t in trackers:
            t.settle()
        open(f"{out}/nan", "w").close()
        while not os.path.exists(f"{out}/seen"):
            time.sleep(0.02)
for t in trackers:
    t.close()
