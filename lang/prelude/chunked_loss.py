# lang/prelude/chunked_loss.py - cross entropy in chunks of rows, whose gradient overwrites the logits.
#
# For:       toggles.py; net files may copy it, it is ordinary PyTorch.
# Invariant: of the logits' size nothing is allocated but the logits: logarithms and gradient exist for one chunk at a
#            time. F.cross_entropy has three more tensors of that size when backward is at its peak.
#
# The logits are of no use afterwards, and backward can run once.
import torch
import torch.nn.functional as F


class ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, ignore_index, chunks):
        rows = logits.shape[0]
        size = (rows + chunks - 1) // chunks
        counted = target != ignore_index
        total = torch.zeros((), device=logits.device)
        for begin in range(0, rows, size):
            part = logits[begin:begin + size]
            keep = counted[begin:begin + size].unsqueeze(1)
            index = target[begin:begin + size].clamp(min=0).unsqueeze(1)
            logs = torch.log_softmax(part, 1, dtype=torch.float32)
            total -= (logs.gather(1, index) * keep).sum()
            # the gradient of a row is its softmax, less 1 at the target
            logs.exp_()
            logs.scatter_add_(1, index, torch.full_like(index, -1, dtype=torch.float32))
            part.copy_(logs.mul_(keep))
            del logs
        count = counted.sum()
        ctx.save_for_backward(logits, count)
        return total / count

    @staticmethod
    def backward(ctx, grad):
        logits, count = ctx.saved_tensors
        return logits.mul_(grad / count), None, None, None


class Replacement:
    # F.cross_entropy where its arguments allow chunks; is_used: some call did
    def __init__(self, plain, chunks):
        self.plain = plain
        self.chunks = chunks
        self.is_used = False

    def __call__(self, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                 reduction="mean", label_smoothing=0.0):
        if (input.dim() == 2 and target.dim() == 1 and input.requires_grad and weight is None
                and size_average is None and reduce is None and reduction == "mean" and label_smoothing == 0.0):
            self.is_used = True
            return ChunkedCrossEntropy.apply(input, target, ignore_index, self.chunks)
        return self.plain(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)


def use(chunks):
    F.cross_entropy = Replacement(F.cross_entropy, chunks)
    return F.cross_entropy
