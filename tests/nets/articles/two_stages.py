# A net trained in two stages on detached features; accuracy with topk, an average meter, evaluation in between.
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.back = nn.Linear(8, 10)
        self.aux = nn.Linear(8, 10)
    def forward(self, x):
        return self.back(self.front(x))
def model():
    return Net()
losses = []
class AverageMeter(object):
    def __init__(self):
        self.reset()
    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0
    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count
meter = AverageMeter()
def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res
def train_step(model, optimizer, scaler, inputs, targets):
    # stage one: the front with an auxiliary head; stage two: the back on detached features
    optimizer.zero_grad()
    features = model.front(inputs)
    loss1 = F.cross_entropy(model.aux(features), targets)
    loss1.backward()
    optimizer.step()
    features = features.detach()
    optimizer.zero_grad()
    out = model.back(features)
    loss2 = F.cross_entropy(out, targets)
    loss2.backward()
    optimizer.step()
    prec1, prec5 = accuracy(out, targets, topk=(1, 5))
    meter.update(loss2.item(), inputs.size(0))
    model.eval()
    with torch.no_grad():
        val = model(inputs)
        probs = torch.softmax(val, dim=-1)
        preds = probs.argmax(dim=1)
    model.train()
    del features, out, val, probs, preds
    return loss1.item() + loss2.item()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
