# bench/meta_peer.py - a training step under PyTorch on its `meta` device: the peer of bench_meta's steps.
#
# For:       docs/guide/performance.md. `python3 bench/meta_peer.py [NET.py BATCH]…` in the root of the repository; with
#            --ms before them it prints a line of two figures for each: a step, and what comes before the first.
# Invariant: the loop is the plain one (forward, loss, backward, optimizer step, zero_grad); nothing is recorded.
#            Processor time of the process, the median of STEPS steps after the first.
import importlib.util
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "oracle"))
import nogpu  # noqa: E402

if nogpu.has_cuda():
    nogpu.enter()
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

MS = sys.argv[1:2] == ["--ms"]
STEPS = 3 if MS else 15
CASES = [("sample_nets/resnet50.py", 32), ("sample_nets/resnet152.py", 32), ("sample_nets/gpt2_small.py", 4)]


def load(path):
    spec = importlib.util.spec_from_file_location("net", path)
    net = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(net)
    return net


def measure(path, batch):
    begin = time.process_time()
    net = load(path)
    adamw = getattr(net, "defaults", {}).get("optimizer") == "adamw"
    times = []
    with torch.device("meta"):
        model = net.model()
        optimizer = (torch.optim.AdamW if adamw else torch.optim.SGD)(model.parameters(), lr=0.001)
        before = time.process_time() - begin
        loss = getattr(net, "loss", F.cross_entropy)
        for step in range(STEPS + 1):
            start = time.process_time()
            inputs, targets = net.batch(batch)
            loss(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(time.process_time() - start)
    if MS:
        print(1e3 * statistics.median(times[1:]), 1e3 * before)
        return
    print(f"{path}, batch {batch}: {1e3 * statistics.median(times[1:]):.1f} ms (PyTorch {torch.__version__}, meta)")


torch.set_num_threads(1)
given = sys.argv[2:] if MS else sys.argv[1:]
cases = list(zip(given[::2], map(int, given[1::2]))) or CASES
for path, batch in cases:
    measure(path, batch)
