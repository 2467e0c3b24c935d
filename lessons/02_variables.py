# lesson: 2 A variable for every intermediate value
# claim: Do not name every intermediate value x0, x1, x2 and so on. Bind one name again and again, so that each
#   tensor is freed as soon as the next one exists.
# run before: steps=1 : x0 to x6, trained
# run after: REBIND=True steps=1 : one name, trained
# run names: grad=no_grad steps=1 : x0 to x6, under no_grad
# run rebind: REBIND=True grad=no_grad steps=1 : one name, under no_grad
# show of the forward: top(*, forward, 0) - after(*, data, 0)
# known a chain of 6 ops has 7 tensors of 16 MiB alive, and 2 with one name, without autograd: floor((top(names,
#   forward, 0) - after(names, data, 0)) / (16 * MiB)) == 7 and floor((top(rebind, forward, 0) - after(rebind, data,
#   0)) / (16 * MiB)) == 2
# if: peak(after) == peak(before) and peak(rebind) < peak(names)
# verdict: true when autograd does not keep the values anyway
# text: In training each of these tensors is saved as the input of the next convolution, so the peak is
#   {peak(before)} with seven names and {peak(after)} with one. Under no_grad nothing is saved, and the names are
#   all that keeps the tensors: {peak(names)} against {peak(rebind)}.
import torch
import torch.nn as nn

REBIND = False


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv1 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv4 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv5 = nn.Conv2d(16, 16, 3, padding=1)
        self.conv6 = nn.Conv2d(16, 16, 3, padding=1)
        self.fc = nn.Linear(16, 10)

    def names(self, x):
        x0 = self.conv0(x)
        x1 = self.conv1(x0)
        x2 = self.conv2(x1)
        x3 = self.conv3(x2)
        x4 = self.conv4(x3)
        x5 = self.conv5(x4)
        x6 = self.conv6(x5)
        return self.fc(x6.mean((2, 3)))

    def rebind(self, x):
        x = self.conv0(x)
        x = self.conv1(x)
        x = self.conv2(x)
        x = self.conv3(x)
        x = self.conv4(x)
        x = self.conv5(x)
        x = self.conv6(x)
        return self.fc(x.mean((2, 3)))

    def forward(self, x):
        return self.rebind(x) if REBIND else self.names(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
