# Names, arguments, lists and deletes: what keeps a value alive in the forward.
import torch
import torch.nn as nn


def twice(x):
    x = torch.sigmoid(x)
    x = x * 0.5
    return x


class Keep(nn.Module):
    def forward(self, x):
        y = x + 1
        x = y * 2
        del y
        return x - 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)
        self.keep = Keep()
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        h = self.fc(x)
        values = []
        for i in range(3):
            h = self.keep(twice(h + i))
            values.append(h * 0.1)
        a, b, c = values
        values = None
        s = a + b
        del a, b
        s = s + c if self.training else s - c
        pairs = {"s": s, "c": c}
        s = None
        x = [v * 2 for v in pairs.values()]
        total = x[0] + x[1]
        return self.out(torch.tanh(total))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 16), torch.randint(0, 3, (n,))


defaults = dict(batch=7)
