"""tests/programs/faults/fragmentation/sizes_of_images.py - images of ever larger sizes in one process: the cache of
the last size is of no use to the next."""
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1)).cuda()
with torch.no_grad():
    for size in range(128, 768, 32):
        images = torch.rand(8, 3, size, size, device="cuda")  # fault: fragmentation
        # repaired: images = torch.rand(8, 3, 768, 768, device="cuda")
        model(images)
