# lesson: 28 Reproducible runs
# claim: Set the seeds and use deterministic algorithms: two runs are then the same.
# run before: : one run
# run after: : the same once more
# run larger: batch=33 : one sample more
# if: same(before, after) == 1 and same(before, larger) == 0
# verdict: true
# text: The two runs are equal event by event, with every address; a run of another batch size is not. A run without
#   data has no losses; with --device cpu and the same --seed they are equal, too, bit by bit.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10))


def batch(n):
    return torch.randn(n, 256), torch.randint(0, 10, (n,))


defaults = dict(batch=32)
