# Activations that must not be in place, beside ones that may: sigmoid and tanh save their
# result, mul saves its operands, a skip reads the old value again.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 20)
        self.fc2 = nn.Linear(20, 20)
        self.fc3 = nn.Linear(20, 20)
        self.after_linear = nn.ReLU()
        self.after_sigmoid = nn.ReLU()
        self.after_mul = nn.ReLU()
        self.before_skip = nn.ReLU()
        self.drop_after_relu = nn.Dropout(0.3)
        self.drop_after_softmax = nn.Dropout(0.3)

    def forward(self, x):
        a = self.after_linear(self.fc1(x))
        a = self.drop_after_relu(a)
        b = self.after_sigmoid(torch.sigmoid(self.fc2(a)))
        c = self.after_mul(a * b)
        d = c - 0.1
        e = self.before_skip(d) + d
        f = self.drop_after_softmax(F.softmax(self.fc3(e), dim=1))
        return f * 3


def model():
    return Net()


def batch(n):
    return torch.randn(n, 20), torch.randint(0, 20, (n,))


defaults = dict(batch=6)
