# model.apply with functions that look at class names, weight initialisation, relu in place.
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._make_layer(64, 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(64, 10)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
    def _make_layer(self, planes, blocks):
        layers = []
        for _ in range(blocks):
            layers += [nn.Conv2d(planes, planes, 3, padding=1), nn.ReLU()]
        return nn.Sequential(*layers)
    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        y = self.layer1(x)
        y = y + x
        x = self.avgpool(y)
        x = torch.flatten(x, 1)
        x = x.view(x.size(0), -1)
        return self.fc(x)
def inplace_relu(m):
    classname = m.__class__.__name__
    if classname.find("ReLU") != -1:
        m.inplace = True
def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.xavier_uniform_(m.weight.data)
        if m.bias is not None:
            m.bias.data.fill_(0)
def model():
    net = Net()
    net.apply(inplace_relu)
    net.apply(weights_init)
    print(sum(p.numel() for p in net.parameters() if p.requires_grad) / 1e6, "M parameters")
    return net


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
