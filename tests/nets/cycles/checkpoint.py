# A checkpointed function holds its own result, whose history holds the call.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        kept = []
        
        def square(a):
            kept.append(a)
            return a * a
        
        y = checkpoint(square, self.fc(x), use_reentrant=False)
        kept.append(y)
        return self.fc(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))


defaults = dict(batch=4, steps=3)
