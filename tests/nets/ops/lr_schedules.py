# Every learning rate schedule, stepped twenty times a step: the loss tells what they said.
import torch
import torch.nn as nn
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau


def schedules(params):
    made = []

    def add(make, **options):
        optimizer = torch.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.1, momentum=0.9)
        made.append((optimizer, make(optimizer, **options)))

    def warm(optimizer):
        first = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
        second = lr_scheduler.CosineAnnealingLR(optimizer, T_max=9)
        third = lr_scheduler.ExponentialLR(optimizer, 0.7)
        return lr_scheduler.SequentialLR(optimizer, [first, second, third], milestones=[4, 23])

    def chain(optimizer):
        first = lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=6)
        return lr_scheduler.ChainedScheduler([first, lr_scheduler.PolynomialLR(optimizer, total_iters=30, power=2.0)])

    add(LambdaLR, lr_lambda=lambda epoch: 0.95 ** epoch)
    add(LambdaLR, lr_lambda=[lambda epoch: 1 / (epoch + 1), lambda epoch: 1.0])
    add(lr_scheduler.MultiplicativeLR, lr_lambda=lambda epoch: 0.9)
    add(lr_scheduler.StepLR, step_size=3, gamma=0.5)
    add(lr_scheduler.MultiStepLR, milestones=[2, 7, 7, 30])
    add(lr_scheduler.ConstantLR)
    add(lr_scheduler.LinearLR, end_factor=0.8, total_iters=11)
    add(lr_scheduler.ExponentialLR, gamma=0.93)
    add(lr_scheduler.PolynomialLR, total_iters=17)
    add(lr_scheduler.CosineAnnealingLR, T_max=7, eta_min=0.01)
    add(lr_scheduler.CosineAnnealingWarmRestarts, T_0=4, T_mult=2)
    add(lr_scheduler.CyclicLR, base_lr=0.01, max_lr=[0.1, 0.2], step_size_up=5, step_size_down=8)
    add(lr_scheduler.CyclicLR, base_lr=0.01, max_lr=0.1, step_size_up=3, mode="triangular2", cycle_momentum=False)
    add(lr_scheduler.CyclicLR, base_lr=0.01, max_lr=0.1, step_size_up=3, mode="exp_range", gamma=0.9)
    add(lr_scheduler.OneCycleLR, max_lr=[0.5, 0.7], total_steps=70)
    add(lr_scheduler.OneCycleLR, max_lr=0.5, epochs=10, steps_per_epoch=7, three_phase=True, anneal_strategy="linear")
    add(warm)
    add(chain)
    add(ReduceLROnPlateau, factor=0.5, patience=2, cooldown=1)
    add(ReduceLROnPlateau, mode="max", threshold_mode="abs", factor=0.1, patience=4, min_lr=[0.01, 0.02])
    return made


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 2, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    if not hasattr(model, "made"):
        model.made = schedules(list(model.parameters()))
    made = model.made
    total = 0.0
    for i in range(20):
        for k in range(len(made)):
            group_sum = 0.0
            for group in made[k][0].param_groups:
                group_sum += group["lr"] * 3.7 + group["momentum"] * 0.01
            total += group_sum * (k + 1)
            if isinstance(made[k][1], ReduceLROnPlateau):
                made[k][1].step(1.0 / (i % 5 + 1))
            else:
                made[k][1].step()
        total += sum(made[i][1].get_last_lr()) * 0.1
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets) + total * 0.001
    loss.backward()
    optimizer.step()
    return loss


defaults = dict(batch=3)
