"""tests/programs/published/measure.py PEAKS.TSV GPU [KERNEL…] - measures what the benchmarks of Liger-Kernel measured.

PEAKS.TSV has their figures for implementations in plain PyTorch. For each row of a GPU whose name contains GPU this
prints ROW, the number of the line, and the peak in bytes. The benchmark has run for speed before it measures memory, so
libraries have their workspaces; it takes the median of ten calls, in MiB as float32. What its scripts keep on the
device beside the implementation that is measured counts, too: the module of the other implementation, above all.
"""
import csv
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + 1e-6)
        return self.weight * x.to(dtype)


class MLP(nn.Module):
    def __init__(self, size, inner, activation):
        super().__init__()
        self.gate_proj = nn.Linear(size, inner, bias=False)
        self.up_proj = nn.Linear(size, inner, bias=False)
        self.down_proj = nn.Linear(inner, size, bias=False)
        self.activation = activation

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def twice(make):
    """The module that is measured, and that of the other implementation, which is as large."""
    return make(), make()


def accumulated(forward, *gradient, retain=False):
    def full():
        y = forward()
        y.backward(*(make(y) for make in gradient), retain_graph=retain)

    return full


def cross_entropy(x, c):
    logits = torch.randn(c["B"] * c["T"], x, requires_grad=True, device="cuda")
    target = torch.randint(x, (c["B"] * c["T"], 1), device="cuda").squeeze(1)
    return accumulated(lambda: nn.CrossEntropyLoss()(logits, target))


kept = {}


def embedding(x, c):
    # torch.compile was measured, too, and keeps its modules: of the second configuration three times the weights from
    # the measurement of speed, of the first one weights and gradients from that of memory.
    for size, times in [(4096, 3), (768, 2)][:1 + (c["D"] == 4096)]:
        if size not in kept:
            kept[size] = [torch.empty(2**i, size, device="cuda") for i in range(10, 18) for _ in range(times)]
    module, other = twice(lambda: nn.Embedding(x, c["D"]).cuda())
    ids = torch.randint(0, x, (c["B"], c["T"]), device="cuda")
    return accumulated(lambda: (module(ids), other)[0], torch.randn_like)


def fused_linear_cross_entropy(x, c):
    module, other = twice(lambda: nn.Linear(c["H"], c["V"], bias=False, dtype=torch.bfloat16).cuda())
    data = torch.randn(x, c["H"], requires_grad=True, dtype=torch.bfloat16, device="cuda")
    target = torch.randint(c["V"], (x, 1), dtype=torch.long, device="cuda").squeeze(1)

    def forward():
        logits = module(data)
        return (nn.CrossEntropyLoss()(logits, target), other)[0]

    return accumulated(forward)


def mlp(x, c, mode, batch, activation):
    data = torch.randn(batch, x, c["hidden_size"], device="cuda", dtype=torch.bfloat16, requires_grad=True)
    module = MLP(c["hidden_size"], c["intermediate_size"], activation).to("cuda").to(torch.bfloat16)
    if mode == "forward":
        return lambda: module(data)
    if mode == "backward":
        gradient = torch.randn_like(data)
        y = module(data)
        return lambda: y.backward(gradient, retain_graph=True)
    return accumulated(lambda: module(data), torch.randn_like, retain=True)


def geglu(x, c, mode):
    return mlp(x, c, mode, c["bsz"], nn.GELU(approximate="tanh"))


def swiglu(x, c, mode):
    return mlp(x, c, mode, c["B"], nn.SiLU())


def normalized(make, shape, dtype):
    module, other = twice(make)
    x = torch.randn(shape, dtype=dtype, device="cuda")
    dy = torch.randn_like(x)
    x.requires_grad_(True)
    return accumulated(lambda: (module(x), other)[0], lambda y: dy, retain=True)


def layer_norm(x, c):
    return normalized(lambda: nn.LayerNorm(x, eps=1e-6).to("cuda"), (c["M"], x), torch.float32)


def group_norm(x, c):
    groups = x // c["channels_per_group"]
    return normalized(lambda: nn.GroupNorm(groups, x, eps=1e-6).to("cuda"), (c["M"], x, c["H"]), torch.float32)


