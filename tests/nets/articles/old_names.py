# Names of old articles: Variable, saved_variables, F.relu_, filter, gc.collect, % and str.format, torch.backends.
import gc

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.backends.cudnn.benchmark = True
cudnn.deterministic = True
torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_variables[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 4)

    def forward(self, x):
        x = Variable(x)
        x = F.relu_(self.fc1(x))
        x = Swish.apply(self.fc2(x))
        cycle = [x * 2]
        cycle.append(cycle)
        del cycle
        if gc.collect() == 0:
            raise RuntimeError("no cycle was found")
        print("%d samples of shape {}".format(tuple(x.shape)) % x.size(0))
        return self.fc3(x)


def inplace_relu(m):
    classname = m.__class__.__name__
    if classname.find("ReLU") != -1:
        m.inplace = True


def model():
    net = Net()
    for p in net.fc1.parameters():
        p.requires_grad = False
    net.apply(inplace_relu)
    return net


def optimizer(model):
    return torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.001)


def batch(n):
    return torch.randn(n, 16), torch.randint(0, 4, (n,))
