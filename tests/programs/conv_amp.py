"""tests/programs/conv_amp.py - convolutions and batch norm under autocast with a GradScaler.

The batches come from a DataLoader with workers, in pinned memory.
"""
import torch
from figures import figures
from torch import nn


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        return torch.randn(3, 32, 32), i % 10


def main():
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(32, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in torch.utils.data.DataLoader(Data(), batch_size=16, num_workers=2, pin_memory=True):
        assert x.is_pinned()
        with torch.autocast("cuda", torch.float16):
            loss = nn.functional.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
    figures()
