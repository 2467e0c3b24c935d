# lesson: 22 Sharding over several GPUs
# claim: Data parallel workers all hold the same optimizer state. Divide it among them (ZeRO, FairScale), and each
#   holds its part only.
# run before: optimizer=adam shard=ddp world=4 : DistributedDataParallel, 4 workers, Adam; rank 0
# run after: optimizer=adam shard=zero1 world=4 : with a ZeroRedundancyOptimizer
# run eight: optimizer=adam shard=zero1 world=8 : the same with 8 workers
# run single: optimizer=adam : one process
# run blocks: sample_nets/gpt2_small.py batch=1 optimizer=adam shard=ddp world=4 : gpt2_small, batch 1, DDP
# run fsdp: sample_nets/gpt2_small.py batch=1 optimizer=adam shard=fsdp world=4 : the same with fully_shard (FSDP)
# run open: sample_nets/gpt2_small.py batch=1 optimizer=adam shard=fsdp world=4 reshard=off : without resharding
# run zero2: sample_nets/gpt2_small.py batch=1 optimizer=adam mp-policy=bf16 shard=deepspeed-zero2 world=4
#   : DeepSpeed's ZeRO-2, bfloat16
# run small: sample_nets/gpt2_small.py batch=1 optimizer=adam mp-policy=bf16 shard=deepspeed-zero2 world=4
#   reduce-bucket-size=5000000 : the same with reduce_bucket_size 5,000,000
# show optimizer state: category(*, optimizer)
# if: abs(category(after, optimizer) * 4 - category(before, optimizer)) < 0.1 * category(before, optimizer) and
#   peak(after) < peak(before) and peak(before) > peak(single) and peak(fsdp) < peak(open) and
#   peak(open) < peak(blocks) and peak(small) < 0.6 * peak(zero2)
# verdict: true when the optimizer has state
# text: Of Adam's {category(before, optimizer)} a worker of four holds {category(after, optimizer)}, one of eight
#   {category(eight, optimizer)}; the peak falls from {peak(before)} to {peak(after)}. Data parallel training itself
#   costs memory: a single process needs {peak(single)}, because the buckets are a second copy of the gradients.
#   FSDP (ZeRO-3, without what cpu_offload=True does) divides parameters and gradients, too, and gathers those of one
#   block of gpt2_small while it runs: the peak falls from {peak(blocks)} to {peak(fsdp)}, and to {peak(open)} where
#   what a block gathered for its forward stays for its backward (reshard_after_forward=False). Between two steps a
#   worker holds {after(fsdp, zero_grad, 2)} instead of {after(blocks, zero_grad, 2)}. DeepSpeed's ZeRO-2 in bfloat16
#   peaks at {peak(zero2)}: gradients go through a bucket of reduce_bucket_size elements, 500,000,000 by default, which
#   is on the device during each backward however small the model is. With 5,000,000 the peak is {peak(small)}.
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
