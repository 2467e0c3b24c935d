# lesson: 7 A checkpoint every square root of N layers
# claim: In a chain of N layers, keep about the square root of N activations and recompute the others: memory grows
#   with the square root of the depth, for one more forward. ResNet-152 was measured at 2455 instead of 5459 MiB.
# run before: : 100 equal layers
# run after: checkpoint=sqrt : checkpoint=sqrt, 10 segments
# run resnet: sample_nets/resnet152.py steps=2 : ResNet-152, batch 16
# run resnet_sqrt: sample_nets/resnet152.py checkpoint=sqrt steps=2 : its longest Sequential cut by the square root
# run resnet_blocks: sample_nets/resnet152.py checkpoint=blocks steps=2 : a checkpoint for each block
# show ResNet-152, the longest Sequential cut: peak(resnet_sqrt) / peak(resnet) as change
# show ResNet-152, every block: peak(resnet_blocks) / peak(resnet) as change
# known ResNet-152 falls at least as much as in the published measurement, 55 %: peak(resnet_blocks) / peak(resnet)
#   <= 2455 / 5459
# if: saved(after) < 0.25 * saved(before) and recomputed(after) <= flops(before) / 3 and peak(resnet_sqrt) >
#   peak(resnet_blocks)
# verdict: true when the layers are a chain of equal parts
# text: On the chain what autograd keeps after the forward falls from {saved(before)} to {saved(after)} and the peak
#   from {peak(before)} to {peak(after)}, for {recomputed(after) / flops(before) as %} more arithmetic. ResNet-152
#   is no such chain: cutting its longest Sequential gives {peak(resnet_sqrt) / peak(resnet) as change}, a
#   checkpoint for each block {peak(resnet_blocks) / peak(resnet) as change}, where {2455 / 5459 as change} was
#   published.
import torch
import torch.nn as nn


def model():
    layers = []
    for i in range(100):
        layers.append(nn.Sequential(nn.Linear(256, 256), nn.ReLU()))
    return nn.Sequential(*layers)


def batch(n):
    return torch.randn(n, 256), torch.randint(0, 256, (n,))


defaults = dict(batch=1024, steps=2)
