"""tests/programs/frameworks/vision_train.py - training as torchvision's reference script does it.

ResNet-18, channels last, mixed precision, an exponential moving average of the model, label smoothing, DataLoader
workers with augmentation, evaluation after the epoch.
"""
import torch
import torchvision
from figures import figures
from torch import nn
from torchvision.transforms import v2


def main():
    augment = v2.Compose([v2.RandomResizedCrop(64), v2.RandomHorizontalFlip(), v2.ToImage(),
                          v2.ToDtype(torch.float32, scale=True)])
    data = torchvision.datasets.FakeData(32, (3, 72, 72), 10, augment)
    loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)
    model = torchvision.models.resnet18(num_classes=10).to("cuda", memory_format=torch.channels_last)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
    scaler = torch.amp.GradScaler("cuda")
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    for _ in range(2):
        model.train()
        for x, y in loader:
            x = x.to("cuda", non_blocking=True, memory_format=torch.channels_last)
            y = y.to("cuda", non_blocking=True)
            with torch.amp.autocast("cuda"):
                output = model(x)
                loss = criterion(output, y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            average.update_parameters(model)
            (output.argmax(1) == y).sum().item()
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            for x, y in loader:
                criterion(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).item()


if __name__ == "__main__":
    main()
    boxes = torch.rand(20, 4, device="cuda")
    torchvision.ops.nms(boxes, boxes[:, 0], 0.5)
    figures()
