# One LSTM layer written out cell by cell: chunks, gates, a chain through time.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.ih = nn.Linear(10, 4 * 16)
        self.hh = nn.Linear(16, 4 * 16)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 16, dtype=x.dtype, device=x.device)
        c = torch.zeros(x.shape[0], 16, dtype=x.dtype, device=x.device)
        for t in range(x.shape[1]):
            i, f, g, o = (self.ih(x[:, t]) + self.hh(h)).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.fc(h)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 6, 10), torch.randint(0, 5, (n,))


defaults = dict(batch=4)
