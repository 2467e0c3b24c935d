# lesson: 17 Freezing layers
# claim: Set requires_grad=False on the layers of a pretrained network and train the rest: frozen layers need no
#   gradients and no activations.
# run before: optimizer=adam steps=2 : everything trained
# run after: optimizer=adam freeze=features steps=2 : features frozen, the classifier trained
# run last: optimizer=adam freeze=classifier steps=2 : the classifier frozen, features trained
# run middle: optimizer=adam freeze=features.3,features.6 steps=2 : two convolutions in the middle frozen
# show gradients at the peak: category(*, gradient)
# show optimizer state: category(*, optimizer)
# if: saved(after) < 0.1 * saved(before) and saved(last) > 0.9 * saved(before) and saved(middle) > 0.6 *
#   saved(before)
# verdict: true when the frozen layers are the first ones
# text: With everything up to the classifier frozen, autograd keeps {saved(after)} instead of {saved(before)}. With
#   the classifier frozen it keeps {saved(last)}, and with two convolutions in the middle {saved(middle)}: gradients
#   must pass through a frozen layer to reach those before it, and batch norm and ReLU still save for that. Their
#   gradients and optimizer state go in any case: {category(before, optimizer)} of Adam's state become
#   {category(middle, optimizer)}.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(4):
            layers.append(nn.Conv2d(3 if i == 0 else 128, 128, 3, padding=1))
            layers.append(nn.BatchNorm2d(128))
            layers.append(nn.ReLU())
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(128, 10)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
