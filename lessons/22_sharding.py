# lesson: 22 Sharding over several GPUs
# claim: Data parallel workers all hold the same optimizer state. Divide it among them (ZeRO, FairScale), and each
#   holds its part only.
# run before: optimizer=adam shard=ddp world=4 : DistributedDataParallel, 4 workers, Adam; rank 0
# run after: optimizer=adam shard=zero1 world=4 : with a ZeroRedundancyOptimizer
# run eight: optimizer=adam shard=zero1 world=8 : the same with 8 workers
# run single: optimizer=adam : one process
# show optimizer state: category(*, optimizer)
# if: abs(category(after, optimizer) * 4 - category(before, optimizer)) < 0.1 * category(before, optimizer) and
#   peak(after) < peak(before) and peak(before) > peak(single)
# verdict: true when the optimizer has state
# text: Of Adam's {category(before, optimizer)} a worker of four holds {category(after, optimizer)}, one of eight
#   {category(eight, optimizer)}; the peak falls from {peak(before)} to {peak(after)}. Data parallel training itself
#   costs memory: a single process needs {peak(single)}, because the buckets are a second copy of the gradients.
#   FSDP (ZeRO-3, without what cpu_offload=True does) is shard=fsdp; no run here has it, because it shards block by
#   block and this net has none. At rest a worker of four holds a quarter of parameters, gradients and Adam's state,
#   {(category(single, parameter) * 2 + category(single, optimizer)) / 4} of {category(single, parameter) * 2 +
#   category(single, optimizer)}; the layers that it gathers to compute with and activations come on top, so that is a
#   lower bound of its peak.
import torch
import torch.nn as nn


def model():
    layers = []
    for i in range(8):
        layers.append(nn.Linear(1024, 1024))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def batch(n):
    return torch.randn(n, 1024), torch.randint(0, 1024, (n,))


defaults = dict(batch=64)
