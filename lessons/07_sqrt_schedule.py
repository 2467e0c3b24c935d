# lesson: 7 A checkpoint every square root of N layers
# claim: In a chain of N layers, keep about the square root of N activations and recompute the others: memory grows
#   with the square root of the depth, for one more forward. ResNet-152 was measured at 2455 instead of 5459 MiB,
#   and a net of a thousand layers at a seventh of its memory.
# run before: : 100 equal layers
# run after: checkpoint=sqrt : checkpoint=sqrt, 10 segments
# run resnet: sample_nets/resnet152.py steps=2 : ResNet-152, batch 16
# run resnet_sqrt: sample_nets/resnet152.py checkpoint=sqrt steps=2 : its longest Sequential cut by the square root
# run resnet_each: lessons/resnet152_memonger.py steps=2 : each Sequential cut by it, as pytorch-memonger does
# run resnet_blocks: sample_nets/resnet152.py checkpoint=blocks steps=2 : a checkpoint for each block
# run resnet_auto: sample_nets/resnet152.py checkpoint=auto steps=2 : the placement with the lowest peak
# run thousand: sample_nets/resnet1001.py steps=1 : ResNet-1001, batch 32
# run thousand_sqrt: sample_nets/resnet1001.py checkpoint=sqrt steps=1 : checkpoint=sqrt
# run thousand_auto: sample_nets/resnet1001.py checkpoint=auto:540M steps=1 : the least arithmetic for 540 MiB
# show ResNet-152, the longest Sequential cut: peak(resnet_sqrt) / peak(resnet) as change
# show ResNet-152, each Sequential cut: peak(resnet_each) / peak(resnet) as change
# show ResNet-152, every block: peak(resnet_blocks) / peak(resnet) as change
# show ResNet-152, planned: peak(resnet_auto) / peak(resnet) as change
# known ResNet-152 falls at least as much as in the published measurement, 55 %: peak(resnet_each) / peak(resnet)
#   <= 2455 / 5459
# known a net of a thousand layers takes less than a seventh for less than a third more arithmetic:
#   peak(thousand_sqrt) < peak(thousand) / 7 and recomputed(thousand_sqrt) < flops(thousand) / 3
# known planned, it takes less memory and less arithmetic: peak(thousand_auto) < peak(thousand_sqrt) and
#   recomputed(thousand_auto) < recomputed(thousand_sqrt)
# if: saved(after) < 0.25 * saved(before) and recomputed(after) <= flops(before) / 3 and peak(resnet_sqrt) >
#   peak(resnet_blocks) and peak(resnet_auto) < peak(resnet_blocks)
# verdict: true when the layers are a chain of equal parts
# text: On the chain what autograd keeps after the forward falls from {saved(before)} to {saved(after)} and the peak
#   from {peak(before)} to {peak(after)}, for {recomputed(after) / flops(before) as %} more arithmetic; ResNet-1001,
#   nearly such a chain, falls from {peak(thousand)} to {peak(thousand_sqrt)} for {recomputed(thousand_sqrt) /
#   flops(thousand) as %}, and planned to {peak(thousand_auto)} for {recomputed(thousand_auto) / flops(thousand) as
#   %}. ResNet-152 is no chain of equal parts: cutting its longest Sequential gives {peak(resnet_sqrt) /
#   peak(resnet) as change}, cutting each of the four as pytorch-memonger does {peak(resnet_each) / peak(resnet) as
#   change}, where {2455 / 5459 as change} was published for that code, and a checkpoint for each block
#   {peak(resnet_blocks) / peak(resnet) as change}; the lowest peak that checkpoints reach is {peak(resnet_auto) /
#   peak(resnet) as change}, for {recomputed(resnet_auto) / flops(resnet) as %} more arithmetic.
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
