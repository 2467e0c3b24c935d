# The net of variables.py with one name bound again and again.
# Lesson: a value goes as soon as the next one exists, unless autograd saved it.
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
        x = self.conv1(x)
        x = self.relu(x)
        x = self.conv2(x)
        x = self.relu(x)
        x = self.conv3(x)
        x = self.relu(x)
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
