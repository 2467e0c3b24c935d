# lesson: 26 Workspaces of libraries
# claim: torch.backends.cudnn.benchmark = True picks the fastest algorithms, and fast algorithms take a workspace:
#   switch it off where memory is short.
# run before: target=h100 : linear layers on an H100, PyTorch 2.15
# run after: target=h100 workspace=2.9 : the same with PyTorch 2.9
# run none: : tensors only
# show workspace at the peak: category(*, workspace)
# if: category(none, workspace) == 0 and category(before, workspace) > 0 and category(after, workspace) >
#   category(before, workspace)
# verdict: true when the workspace was measured, on the same GPU
# text: Which workspace an algorithm takes differs by GPU and library version and cannot be derived from the net, so
#   it is a category of its own. Measured for matrix products: {category(after, workspace)} at the peak with PyTorch
#   2.9, {category(before, workspace)} with 2.15; cuDNN's are recorded on a GPU only.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024))


def batch(n):
    return torch.randn(n, 1024), torch.randint(0, 1024, (n,))


defaults = dict(batch=256)
