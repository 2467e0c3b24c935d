"""tests/programs/frameworks/mmengine_toy.py [fsdp] [accumulate] - MMEngine's Runner on a toy model.

fsdp: by torchrun, with the FSDP strategy; accumulate: accumulative_counts=4.
"""
import sys
import tempfile

import torch
from figures import figures
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


class ToyModel(BaseModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(500, 500) for _ in range(8))

    def forward(self, inputs, data_samples=None, mode="tensor"):
        x = inputs
        for layer in self.layers:
            x = layer(x).relu()
        return {"loss": (x - data_samples).square().mean()} if mode == "loss" else x


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return {"inputs": torch.ones(500), "data_samples": torch.ones(500)}


wrapper = {"type": "OptimWrapper", "optimizer": {"type": "SGD", "lr": 0.01, "momentum": 0.9}}
if "accumulate" in sys.argv:
    wrapper["accumulative_counts"] = 4
loader = {"batch_size": 4, "num_workers": 0, "collate_fn": {"type": "default_collate"},
          "sampler": {"type": "DefaultSampler", "shuffle": False}, "dataset": Data()}
with tempfile.TemporaryDirectory() as folder:
    settings = {"model": ToyModel(), "work_dir": folder, "train_dataloader": loader, "optim_wrapper": wrapper,
                "train_cfg": {"by_epoch": True, "max_epochs": 1},
                "default_hooks": {"checkpoint": None, "logger": {"type": "LoggerHook", "interval": 4}}}
    if "fsdp" in sys.argv:
        from mmengine.registry import FUNCTIONS
        from mmengine.runner._flexible_runner import FlexibleRunner

        FUNCTIONS.register_module(module=size_based_auto_wrap_policy, force=True)
        settings["strategy"] = {"type": "FSDPStrategy", "model_wrapper": {
            "auto_wrap_policy": {"type": "size_based_auto_wrap_policy", "min_num_params": 200000}}}
        FlexibleRunner(**settings).train()
    else:
        Runner(**settings).train()
figures()
