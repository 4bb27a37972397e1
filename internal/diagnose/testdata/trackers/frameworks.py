"""Records what frameworks write of the same failing run: 40 steps, the loss is
NaN from step 21 on.

  python frameworks.py OUT
"""
import json, math, os, sys, warnings

warnings.filterwarnings("ignore")
os.environ.update(KERAS_BACKEND="torch", CUDA_VISIBLE_DEVICES="", TRANSFORMERS_OFFLINE="1")
out = sys.argv[1]
import torch

STEPS, NAN = 40, 21
torch.manual_seed(0)


class Data(torch.utils.data.Dataset):
    """One sample a step; the batch of step NAN poisons the weights."""

    def __len__(self):
        return STEPS

    def __getitem__(self, i):
        x = torch.ones(4) * (math.nan if i + 1 == NAN else 1 + i % 3)
        return {"x": x, "labels": torch.ones(1)}


def trainer():
    import transformers

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(4, 1)

        def forward(self, x, labels=None):
            y = self.l(x)
            return {"loss": ((y - labels) ** 2).mean(), "logits": y}

    class Trainer(transformers.Trainer):
        def _get_train_sampler(self, *_):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    t = Trainer(Model(), transformers.TrainingArguments(
        f"{out}/transformers", max_steps=STEPS, per_device_train_batch_size=1, logging_steps=1, save_steps=STEPS, logging_nan_inf_filter=False,
        report_to=["tensorboard"], use_cpu=True, remove_unused_columns=False, disable_tqdm=True, learning_rate=1e-3), train_dataset=Data())
    r = t.train()
    t.save_metrics("all", r.metrics)
    t.save_state()
    return transformers.__version__


def lightning():
    import lightning as L
    from lightning.pytorch.loggers import CSVLogger

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(4, 1)

        def training_step(self, batch, _):
            loss = ((self.l(batch["x"]) - batch["labels"]) ** 2).mean()
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", ((self.l(batch["x"]) - batch["labels"]) ** 2).mean())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    data = torch.utils.data.DataLoader(Data())
    L.Trainer(max_steps=STEPS, max_epochs=1, logger=CSVLogger(f"{out}/lightning", name=""), log_every_n_steps=1, accelerator="cpu", enable_progress_bar=False,
              enable_checkpointing=False, enable_model_summary=False, num_sanity_val_steps=0).fit(Module(), data, data)
    return L.__version__


def keras():
    import keras, numpy

    x = numpy.ones((8, 4))
    m = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    m.compile("sgd", "mse", metrics=["mae"])

    class Poison(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 3:
                m.set_weights([w * math.nan for w in m.get_weights()])

    os.makedirs(f"{out}/keras", exist_ok=True)
    m.fit(x, numpy.ones((8, 1)), epochs=6, verbose=0, validation_split=0.5, callbacks=[Poison(), keras.callbacks.CSVLogger(f"{out}/keras/training.csv")])
    return keras.__version__


versions = {"torch": torch.__version__}
for f in (trainer, lightning, keras):
    versions[f.__name__] = f()
with open(f"{out}/versions.json", "w") as f:
    json.dump(versions, f, indent=1)
