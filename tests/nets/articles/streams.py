# Streams: the next batch is copied on a stream of its own, half of the net runs on another one.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Prefetcher:
    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.next_input = torch.randn(8, 64)
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        input = self.next_input
        input.record_stream(torch.cuda.current_stream())
        self.preload()
        return input


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 64)
        self.fc = nn.Linear(64, 10)
        self.side = torch.cuda.Stream()
        self.ready = torch.cuda.Event(enable_timing=False)

    def forward(self, x):
        self.ready.record()
        self.side.wait_event(self.ready)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            y = torch.relu(self.b(x))
        x = torch.relu(self.a(x))
        torch.cuda.current_stream().wait_stream(self.side)
        y.record_stream(torch.cuda.current_stream())
        self.side.synchronize()
        torch.cuda.synchronize()
        return self.fc(x + y)


prefetchers = []


def model():
    return Net()


def batch(n):
    return torch.randn(n, 64), torch.randint(0, 10, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    if len(prefetchers) == 0:
        prefetchers.append(Prefetcher())
    more = prefetchers[0].next()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets) + F.cross_entropy(model(more), targets)
    loss.backward()
    optimizer.step()
    return loss
