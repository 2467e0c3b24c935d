# The functions with a trailing underscore: each overwrites the result of the layer before it.
import torch
import torch.nn as nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        x = F.relu_(self.fc(x))
        x = F.leaky_relu_(self.fc(x), 0.1)
        x = F.elu_(self.fc(x))
        x = F.hardtanh_(self.fc(x))
        x = F.selu_(self.fc(x))
        x = F.celu_(self.fc(x))
        x = F.threshold_(self.fc(x), 0.1, 0.0)
        x = torch.sigmoid_(self.fc(x))
        x = torch.tanh_(self.fc(x))
        x = torch.relu_(self.fc(x))
        x = torch.exp_(self.fc(x))
        x = torch.clamp_(self.fc(x), 0, 1)
        x = torch.dropout_(self.fc(x), 0.5, True)
        x = torch.abs_(self.fc(x))
        x = torch.neg_(self.fc(x))
        x = torch.selu_(self.fc(x))
        x = torch.threshold_(self.fc(x), 0.1, 0.0)
        return x
def model():
    return Net()
def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))
