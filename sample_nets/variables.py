# Every value of the forward in a variable of its own: x0 to x6.
# Lesson: the names keep the values before each ReLU alive that autograd has no use for.
# Compare variables_rebind.py, with gradients and under grad = no_grad.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x0 = x
        x1 = self.conv1(x0)
        x2 = self.relu(x1)
        x3 = self.conv2(x2)
        x4 = self.relu(x3)
        x5 = self.conv3(x4)
        x6 = self.relu(x5)
        return self.fc(x6.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
