# lesson: 24 Bytes moved
# claim: Judge a layer by the bytes it moves and not by its arithmetic alone: of 1x1 convolutions with equally many
#   operations the one with as many output as input channels moves the least; joined branches, groups and
#   element-wise ops move much for little arithmetic.
# run before: IN=16 OUT=1024 grad=no_grad : 1x1 convolutions, 16 to 1024 channels
# run after: IN=128 OUT=128 grad=no_grad : 128 to 128 channels
# run quarter: IN=64 OUT=256 grad=no_grad : 64 to 256 channels
# run groups: IN=128 OUT=1024 GROUPS=8 grad=no_grad : 128 to 1024 channels in 8 groups
# show moved by it: moved(*, _convolution)
# show its arithmetic: flops(*) as GFLOP
# known hw(c1 + c2) + c1 c2 elements: moved(before, _convolution) == 4 * (56 * 56 * (16 + 1024) + 16 * 1024) and
#   moved(after, _convolution) == 4 * (56 * 56 * (128 + 128) + 128 * 128) and moved(quarter, _convolution) == 4 *
#   (56 * 56 * (64 + 256) + 64 * 256)
# if: flops(before) == flops(after) and flops(after) == flops(quarter) and flops(groups) == flops(after) and
#   moved(after, _convolution) < moved(quarter, _convolution) and moved(quarter, _convolution) < moved(before,
#   _convolution) and moved(groups, _convolution) > 2 * moved(after, _convolution)
# verdict: true
# text: All four do {flops(after) as GFLOP}. With 128 to 128 channels the convolution reads and writes {moved(after,
#   _convolution)}, with 64 to 256 {moved(quarter, _convolution)}, with 16 to 1024 {moved(before, _convolution)},
#   and in eight groups {moved(groups, _convolution)}. The ReLU behind it moves {moved(after, relu)} for no
#   arithmetic that is counted at all. Memory follows: the peaks are {peak(after)} and {peak(before)}.
import torch
import torch.nn as nn

IN = 128
OUT = 128
GROUPS = 1


def model():
    return nn.Sequential(nn.Conv2d(IN, OUT, 1, groups=GROUPS, bias=False), nn.ReLU())


def batch(n):
    return torch.randn(n, IN, 56, 56), torch.randint(0, OUT, (n, 56, 56))


defaults = dict(batch=1, steps=1)