def rms_norm(x, c):
    return normalized(lambda: RMSNorm(x).to("cuda"), (c["M"], x), torch.bfloat16)


def rotated(x):
    first = x[..., :x.shape[-1] // 2]
    second = x[..., x.shape[-1] // 2:]
    return torch.cat((-second, first), dim=-1)


def rope(x, c, x_name):
    size = c.get("hidden_size", x) // c["num_q_heads"]
    steps = c.get("seq_len", x)
    inverse = 1.0 / (10000 ** (torch.arange(0, size, 2, dtype=torch.int64).float().to("cuda") / size))
    shapes = [(1, steps, heads, size) for heads in (c["num_q_heads"], c["num_kv_heads"])]
    q, k = (torch.randn(shape, device="cuda", requires_grad=True, dtype=torch.bfloat16).transpose(1, 2)
            for shape in shapes)
    dq, dk = torch.randn_like(q), torch.randn_like(k)
    where = torch.arange(steps, device="cuda", dtype=torch.long).unsqueeze(0)
    with torch.no_grad():
        angles = (inverse[None, :, None].float() @ where[:, None, :].float()).transpose(1, 2)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos().to(q.dtype), angles.sin().to(q.dtype)
        del angles

    def full():
        c1, s1 = cos.unsqueeze(1), sin.unsqueeze(1)
        q_out = (q * c1) + (rotated(q) * s1)
        k_out = (k * c1) + (rotated(k) * s1)
        torch.autograd.grad((q_out, k_out), (q, k), (dq, dk), allow_unused=True, retain_graph=True)
        return where, inverse

    return full


def kl_div(x, c):
    rows = c["B"] * c["T"]
    data = torch.randn(rows, x, requires_grad=True, device="cuda").log_softmax(dim=-1)
    target = torch.randn(rows, x, device="cuda").softmax(dim=-1)
    return accumulated(lambda: nn.KLDivLoss(reduction="batchmean")(data, target), retain=True)


def jsd(x, c):
    rows, words = (c["B"] * c["T"], x) if "B" in c else (x, c["vocab_size"])
    data = torch.randn(rows, words, requires_grad=True, device="cuda").log_softmax(dim=-1)
    target = torch.randn(rows, words, device="cuda").log_softmax(dim=-1)

    def first():
        kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
        p, q = data.view(-1, words), target.view(-1, words)
        m = 0.5 * (torch.exp(p) + torch.exp(q))
        log_m = torch.log(m)
        loss = 0.5 * (kl(log_m, p) + kl(log_m, q))
        return loss

    def later():
        kl = nn.KLDivLoss(reduction="none", log_target=True)
        q, p = data.to(torch.float), target.to(torch.float)
        p, q = p.view(-1, words), q.view(-1, words)
        m = torch.lerp(torch.exp(q), torch.exp(p), 0.5)
        loss = 0.5 * kl(torch.log(m), p).sum(dim=-1) + (1 - 0.5) * kl(torch.log(m), q).sum(dim=-1)
        loss = (loss / q.shape[0]).sum()
        return loss.to(torch.float)

    return accumulated(first, retain=True) if "B" in c else accumulated(later, torch.randn_like, retain=True)


def fused_linear_orpo_loss(x, c):
    module, other = twice(lambda: nn.Linear(c["H"], c["V"], bias=False, dtype=torch.bfloat16).cuda())
    data = torch.randn(x, c["T"], c["H"], requires_grad=True, dtype=torch.bfloat16, device="cuda")
    target = torch.randint(c["V"], (x, c["T"]), dtype=torch.long, device="cuda")

    def cross_entropy_of(logits, labels):
        logits = logits.view(-1, logits.shape[-1])
        return nn.CrossEntropyLoss(ignore_index=-100)(logits, labels.view(-1))

    def log_probabilities(logits, labels):
        mask = labels != -100
        labels = torch.where(labels == -100, 0, labels)
        each = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
        return (each * mask).sum(-1) / mask.sum(-1)

    def parts():
        chosen = x // 2
        outputs = data @ module.weight.t()
        logits = outputs.float() if c["T"] == 1024 else outputs
        loss = cross_entropy_of(logits[:chosen], target[:chosen])
        p = log_probabilities(logits, target)
        return p[:chosen], p[chosen:], logits[:chosen], logits[chosen:], loss, other

    def forward():
        result = parts()
        p, q, _, _, loss = result[:5]
        odds = (p - q) - (torch.log1p(-torch.exp(p)) - torch.log1p(-torch.exp(q)))
        losses = 0.1 * F.logsigmoid(odds)
        return loss - losses.mean()

    return accumulated(forward)


def distill_jsd_loss(x, c):
    def make():
        return (nn.Linear(c["H"] // 2, c["V"], bias=False, dtype=torch.bfloat16).cuda(),
                nn.Linear(c["H"], c["V"], bias=False, dtype=torch.bfloat16).cuda())

    (student, teacher), other = twice(make)
    data = torch.rand(x, c["H"] // 2, device="cuda", dtype=torch.bfloat16)
    others = data.detach().clone().requires_grad_(True)
    mine = data.detach().clone().requires_grad_(True)
    teacher_data = torch.rand(x, c["H"], device="cuda", dtype=torch.bfloat16)
    target = torch.randint(0, c["V"], (x,), device="cuda", dtype=torch.long)

    def parts():
        outputs = mine.view(-1, mine.shape[1]) @ student.weight.t()
        teacher_outputs = teacher_data.view(-1, teacher_data.shape[1]) @ teacher.weight.t()
        logits, teacher_logits = outputs.view(x, -1).float(), teacher_outputs.view(x, -1).float()
        if torch.all(target == -100):
            return torch.tensor(0.0)
        return logits, teacher_logits, nn.CrossEntropyLoss()(logits, target)

    def soft(logits, teacher_logits):
        p, q = F.softmax(logits, dim=-1), F.softmax(teacher_logits, dim=-1)
        log_mean = torch.log((p + q) / 2)
        student_loss = F.kl_div(log_mean, torch.log(p), reduction="batchmean", log_target=True)
        teacher_loss = F.kl_div(log_mean, torch.log(q), reduction="batchmean", log_target=True)
        return (student_loss + teacher_loss) / 2

    def forward():
        result = parts()
        logits, teacher_logits, hard = result
        return (0.5 * hard + 0.5 * soft(logits / 1.0, teacher_logits / 1.0), others, other, data)[0]

    return accumulated(forward)


def softmax(x, c):
    data = torch.randn(x, device="cuda", dtype=getattr(torch, c["dtype"].split(".")[1]), requires_grad=True)
    return accumulated(lambda: nn.Softmax(dim=-1)(data), torch.ones_like, retain=True)


def setup(row):
    name = row["kernel"]
    more = {"geglu": [row["mode"]], "swiglu": [row["mode"]], "rope": [row["x_name"]]}.get(name, [])
    return globals()[name](int(row["x"]), json.loads(row["config"]), *more)


def median(run):
    peaks = []
    for _ in range(10):
        torch.cuda.memory.reset_peak_memory_stats()
        run()
        peaks.append(torch.cuda.max_memory_allocated() / 2**20)
    middle = torch.quantile(torch.tensor(peaks, dtype=torch.float), torch.tensor([0.5])).item()
    return round(middle * 2**20)


def main():
    path, gpu, *kernels = sys.argv[1:]
    with open(path) as file:
        rows = [(i, row) for i, row in enumerate(csv.DictReader(file, delimiter="\t"), 2)
                if gpu in row["gpu"] and (not kernels or row["kernel"] in kernels)]
    warm = set()
    for i, row in rows:
        if row["kernel"] not in warm:  # the measurement of speed
            warm.add(row["kernel"])
            alike = [r for _, r in rows if r["kernel"] == row["kernel"]]
            for first in alike if row["kernel"] == "distill_jsd_loss" else alike[:1]:
                setup(first | {"mode": "full"})()
        print("ROW", i, median(setup(row)), flush=True)


main()
