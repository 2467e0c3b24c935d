# lesson: 11 Adding up the loss
# claim: epoch_loss += loss keeps the graph of every step. Write epoch_loss += loss.item().
# run before: detach-loss=off grad=eval : epoch_loss += loss in a validation loop, without backward
# run after: grad=eval : epoch_loss += loss.item()
# run trained: detach-loss=off : epoch_loss += loss in training, after backward
# run trained_item: : epoch_loss += loss.item() in training
# show more after each step: growth(*)
# picture: all
# if: growth(before) > saved(after) * 0.9 and growth(after) == 0 and growth(trained) < 1024
# verdict: true when no backward frees the graph
# text: In a validation loop with gradients each step leaves {growth(before)} behind, the whole of what autograd
#   saved ({saved(after)} and the batch), and six steps need {peak(before)} instead of {peak(after)}. In training
#   backward has already freed what was saved: a step leaves {growth(trained)} on the device, and the graph's nodes
#   on the host. With .item() nothing stays.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 32 * 32, 10))


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))


defaults = dict(batch=64, steps=6)
