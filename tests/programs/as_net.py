"""tests/programs/as_net.py NAME FILE [fp16|bf16|off [checkpoint [reentrant]]] - a model as the corpus has it, written
as a net file by torch2net.

Then it is trained for three steps as `vramscope record FILE` trains it: batches of 8, AdamW, autocast and checkpoints
of its blocks as given.
"""
import functools
import os
import sys

import torch
from figures import figures
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sample_nets", "tools"))
import torch2net  # noqa: E402


class Words(nn.Module):
    """A language model with LSTM."""

    def __init__(self, words=1000, size=128, layers=2):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(words, size)
        self.lstm = nn.LSTM(size, size, layers, dropout=0.2, batch_first=True)
        self.decoder = nn.Linear(size, words)
        self.decoder.weight = self.encoder.weight

    def forward(self, x):
        y, _ = self.lstm(self.drop(self.encoder(x)))
        return self.decoder(self.drop(y))


def block(inputs, outputs):
    layers = []
    for i in (inputs, outputs):
        layers += [nn.Conv3d(i, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True),
                   nn.LeakyReLU(0.01, True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """On volumes."""

    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList(block(i, o) for i, o in zip((1,) + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose3d(i, o, 2, 2) for i, o in zip(widths[::-1], widths[-2::-1]))
        self.join = nn.ModuleList(block(2 * w, w) for w in widths[-2::-1])
        self.head = nn.Conv3d(widths[0], 3, 1)

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else F.max_pool3d(x, 2))
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


def plain_loop():
    return nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 10)), torch.zeros(8, 256), 10


def conv_amp():
    layers = (nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3),
              nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return nn.Sequential(*layers), torch.zeros(8, 3, 32, 32), 10


def transformer():
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
    return nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 3), nn.Linear(128, 1000)), words(), 1000


def lm_lstm():
    return Words(), words(), 1000


def unet3d():
    return UNet(), torch.zeros(8, 1, 16, 16, 16), 3


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=128, n_embd=128, n_layer=2, n_head=4,
                                      use_cache=False)), words(), 1000


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=1000, hidden_size=128, intermediate_size=352, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, use_cache=False)
    return LlamaForCausalLM(config).to(torch.bfloat16), words(), 1000


def lora():
    from peft import LoraConfig, get_peft_model
    settings = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj", "down_proj"])
    return get_peft_model(llama()[0], settings), words(), 1000


def resnet18():
    import torchvision
    return torchvision.models.resnet18(num_classes=10), torch.zeros(8, 3, 64, 64), 10


def words():
    x = torch.zeros(8, 35, dtype=torch.int64)
    x[0, 0] = 999
    return x


def last(output):
    return output if isinstance(output, torch.Tensor) else output["logits"]


def scores(output, target):
    return F.cross_entropy(output, target)


def word_scores(output, target):
    return F.cross_entropy(last(output).flatten(0, 1), target.flatten())


def checkpointed(block):
    forward = block.forward

    def run(*args, **kwargs):
        if "reentrant" in sys.argv:
            return checkpoint(functools.partial(forward, **kwargs), *args, use_reentrant=True)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    block.forward = run


def convert():
    """(model, loss, inputs, targets); writes the net file."""
    model, inputs, classes = globals()[sys.argv[1]]()
    loss = word_scores if inputs.dtype == torch.int64 else scores
    each = inputs.shape[1:] if loss is word_scores else inputs.shape[2:] if sys.argv[1] == "unet3d" else ()
    target = torch.full((8, *each), classes - 1)
    torch2net.write(model, inputs, sys.argv[2], target, loss, zeros=True)
    return model.cuda(), loss, inputs, target


# The loop stands here, because its names live until the end, as those of a net file do.
model, loss, given, wanted = convert()
if "checkpoint" in sys.argv[4:]:
    for part in model.modules():
        if isinstance(part, nn.ModuleList) or part is model:
            for block in part:
                if isinstance(block, (nn.TransformerEncoderLayer, nn.Sequential)):
                    checkpointed(block)
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(sys.argv[3] if len(sys.argv) > 3 else None)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
scaler = torch.amp.GradScaler("cuda", enabled=dtype is torch.float16)
for _ in range(3):
    inputs, targets = given.cuda(), wanted.cuda()
    with torch.autocast("cuda", dtype, enabled=dtype is not None):
        output = model(inputs)
        value = loss(output, targets)
    scaler.scale(value).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
figures()
