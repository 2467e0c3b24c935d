"""tests/programs/holders.py - one tensor of each kind of holder; the last allocation is the peak."""
import torch
from figures import figures


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(256, 256)
        self.past = None

    def forward(self, x):
        self.past = [x.detach() * 2]
        return self.fc(x)


class Box:
    pass


def batches():
    for i in range(2):
        batch = torch.randn(64, 256, device="cuda")
        yield batch * 2


def closure():
    inside = torch.zeros(33, 256, device="cuda")

    def get():
        return inside

    return get


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters())
history = []
box = Box()
box.kept = {"a": torch.zeros(17, 256, device="cuda")}
get = closure()


def step(x):
    with torch.autocast("cuda", torch.bfloat16):
        out = model(x)
        loss = (out * out).sum()
        loss.backward()
        optimizer.step()
        history.append({"loss": loss.detach() + 1})
        again = model(x)
        torch.empty(1 << 24, device="cuda")
        return again


loader = batches()
step(next(loader))
figures()
