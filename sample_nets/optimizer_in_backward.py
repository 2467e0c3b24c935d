# An optimizer for each parameter, which a hook steps as soon as the parameter's gradient is there.
# Lesson: a gradient is gone before the next layer's is made, so there is never a whole set of them. Compare IN_BACKWARD = False, where
# all are there when the optimizer begins.
import torch
import torch.nn as nn

WIDTH = 2048
LAYERS = 8
IN_BACKWARD = True


class Nothing:
    def step(self):
        pass

    def zero_grad(self, set_to_none=True):
        pass


def optimizer(model):
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not IN_BACKWARD:
        return torch.optim.Adam(parameters, foreach=False)
    optimizer_dict = {p: torch.optim.Adam([p], foreach=False) for p in parameters}

    def optimizer_hook(parameter):
        optimizer_dict[parameter].step()
        optimizer_dict[parameter].zero_grad()

    for p in parameters:
        p.register_post_accumulate_grad_hook(optimizer_hook)
    return Nothing()


def model():
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def batch(n):
    return torch.randn(n, WIDTH), torch.randint(0, 10, (n,))


defaults = dict(batch=64)
