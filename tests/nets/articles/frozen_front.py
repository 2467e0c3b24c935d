# Frozen layers in eval mode under no_grad; the optimizer gets what filter() leaves.
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.fc = nn.Linear(8, 10)
    def forward(self, x):
        with torch.no_grad():
            x = self.front(x)
        return self.fc(x.mean((-2, -1)))
def freeze(model):
    for name, child in model.named_children():
        if name in ["front"]:
            for param in child.parameters():
                param.requires_grad = False
            child.eval()
def model():
    net = Net()
    freeze(net)
    for k, v in net.named_parameters():
        print("{}: {}".format(k, v.requires_grad))
    return net
def optimizer(model):
    return torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-2, momentum=0.9, weight_decay=5e-4)
def train_step(model, optimizer, scaler, inputs, targets):
    optimizer.zero_grad(set_to_none=True)
    out = model(inputs)
    loss = F.cross_entropy(out, targets)
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
    return loss.detach()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
