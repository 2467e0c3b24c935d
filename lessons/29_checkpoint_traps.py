# lesson: 29 Checkpoints that lose something
# claim: A checkpoint changes memory and nothing else: wrap any part of the network in checkpoint().
# run before: : nothing checkpointed
# run after: REENTRANT=False : checkpoint(self.front, x, use_reentrant=False)
# run reentrant: REENTRANT=True : use_reentrant=True, of an input that needs no gradient
# run fixed: REENTRANT=True FIX=True : the same with x.requires_grad_()
# run no_rng: REENTRANT=False KEEP=False : preserve_rng_state=False, with dropout inside
# show recomputed, of the arithmetic: recomputed(*) / flops(before) as %
# show gradients at the peak: category(*, gradient)
# if: warns(reentrant, reentrant_no_gradient) == 1 and warns(fixed, reentrant_no_gradient) == 0 and warns(no_rng,
#   rng_not_kept) == 1 and warns(after, rng_not_kept) == 0 and saved(after) < saved(before) and
#   recomputed(reentrant) == 0 and recomputed(fixed) > 0
# verdict: true when use_reentrant=False and the random state is kept
# text: With use_reentrant=False the peak is {peak(after)} instead of {peak(before)}. The older form needs an input
#   that requires grad: of the batch itself it computes no gradient for anything inside, so the first layers are not
#   trained, and nothing is recomputed, which looks cheap: {peak(reentrant)}. Without the random state dropout draws
#   other numbers in the recomputation than in the forward, and the gradients belong to another loss; its memory is
#   the same, {peak(no_rng)}.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

REENTRANT = None
FIX = False
KEEP = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(
            nn.Linear(512, 2048), nn.Tanh(), nn.Dropout(0.1), nn.Linear(2048, 2048), nn.Tanh(), nn.Dropout(0.1),
            nn.Linear(2048, 512), nn.Tanh(),
        )
        self.back = nn.Sequential(nn.Linear(512, 2048), nn.Tanh(), nn.Linear(2048, 10))

    def forward(self, x):
        if FIX:
            x.requires_grad_()
        if REENTRANT is None:
            x = self.front(x)
        else:
            x = checkpoint(self.front, x, use_reentrant=REENTRANT, preserve_rng_state=KEEP)
        return self.back(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 512), torch.randint(0, 10, (n,))


defaults = dict(batch=2048, steps=2)
