#!/usr/bin/env python3
"""bench/observer_cost.py - what it costs to find out what each event of a recorded program was.

    python3 bench/observer_cost.py [NAME ...] [--runs N]     in the root of the repository, after make, with PyTorch

Each program runs under `vramscope record`, without the observer (`--observe off`) and with it, in turn. Two ratios, of
medians of processor time of all threads: of the loop alone, as the program measures it after its first steps, and of
the whole command with all of its processes, from start to end: import torch, the loop, what is read at the end, the
trace. Exit status 1 where a ratio is above the bound.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VRAMSCOPE = os.environ.get("VRAMSCOPE") or os.path.join(ROOT, "build", "vramscope")
BOUND = 3.0
WARM, RUNS = 3, 5


def plain():
    """A small network, and AdamW."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, 200


def by_hand():
    """Functions instead of modules, and an optimizer in the loop itself."""
    import torch

    sizes = [256] + 6 * [512] + [10]
    weights = [torch.randn(i, o, device="cuda", requires_grad=True) for i, o in zip(sizes, sizes[1:])]
    velocities = [torch.zeros_like(w) for w in weights]

    def step():
        x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
        for w in weights[:-1]:
            x = torch.relu(x @ w)
        torch.nn.functional.cross_entropy(x @ weights[-1], y).backward()
        with torch.no_grad():
            for w, velocity in zip(weights, velocities):
                velocity.mul_(0.9).add_(w.grad)
                w -= 0.1 * velocity
                w.grad = None

    return step, 200


def transformer():
    """12 layers under autocast, AdamW, gradients clipped."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout())

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.norm2(x))

    model = nn.Sequential(nn.Embedding(1000, 128), *(Block(128, 4) for _ in range(12)), nn.Linear(128, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        tokens = torch.randint(0, 1000, (8, 64), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, 30


def resnet50():
    """The sample net, SGD with momentum."""
    import importlib.util

    import torch

    spec = importlib.util.spec_from_file_location("net", os.path.join(ROOT, "sample_nets", "resnet50.py"))
    net = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(net)
    with torch.device("cuda"):
        model = net.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        with torch.device("cuda"):
            inputs, targets = net.batch(4)
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, 20


def trainer():
    """Trainer of transformers, a language model in bfloat16."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 1024

        def __getitem__(self, i):
            x = torch.arange(i, i + 128) % 1000
            return {"input_ids": x, "labels": x}

    class Times(TrainerCallback):
        def on_step_end(self, _, state, *rest, **named):
            if state.global_step == WARM:
                self.start = time.process_time()

        def on_train_end(self, *_, **named):
            print("LOOP", time.process_time() - self.start, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=4, max_steps=WARM + 30, bf16=True,
                                      report_to=[], logging_steps=10, save_strategy="no", disable_tqdm=True)
        model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=128, n_embd=128, n_layer=6, n_head=4))
        Trainer(model, arguments, train_dataset=Data(), callbacks=[Times()]).train()
    return None, 0


PROGRAMS = (plain, by_hand, transformer, resnet50, trainer)


def inside(name):
    import torch

    torch.set_num_threads(1)
    step, steps = next(program for program in PROGRAMS if program.__name__ == name)()
    if step is None:  # it has a loop of its own
        return
    for _ in range(WARM):
        step()
    start = time.process_time()
    for _ in range(steps):
        step()
    print("LOOP", time.process_time() - start, flush=True)


def measure(name, observe, folder):
    """Processor seconds of (the loop, the whole command)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([VRAMSCOPE, "record", "--gpu", "a100-80", "--observe", observe, "-f", "-o",
                           os.path.join(folder, "t.db"), "--", sys.executable, os.path.abspath(__file__), "--inside",
                           name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    loop = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("LOOP ")]
    if done.returncode or not loop:
        sys.exit("%s: status %d\n%s" % (name, done.returncode, done.stderr))
    return float(loop[0]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(names, runs):
    is_slow = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            times = {"off": [], "on": []}
            for _ in range(runs):
                for observe, measured in times.items():
                    measured.append(measure(name, observe, folder))
            without, with_it = ([statistics.median(t[i] for t in times[o]) for i in (0, 1)] for o in ("off", "on"))
            ratios = [b / a for a, b in zip(without, with_it)]
            is_slow |= max(ratios) > BOUND
            print("%-12s loop %.2f s, observed %.2f s: %.2f; whole command %.2f s, observed %.2f s: %.2f"
                  % (name, without[0], with_it[0], ratios[0], without[1], with_it[1], ratios[1]), flush=True)
    return is_slow


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--inside"]:
        inside(words[1])
        sys.exit(0)
    count = RUNS
    if words[-2:-1] == ["--runs"]:
        count = int(words[-1])
        words = words[:-2]
    known = [program.__name__ for program in PROGRAMS]
    if not set(words) <= set(known):
        sys.exit(__doc__)
    sys.exit(main(words or known, count))
