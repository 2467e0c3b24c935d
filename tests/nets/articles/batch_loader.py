# A smaller batch: a Dataset and a DataLoader with batch_size, pin_memory and workers, one epoch a step.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, TensorDataset


class RandomDataset(Dataset):
    def __init__(self, length=32):
        self.length = length
        self.images = torch.randn(length, 3, 16, 16)
        self.labels = torch.randint(0, 10, (length,))

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return self.length


batch_size = 16  # 32
train_loader = DataLoader(dataset=RandomDataset(), batch_size=batch_size, shuffle=True, drop_last=True)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))


def batch(n):
    return torch.randn(n, 3, 16, 16), torch.randint(0, 10, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    criterion = nn.CrossEntropyLoss().cuda()
    model.train()
    for i, (images, labels) in enumerate(train_loader):
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            print("Epoch: [{0}][{1}/{2}]\tLoss {loss:.4f}".format(0, i, len(train_loader), loss=loss.item()))
    return loss
