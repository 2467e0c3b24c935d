"""tests/programs/prefetch.py - batches are copied on a stream of their own, and handed over with record_stream.

The memory of a batch is used again when the event behind its last use is complete: how soon depends on the device.
"""
import torch
from figures import figures

model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
copies = torch.cuda.Stream()


def batches(count):
    prefetched = None
    for _ in range(count):
        host = torch.randn(1024, 1024).pin_memory()
        with torch.cuda.stream(copies):
            batch = host.to("cuda", non_blocking=True)
        if prefetched is not None:
            yield prefetched
        torch.cuda.current_stream().wait_stream(copies)
        batch.record_stream(torch.cuda.current_stream())
        prefetched = batch
    yield prefetched


for x in batches(12):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
figures()
