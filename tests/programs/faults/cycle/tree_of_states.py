"""tests/programs/faults/cycle/tree_of_states.py - nodes of a search tree that know their parent, and the parent its
children: only the collector frees them."""
import torch
from torch import nn


class Node:
    def __init__(self, state, parent):
        self.state = state
        self.parent = parent
        self.children = []


def search(model, x):
    root = Node(x, None)
    node = root
    for _ in range(3):
        child = Node(model(node.state), node)
        node.children.append(child)  # fault: cycle
        # repaired: child.parent = None; node.children.append(child)
        node = child
    return node.state.mean().item()


model = nn.Linear(512, 512).cuda()
with torch.no_grad():
    for _ in range(12):
        search(model, torch.randn(512, 512, device="cuda"))
