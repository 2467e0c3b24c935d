"""tests/programs/observed/out_of_memory_places.py - memory runs out in a module, and in a node of backward."""
import torch
from figures import figures
from torch import nn

net = nn.Sequential(nn.Sequential(nn.Linear(8, 1 << 14))).cuda()
x = torch.randn(1 << 16, 8, device="cuda")
hold = torch.empty(9 << 30, dtype=torch.uint8, device="cuda")
try:
    net(x)  # 4 GiB
except torch.cuda.OutOfMemoryError:
    print("FORWARD")
del hold
y = net(x)
z = y.pow(2)
try:
    z.backward(y)  # the gradient of y: a third one
except torch.cuda.OutOfMemoryError:
    print("BACKWARD")
figures()
