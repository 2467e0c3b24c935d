# checkpoint_sequential over a list of modules, checkpoint of a closure, a dummy tensor that requires grad.
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.utils.checkpoint import checkpoint, checkpoint_sequential
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(3 * 32 * 32, 256)]
        for i in range(6):
            layers.append(nn.Linear(256, 256))
            layers.append(nn.Dropout(0.1))
            layers.append(nn.ReLU())
        self.features = nn.Sequential(*layers)
        self.drop = nn.Dropout()
        self.fc = nn.Linear(256, 10)
        self.dummy = torch.ones(1, requires_grad=True)
    def run_drop(self, start, end, x):
        return self.drop(x)
    def custom(self, module):
        def custom_forward(*inputs):
            inputs = module(inputs[0])
            return inputs
        return custom_forward
    def forward(self, x):
        x = x.view(x.size(0), -1)
        modules = [module for k, module in self.features._modules.items()]
        x.requires_grad_()
        x = checkpoint_sequential(modules, 3, x, use_reentrant=True)
        x = checkpoint(self.custom(self.drop), x, use_reentrant=False)
        return self.fc(x)
def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
