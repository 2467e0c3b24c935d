# Accumulation by hand: chunks of a batch, loss.item(), del loss, outputs, empty_cache, memory counters.
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8, 10)
    def forward(self, x):
        return self.fc(self.conv(x).relu_().mean([2, 3]))
def model():
    return Net()
accumulation_steps = 4
def train_step(model, optimizer, scaler, inputs, targets):
    criterion = nn.CrossEntropyLoss()
    model.train()
    optimizer.zero_grad()
    running_loss = 0.0
    for i, (images, labels) in enumerate(zip(inputs.chunk(accumulation_steps), targets.chunk(accumulation_steps))):
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss = loss / accumulation_steps
        loss.backward()
        running_loss += loss.item()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        del loss, outputs
    torch.cuda.empty_cache()
    print("loss: {:.3f}".format(running_loss))
    print("%.1f MB" % (torch.cuda.memory_allocated() / 1024 ** 2), torch.cuda.max_memory_allocated() // 1024)
    return running_loss


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
