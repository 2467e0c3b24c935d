"""tests/oracle/netfile.py - net files under real PyTorch: load one, read its settings, run the hooks it defines."""
import importlib.util

import torch
import torch.nn.functional as F

DEFAULTS = {"batch": 8, "steps": 3, "optimizer": "sgd", "data": "fresh"}
DEFAULT_LR = {"sgd": 0.01, "momentum": 0.01, "adam": 0.001, "adamw": 0.001}


class NetFile:
    def __init__(self, path):
        spec = importlib.util.spec_from_file_location("net", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.path = path
        self.model = module.model
        self.batch = module.batch
        self.own_loss = getattr(module, "loss", None)
        self.train_step = getattr(module, "train_step", None)
        self.optimizer = getattr(module, "optimizer", None)
        self.defaults = dict(getattr(module, "defaults", {}))

    @property
    def loss(self):
        """Looked up at each use: chunk-loss replaces F.cross_entropy."""
        return self.own_loss or F.cross_entropy


class no_initialisation:
    """Weights stay what torch.empty gives: no time spent, no page touched."""

    NAMES = ("uniform_", "normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_",
             "xavier_normal_", "trunc_normal_", "ones_", "zeros_", "constant_")

    def __enter__(self):
        self.kept = {n: getattr(torch.nn.init, n) for n in self.NAMES}
        for n in self.NAMES:
            setattr(torch.nn.init, n, lambda t, *a, **k: t)

    def __exit__(self, *e):
        for n, f in self.kept.items():
            setattr(torch.nn.init, n, f)


def to_device(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, (list, tuple)):
        return type(value)([to_device(v, device) for v in value])
    if isinstance(value, dict):
        return {k: to_device(v, device) for k, v in value.items()}
    return value
