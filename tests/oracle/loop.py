"""tests/oracle/loop.py - the built-in training loop of the net language, on any device.

One function, so that names live and die as the page says; `observer.phase(name)` is called at
the end of every phase, `observer.loss(l)` after every loss, and where the net has a train_step
`observer.batch(pair)` before it and `observer.loss_ended(before_backward)` at the end of every
phase `loss`. All must keep no tensor.
"""
import collections
import contextlib

import torch

import distributed
import nogpu
from netfile import to_device
from own_step import OwnStep
from toggles import AMP_DTYPE


class Identity:
    """The scaler where there is no fp16."""

    def scale(self, loss):
        return loss

    def unscale_(self, optimizer):
        pass

    def step(self, optimizer):
        return optimizer.step()

    def update(self):
        pass


def cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)([cast(v, dtype) for v in value])
    if isinstance(value, dict):
        return {k: cast(v, dtype) for k, v in value.items()}
    return value


def host_batch(net, toggles):
    pair = net.batch(toggles["batch"] // toggles["accumulate"])
    if toggles["half"] == "on":
        return cast(pair, torch.float16)
    if is_deepspeed(toggles) and toggles["mp-policy"] != "off":
        return cast(pair, AMP_DTYPE[toggles["mp-policy"]])
    return pair


def is_deepspeed(toggles):
    return toggles["shard"].startswith("deepspeed")


class Prefetcher:
    """Keeps `depth` further batches on the device; the next one is loaded before the oldest is handed out."""

    def __init__(self, load, depth):
        self.load = load
        self.prefetched = collections.deque()
        for _ in range(depth):
            self.prefetched.append(load())

    def next(self):
        inputs, targets = self.prefetched.popleft()
        self.prefetched.append(self.load())
        return inputs, targets


def of_stage(pair, toggles):
    """The first stage of a pipeline gets inputs, the last one targets."""
    if toggles["shard"] != "pp":
        return pair
    return (pair[0] if toggles["rank"] == 0 else None), (pair[1] if toggles["rank"] == toggles["world"] - 1 else None)


def make_next(net, toggles, device):
    """What gives the next batch, on the device."""
    load = lambda: to_device(of_stage(host_batch(net, toggles), toggles), device)
    if toggles["prefetch"] == "off" or toggles["data"] == "once":
        return load
    return Prefetcher(load, int(toggles["prefetch"])).next


def autocast(toggles, device):
    if toggles["amp"] == "off":
        return torch.autocast(device, enabled=False)
    return torch.autocast(device, dtype=AMP_DTYPE[toggles["amp"]])


def make_scaler(toggles, device):
    if toggles["amp"] == "fp16":
        # With real values the usual first scale overflows, and the first steps would be skipped.
        real = device == "cuda" and not nogpu.active()
        return torch.amp.GradScaler(device, init_scale=1.0) if real else torch.amp.GradScaler(device)
    return Identity()


def sync_gradients(model, toggles, is_last):
    if toggles["grad-sync"] == "always" or toggles["shard"] == "off":
        return
    if toggles["shard"] == "fsdp":
        model.set_requires_gradient_sync(is_last)
    else:
        model.require_backward_grad_sync = is_last  # as no_sync() does


def has_own_step(net, toggles):
    return net.train_step is not None and toggles["grad"] == "train"


def train(net, model, optimizer, scaler, toggles, device, observer):
    """All steps of a case; `model` is on `device` and prepared."""
    if toggles["shard"] == "pp":
        train_by_pipeline(net, model, optimizer, toggles, device, observer)
    elif has_own_step(net, toggles):
        train_by_step(net, model, optimizer, scaler, toggles, device, observer)
    else:
        train_by_loop(net, model, optimizer, scaler, toggles, device, observer)


def train_by_loop(net, model, optimizer, scaler, toggles, device, observer):
    """The loop of docs/guide/net-language.md. Ends with the names alive."""
    accumulate, grad, drop = toggles["accumulate"], toggles["grad"], toggles["drop-outputs"]
    once = toggles["data"] == "once"
    next_batch = make_next(net, toggles, device)
    if once:
        inputs, targets = next_batch()
    observer.phase("setup")
    for step in range(toggles["steps"]):
        observer.step(step)
        for micro in range(accumulate):
            sync_gradients(model, toggles, micro == accumulate - 1)
            if not once:
                inputs, targets = next_batch()
            observer.phase("data")
            sequence = contextlib.ExitStack()
            sequence.enter_context(distributed.sequence_context(model, (inputs, targets), toggles))
            with torch.set_grad_enabled(grad != "no_grad"), autocast(toggles, device):
                output = model(inputs)
                observer.phase("forward")
                if accumulate > 1 and not is_deepspeed(toggles):
                    l = net.loss(output, targets) / accumulate
                else:
                    l = net.loss(output, targets)
            if drop == "early":
                del output
            observer.loss(l)
            if grad != "train":
                if drop == "on":
                    del output, l
                elif drop == "early":
                    del l
                sequence.close()
                observer.phase("loss")
                continue
            observer.phase("loss")
            if is_deepspeed(toggles):
                model.backward(l)  # which divides by the number of parts
            else:
                scaler.scale(l).backward()
            if drop == "on":
                del output, l
            elif drop == "early":
                del l
            sequence.close()
            observer.phase("backward")
            if is_deepspeed(toggles) and micro + 1 < accumulate:
                model.step()  # which counts the parts
        if grad != "train":
            continue
        scaler.step(optimizer)
        scaler.update()
        observer.phase("optimizer")
        if is_deepspeed(toggles):  # step() was the optimizer's zero_grad(), too
            observer.phase("zero_grad")
            continue
        optimizer.zero_grad(set_to_none=toggles["zero-grad"] == "none")
        observer.phase("zero_grad")
    observer.finish()


def train_by_step(net, model, optimizer, scaler, toggles, device, observer):
    """The same for a net with a train_step, which is the whole step."""
    toggles = dict(toggles, accumulate=1)
    once = toggles["data"] == "once"
    own_step = OwnStep(net, optimizer, toggles, device, observer)
    next_batch = make_next(net, toggles, device)
    if once:
        inputs, targets = next_batch()
    observer.phase("setup")
    for step in range(toggles["steps"]):
        observer.step(step)
        if not once:
            inputs, targets = next_batch()
        observer.batch((inputs, targets))
        with own_step:
            l = net.train_step(model, optimizer, scaler, inputs, targets)
        observer.loss(l)
        if toggles["drop-outputs"] != "off":
            del l
        own_step.close()
    observer.finish()


def train_by_pipeline(net, pipeline, optimizer, toggles, device, observer):
    """The loop around a schedule of torch.distributed.pipelining, as in PyTorch's tutorial."""
    grad, drop = toggles["grad"], toggles["drop-outputs"]
    once = toggles["data"] == "once"
    run = pipeline.schedule.step if grad == "train" else pipeline.schedule.eval
    words = {"return_outputs": False} if drop == "early" else {}
    next_batch = make_next(net, toggles, device)
    if once:
        inputs, targets = next_batch()
    observer.phase("setup")
    pipeline.observe(observer, grad == "train")
    for step in range(toggles["steps"]):
        observer.step(step)
        for part in range(toggles["accumulate"]):
            if not once:
                inputs, targets = next_batch()
            observer.phase("data")
            losses = []
            with torch.set_grad_enabled(grad != "no_grad"):
                if inputs is None:
                    output = run(target=targets, losses=losses, **words)
                else:
                    output = run(inputs, target=targets, losses=losses, **words)
            observer.phase("backward" if grad == "train" else "loss")
            if drop != "off":
                del output, losses
        if grad != "train":
            continue
        optimizer.step()
        observer.phase("optimizer")
        optimizer.zero_grad(set_to_none=toggles["zero-grad"] == "none")
        observer.phase("zero_grad")
    observer.finish()
