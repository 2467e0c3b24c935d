# lesson: 16 eval and no_grad
# claim: For validation call model.eval(), which needs much less memory than training.
# run before: grad=eval steps=2 : model.eval(), gradients recorded
# run after: grad=no_grad steps=2 : model.eval() under torch.no_grad()
# run train: steps=2 : training
# show highest in forward: top(*, forward, 1)
# if: warns(before, saved_without_backward) == 1 and warns(after, saved_without_backward) == 0 and peak(after) < 0.5
#   * peak(before) and saved(after) == 0 and saved(before) > 0.5 * saved(train) and peak(before) > peak(train)
# verdict: true when torch.no_grad() is there, too
# text: eval() changes what batch norm and dropout compute, not what autograd records: {saved(before)} are kept for
#   a backward that never comes, {saved(train)} in training. The graph of a batch lives until the next output
#   replaces it, so two are alive in the next forward, and the peak, {peak(before)}, is above that of training,
#   {peak(train)}. Under no_grad nothing is kept, and the peak is {peak(after)} instead of {peak(before)}.
import torch
import torch.nn as nn


def block(channels_in, channels):
    return nn.Sequential(nn.Conv2d(channels_in, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(3, 32), block(32, 32), block(32, 32), block(32, 32))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
