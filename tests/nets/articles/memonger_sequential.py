# The tutorial of pytorch-memonger: checkpoint_sequential over _modules, compared with the plain net.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint_sequential


def model():
    return nn.Sequential(
        nn.Linear(100, 50),
        nn.ReLU(),
        nn.Linear(50, 20),
        nn.ReLU(),
        nn.Linear(20, 5),
        nn.ReLU()
    )


def batch(n):
    return torch.randn(n, 100), torch.randint(0, 5, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    # create the model inputs
    input_var = torch.randn(1, 100, requires_grad=True, device="cuda")
    # set the number of checkpoint segments
    segments = 2
    # get the modules in the model. These modules should be in the order
    # the model should be executed
    modules = [module for k, module in model._modules.items()]
    # now call the checkpoint API and get the output
    out = checkpoint_sequential(modules, segments, input_var)

    # run the backwards pass on the model
    model.zero_grad()
    out.sum().backward()

    output_checkpointed = out.data.clone()
    grad_checkpointed = {}
    for name, param in model.named_parameters():
        grad_checkpointed[name] = param.grad.data.clone()

    # non-checkpointed run: create a new variable using the same tensor data
    original = model
    x = input_var.data.clone().requires_grad_()
    out = original(x)
    out_not_checkpointed = out.data.clone()
    original.zero_grad()
    out.sum().backward()
    grad_not_checkpointed = {}
    for name, param in model.named_parameters():
        grad_not_checkpointed[name] = param.grad.data.clone()
    optimizer.step()
    return out.sum()
