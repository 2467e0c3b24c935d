"""tests/programs/observed/sample.py NET STEPS - a net file, trained by PyTorch as `vramscope record NET --steps STEPS`
trains it.
"""
import importlib.util
import sys

import torch
import torch.nn.functional as F
from figures import figures


def loaded(path):
    spec = importlib.util.spec_from_file_location("net", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_device(value):
    if isinstance(value, (list, tuple)):
        return type(value)([on_device(one) for one in value])
    return value.to("cuda")


def optimizer_of(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    kind = settings.get("optimizer", "sgd")
    if kind == "adamw":
        return torch.optim.AdamW(parameters, lr=settings.get("lr", 0.001))
    return torch.optim.SGD(parameters, lr=settings.get("lr", 0.01), momentum=0.9 if kind == "momentum" else 0)


net = loaded(sys.argv[1])
settings = {"batch": 8, **getattr(net, "defaults", {})}
assert set(settings) <= {"batch", "steps", "optimizer", "lr", "data"}, settings
loss = getattr(net, "loss", None) or F.cross_entropy
# The loop stands here, because its names live until the end, as those of a net file do.
model = net.model().to("cuda")
optimizer = net.optimizer(model) if hasattr(net, "optimizer") else optimizer_of(model)
if settings.get("data") == "once":
    inputs, targets = on_device(net.batch(settings["batch"]))
for _ in range(int(sys.argv[2])):
    if settings.get("data") != "once":
        inputs, targets = on_device(net.batch(settings["batch"]))
    output = model(inputs)
    value = loss(output, targets)
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
figures()
