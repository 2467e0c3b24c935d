"""tests/oracle/prelude_cases.py - the cases of prelude_ops.py: what is run with torch and with the prelude in its
place."""
import torch


class Case:
    """run(lib, device) keeps alive what it returns.

    on_cpu      compare numbers there, too
    on_cuda     compare memory events
    any_order   what is freed by one event is a set: autocast's cache is a hash table by address
    """

    def __init__(self, run, on_cpu=True, on_cuda=True, any_order=False):
        self.run, self.on_cpu, self.on_cuda, self.any_order = run, on_cpu, on_cuda, any_order


# ---- modules ----

MODULES = (  # text after nn., input shape, then what is not on the CPU
    ("Linear(12, 7)", (5, 12)), ("Linear(12, 7, bias=False)", (3, 4, 12)), ("Identity(3, x=1)", (2, 3)),
    ("Conv1d(4, 6, 3, padding=1)", (2, 4, 20)), ("Conv1d(4, 6, 3, padding='same')", (2, 4, 20)),
    ("Conv1d(4, 6, 4, padding='same')", (2, 4, 20)), ("Conv2d(4, 6, 3, stride=2)", (2, 4, 12, 12)),
    ("Conv2d(4, 6, (3, 4), padding='same', dilation=(1, 1))", (2, 4, 12, 12)),
    ("Conv2d(4, 8, 3, padding='valid', groups=2, bias=False)", (2, 4, 12, 12)),
    ("ConvTranspose1d(4, 6, 3, stride=2, output_padding=1)", (2, 4, 9)),
    ("ConvTranspose2d(4, 6, 2, stride=2)", (2, 4, 6, 6)),
    ("Conv3d(4, 6, 3, stride=2)", (2, 4, 5, 8, 8)), ("Conv3d(4, 6, (1, 3, 4), padding='same')", (2, 4, 3, 8, 8)),
    ("Conv3d(4, 6, 3, padding=1, padding_mode='replicate')", (2, 4, 3, 8, 8)),
    ("ConvTranspose3d(4, 6, 2, stride=2)", (2, 4, 3, 6, 6)), ("BatchNorm3d(6)", (5, 6, 3, 4, 4)),
    ("InstanceNorm3d(6, affine=True)", (5, 6, 3, 4, 4)), ("InstanceNorm3d(6)", (6, 3, 4, 4)),
    ("BatchNorm1d(6)", (5, 6)), ("BatchNorm1d(6)", (5, 6, 4)), ("BatchNorm2d(6)", (5, 6, 4, 4)),
    ("BatchNorm2d(6, momentum=None)", (5, 6, 4, 4)), ("BatchNorm2d(6, affine=False)", (5, 6, 4, 4)),
    ("BatchNorm2d(6, track_running_stats=False)", (5, 6, 4, 4)),
    ("InstanceNorm1d(6)", (5, 6, 4)), ("InstanceNorm2d(6, affine=True)", (5, 6, 4, 4)),
    ("InstanceNorm2d(6, affine=True, track_running_stats=True)", (5, 6, 4, 4)),
    ("InstanceNorm2d(6)", (6, 4, 4)),
    ("LayerNorm(8)", (3, 5, 8)), ("LayerNorm((5, 8), bias=False)", (3, 5, 8)),
    ("RMSNorm(8)", (3, 5, 8)), ("GroupNorm(2, 6)", (3, 6, 5)),
    ("ReLU()", (3, 5)), ("ReLU(inplace=True)", (3, 5)), ("ReLU6()", (3, 5)), ("ReLU6(inplace=True)", (3, 5)),
    ("LeakyReLU(0.2)", (3, 5)), ("LeakyReLU(0.2, True)", (3, 5)), ("ELU()", (3, 5)),
    ("ELU(inplace=True)", (3, 5)), ("CELU(1.5)", (3, 5)), ("CELU(inplace=True)", (3, 5)), ("SELU()", (3, 5)),
    ("SELU(inplace=True)", (3, 5)), ("GELU()", (3, 5)), ("GELU('tanh')", (3, 5)), ("SiLU()", (3, 5)),
    ("SiLU(inplace=True)", (3, 5)), ("Mish()", (3, 5)), ("Mish(inplace=True)", (3, 5)), ("Sigmoid()", (3, 5)),
    ("Tanh()", (3, 5)), ("Hardswish()", (3, 5)), ("Hardswish(inplace=True)", (3, 5)),
    ("Hardsigmoid()", (3, 5)), ("Hardsigmoid(inplace=True)", (3, 5)), ("Hardtanh(-2, 2)", (3, 5)),
    ("Hardtanh(inplace=True)", (3, 5)), ("Softplus()", (3, 5)), ("Softmax(dim=1)", (3, 5)),
    ("Softmax()", (3, 5)), ("Softmin(dim=1)", (3, 5)), ("Softmax2d()", (2, 3, 4, 4)),
    ("LogSoftmax(dim=-1)", (3, 5)), ("LogSigmoid()", (3, 5)), ("PReLU()", (3, 5)), ("PReLU(5)", (3, 5)),
    ("GLU()", (3, 6)), ("Threshold(0.1, 20)", (3, 5)), ("Threshold(0.1, 20, True)", (3, 5)),
    ("RReLU()", (3, 5)), ("RReLU(inplace=True)", (3, 5)), ("Softsign()", (3, 5)), ("Tanhshrink()", (3, 5)),
    ("Dropout(0.3)", (3, 5)), ("Dropout(0.3, inplace=True)", (3, 5)), ("Dropout(0.0)", (3, 5)),
    ("Dropout1d(0.3)", (3, 5, 4)), ("Dropout1d(0.3)", (5, 4)), ("Dropout2d(0.3)", (3, 5, 4, 4)),
    ("Dropout2d(0.3, inplace=True)", (3, 5, 4, 4)), ("Dropout3d(0.3)", (3, 5, 2, 4, 4)),
    ("Dropout3d(0.3)", (5, 2, 4, 4)),
    ("MaxPool1d(2)", (3, 4, 8)), ("MaxPool2d(2)", (3, 4, 8, 8)), ("MaxPool2d(3, 2, 1)", (3, 4, 8, 8)),
    ("MaxPool2d(3, ceil_mode=True)", (3, 4, 8, 8)), ("AvgPool1d(2)", (3, 4, 8)),
    ("AvgPool2d(2)", (3, 4, 8, 8)), ("AvgPool2d(3, 2, 1, count_include_pad=False)", (3, 4, 8, 8)),
    ("AdaptiveAvgPool1d(3)", (3, 4, 8)), ("AdaptiveAvgPool2d(1)", (3, 4, 8, 8)),
    ("AdaptiveAvgPool2d((1, 1))", (3, 4, 8, 8)), ("AdaptiveAvgPool2d((3, None))", (3, 4, 8, 8)),
    ("AdaptiveMaxPool2d(2)", (3, 4, 8, 8)), ("AdaptiveMaxPool2d((2, None))", (3, 4, 8, 8)),
    ("MaxPool3d(2)", (3, 4, 4, 8, 8)), ("MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1))", (3, 4, 4, 8, 8)),
    ("AvgPool3d(2)", (3, 4, 4, 8, 8)), ("AdaptiveAvgPool3d((2, None, 3))", (3, 4, 4, 8, 8)),
    ("AdaptiveAvgPool3d(1)", (3, 4, 4, 8, 8)), ("AdaptiveMaxPool3d(2)", (3, 4, 4, 8, 8)),
    ("Flatten()", (3, 4, 8)), ("Flatten(0, 1)", (3, 4, 8)), ("Unflatten(1, (2, 4))", (3, 8)),
    ("Upsample(scale_factor=2)", (2, 3, 4, 4)), ("Upsample(size=9)", (2, 3, 4, 4)),
    ("Upsample(scale_factor=2.5, mode='bilinear')", (2, 3, 4, 4)),
    ("Upsample(size=(5, 7), mode='bilinear', align_corners=True)", (2, 3, 4, 4)),
    ("UpsamplingBilinear2d(scale_factor=2)", (2, 3, 4, 4)), ("UpsamplingNearest2d(scale_factor=2)", (2, 3, 4, 4)),
    ("ZeroPad2d(2)", (2, 3, 4, 4)), ("ZeroPad1d((1, 2))", (2, 3, 4)),
    ("ConstantPad2d((1, 2, 3, 4), 0.5)", (2, 3, 4, 4)), ("ConstantPad1d(2, 1.0)", (2, 3, 4)),
    ("Upsample(scale_factor=2)", (2, 3, 2, 4, 4)), ("Upsample(scale_factor=2, mode='trilinear')", (2, 3, 2, 4, 4)),
    ("Upsample(size=(3, 5, 7), mode='trilinear', align_corners=True)", (2, 3, 2, 4, 4)),
    ("ConstantPad3d((1, 2, 3, 4, 0, 1), 0.5)", (2, 3, 2, 4, 4)), ("ZeroPad3d(1)", (2, 3, 2, 4, 4)),
    ("ReflectionPad3d(1)", (2, 3, 2, 4, 4)), ("ReplicationPad3d((1, 2, 0, 1, 1, 1))", (2, 3, 2, 4, 4)),
    ("PixelShuffle(2)", (2, 8, 3, 3)),
    ("Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.Dropout(0.2))", (3, 6)),
)
TOKENS = ("Embedding(20, 8)", "Embedding(20, 8, padding_idx=3)", "Embedding(20, 8, padding_idx=-1)",
          "EmbeddingBag(20, 8)", "EmbeddingBag(20, 8, mode='sum', padding_idx=-1)", "EmbeddingBag(20, 8, mode='max')")


def module_case(text, shape, train=True, dtype=None):
    def run(lib, device):
        nn = lib.nn
        module = eval("nn." + text, {"nn": nn})
        module.train(train)
        module.to(device=device, dtype=dtype)
        shapes = shape if isinstance(shape[0], tuple) else (shape,)
        inputs = [torch.randn(s).to(device=device, dtype=dtype).requires_grad_() for s in shapes]
        moved = [x * 1.0 for x in inputs]
        out = module(*moved)
        del moved
        out.sum().backward()
        return [inputs, module, out]
    # momentum=None reads a counter, and the stand-in of a device has no values
    return Case(run, dtype is None, "momentum=None" not in text)


def token_case(text):
    def run(lib, device):
        module = eval("nn." + text, {"nn": lib.nn})
        module.to(device)
        ids = torch.randint(0, 20, (4, 6)).to(device)
        out = module(ids)
        out.sum().backward()
        return [module, out]
    return Case(run)


# ---- losses ----

PAIR_LOSSES = ("MSELoss()", "MSELoss(reduction='sum')", "L1Loss()", "L1Loss(reduction='none')",
               "SmoothL1Loss()", "SmoothL1Loss(beta=0.0)", "HuberLoss()", "HuberLoss(delta=0.5, reduction='sum')",
               "KLDivLoss()", "KLDivLoss(reduction='batchmean')", "KLDivLoss(log_target=True)", "BCELoss()",
               "BCELoss(reduction='none')", "BCEWithLogitsLoss()", "BCEWithLogitsLoss(reduction='sum')",
               "MSELoss(size_average=False)")
CLASS_LOSSES = ("CrossEntropyLoss()", "CrossEntropyLoss(label_smoothing=0.1)", "CrossEntropyLoss(reduction='sum')",
                "CrossEntropyLoss(weight=torch.ones(7))", "CrossEntropyLoss(ignore_index=2)", "NLLLoss()",
                "NLLLoss(weight=torch.ones(7), reduction='none')")


def pair_loss_case(text, broadcast=False):
    def run(lib, device):
        loss = eval("nn." + text, {"nn": lib.nn})
        x = torch.rand(4, 5).to(device).requires_grad_()
        y = torch.rand(5 if broadcast else (4, 5)).to(device)
        out = loss(x * 1.0, y)
        out.sum().backward()
        return [x, out]
    return Case(run)


def class_loss_case(text, shape):
    def run(lib, device):
        loss = eval("nn." + text, {"nn": lib.nn, "torch": torch}).to(device)
        x = torch.randn(shape).to(device).requires_grad_()
        y = torch.randint(0, 7, shape[:1] + shape[2:]).to(device)
        out = loss(x * 1.0, y)
        out.sum().backward()
        return [x, out]
    return Case(run)


# ---- functions ----

FUNCTIONS = {
    "normalize": lambda lib, x: lib.nn.functional.normalize(x, dim=1),
    "einsum": lambda lib, x: lib.einsum("ij,kj->ik", x, x),
    "einsum in a list": lambda lib, x: lib.einsum("ij->ji", [x]),
    "norm": lambda lib, x: lib.norm(x),
    "norm of a dim": lambda lib, x: lib.norm(x, dim=1, keepdim=True),
    "broadcast_tensors": lambda lib, x: lib.broadcast_tensors(x, x[:, :1])[1],
    "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 2)),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5),
    "relu twice": lambda lib, x: lib.nn.functional.relu(lib.nn.functional.relu(x) + x),
    "relu_ in place": lambda lib, x: lib.nn.functional.relu(x, inplace=True) * 2,
    "softmax with dtype": lambda lib, x: lib.nn.functional.softmax(x, dim=0, dtype=torch.float64),
    "mse with weight": lambda lib, x: lib.nn.functional.mse_loss(x, x * 2, weight=torch.ones_like(x)),
    "l1 with weight": lambda lib, x: lib.nn.functional.l1_loss(x, x * 2, weight=torch.ones_like(x)),
    "huber with weight": lambda lib, x: lib.nn.functional.huber_loss(x, x * 2, weight=torch.ones_like(x)),
    "bce with weight": lambda lib, x: lib.nn.functional.binary_cross_entropy(
        x.sigmoid(), torch.ones_like(x), weight=torch.ones_like(x[0])),
    "interpolate linear": lambda lib, x: lib.nn.functional.interpolate(x[None], scale_factor=2.5, mode="linear"),
    "interpolate linear to size": lambda lib, x: lib.nn.functional.interpolate(
        x[None], size=9, mode="linear", align_corners=True),
    "vector_norm": lambda lib, x: lib.linalg.vector_norm(x, dim=1),
    "interpolate area": lambda lib, x: lib.nn.functional.interpolate(x[None, None], size=2, mode="area"),
}


def function_case(function):
    def run(lib, device):
        x = torch.randn(6, 6).to(device).requires_grad_()
        out = function(lib, x * 1.0)
        out.sum().backward()
        return [x, out]
    return Case(run)


# ---- attention ----

def attention_case(batch_first, need_weights, same, dropout=0.0, mask=None, train=True, **words):
    def run(lib, device):
        module = lib.nn.MultiheadAttention(16, 4, dropout=dropout, batch_first=batch_first, **words)
        module.train(train).to(device)
        q = torch.randn(3, 5, 16).to(device).requires_grad_()
        if same == "all":
            k = v = q
        elif same == "kv":
            k = v = torch.randn(3, 5, 16).to(device).requires_grad_()
        else:
            k = torch.randn(3, 5, words.get("kdim", 16)).to(device).requires_grad_()
            v = torch.randn(3, 5, words.get("vdim", 16)).to(device).requires_grad_()
        length = 5 if batch_first else 3
        masks = {}
        if mask == "bool":
            masks["attn_mask"] = torch.ones(length, length, dtype=torch.bool).triu(1).to(device)
        if mask == "float":
            masks["attn_mask"] = torch.zeros(length, length).to(device)
        if mask == "padding":
            masks["key_padding_mask"] = torch.zeros(8 - length, length, dtype=torch.bool).to(device)
        out, weights = module(q, k, v, need_weights=need_weights, **masks)
        out.sum().backward()
        return [q, k, v, module, out]
    return Case(run)


def encoder_case(**words):
    def run(lib, device):
        module = lib.nn.TransformerEncoderLayer(16, 4, 32, **words).to(device)
        x = torch.randn(3, 5, 16).to(device).requires_grad_()
        out = module(x)
        out.sum().backward()
        return [x, module, out]
    return Case(run)


# ---- optimizers ----

OPTIMIZERS = (
    "SGD(params, lr=0.1)", "SGD(params, lr=0.1, weight_decay=0.1)",
    "SGD(params, lr=0.1, maximize=True, weight_decay=0.1)",
    "SGD(params, lr=0.1, momentum=0.9)", "SGD(params, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)",
    "Adam(params)", "Adam(params, weight_decay=0.1)", "Adam(params, amsgrad=True)",
    "Adam(params, maximize=True, weight_decay=0.1)",
    "AdamW(params)", "AdamW(params, amsgrad=True, maximize=True)", "RMSprop(params)",
    "RMSprop(params, momentum=0.9, centered=True, weight_decay=0.1)", "RMSprop(params, maximize=True)",
    "Adagrad(params)", "Adagrad(params, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.1)",
    "Adagrad(params, maximize=True)", "Adam(groups, lr=0.01)", "SGD(groups, lr=0.01, momentum=0.9)",
)


def optimizer_case(text, words, set_to_none=True, half=False, scaled=False, clip=False):
    def run(lib, device):
        params = [torch.nn.Parameter(torch.randn(s).to(device)) for s in ((50, 40), (40,), (3, 200), (1,), ())]
        if half:
            params[1] = torch.nn.Parameter(params[1].detach().half())
        unused = torch.nn.Parameter(torch.randn(7).to(device))
        params.append(unused)
        groups = [dict(params=params[:2], lr=0.5, weight_decay=0.1), dict(params=params[2:])]
        optimizer = eval("optim." + text[:-1] + words + ")", dict(optim=lib.optim, params=params, groups=groups))
        scaler = lib.amp.GradScaler(device, init_scale=8.0) if scaled else None
        for step in range(3):
            loss = sum((p.float() * (p.float() + step + 1)).sum() for p in params[:5])
            if scaled:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                if clip:
                    lib.nn.utils.clip_grad_norm_(params, 1.0, foreach=False if device == "cpu" else None)
                optimizer.step()
            optimizer.zero_grad(set_to_none=set_to_none)
        states = [v for p in params for k, v in optimizer.state.get(p, {}).items() if k != "step"]
        return [params, states] + ([torch.tensor(scaler.get_scale())] if scaled and device == "cpu" else [])
    return Case(run, not half)


def overflow_case():
    def run(lib, device):
        p = torch.nn.Parameter(torch.ones(10).to(device))
        optimizer = lib.optim.Adam([p])
        scaler = lib.amp.GradScaler(device, growth_interval=2)
        scales = []
        for step in range(5):
            value = float("inf") if step == 1 else 1.0
            scaler.scale((p * value).sum()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
        a, b = scaler.scale([p.sum(), (p * 2).sum()])
        return [p, a, b] + ([torch.tensor(scales)] if device == "cpu" else [])
    return Case(run)


# ---- checkpoint ----

def checkpoint_case(kind, amp=False, nested=False):
    def run(lib, device):
        nn, ck = torch.nn, lib.utils.checkpoint
        layers = [nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Dropout(0.1 if device == "cuda" else 0.0)).to(device)
                  for i in range(6)]
        x = torch.randn(8, 20).to(device).requires_grad_()
        loss = 0
        for step in range(2):
            with torch.autocast(device, enabled=amp, dtype=torch.bfloat16):
                if kind == "sequential":
                    y = ck.checkpoint_sequential(nn.Sequential(*layers), 3, x, use_reentrant=True)
                elif kind == "sequential list":
                    y = ck.checkpoint_sequential(layers, 2, x, use_reentrant=True, preserve_rng_state=False)
                elif nested:
                    def inner(a):
                        return ck.checkpoint(layers[1], layers[0](a), use_reentrant=True)
                    y = layers[2](ck.checkpoint(inner, x, use_reentrant=True))
                else:
                    def two(a, scale, b):
                        return layers[0](a) * scale, layers[1](b)
                    a, b = ck.checkpoint(two, x, 2.0, x * 3)
                    y = layers[2](a + b)
            y.float().sum().backward()
        return [layers, x, y]
    return Case(run, on_cpu=not amp, any_order=amp)


def cases():
    for text, shape in MODULES:
        yield "module %s %s" % (text, shape), module_case(text, shape)
        yield "eval module %s %s" % (text, shape), module_case(text, shape, train=False)
        yield "half module %s %s" % (text, shape), module_case(text, shape, dtype=torch.float16)
    for text in TOKENS:
        yield "module " + text, token_case(text)
    for text in PAIR_LOSSES:
        yield "loss " + text, pair_loss_case(text)
    yield "loss MSELoss broadcast", pair_loss_case("MSELoss()", True)
    for text in CLASS_LOSSES:
        yield "loss " + text, class_loss_case(text, (6, 7))
        yield "loss " + text + " 2d", class_loss_case(text, (2, 7, 3, 3))
    for name, function in FUNCTIONS.items():
        yield "function " + name, function_case(function)
    for batch_first in (False, True):
        for need_weights in (False, True):
            for same in ("all", "kv", "none"):
                name = "attention first=%s weights=%s same=%s" % (batch_first, need_weights, same)
                yield name, attention_case(batch_first, need_weights, same)
    for mask in ("bool", "float", "padding"):
        yield "attention mask " + mask, attention_case(True, False, "all", mask=mask)
        yield "attention weights mask " + mask, attention_case(True, True, "all", mask=mask)
    yield "attention kdim", attention_case(True, True, "none", kdim=10, vdim=12)
    yield "attention bias_kv zero", attention_case(False, True, "all", add_bias_kv=True, add_zero_attn=True)
    yield "attention no bias", attention_case(True, True, "all", bias=False)
    yield "attention dropout", attention_case(True, True, "all", dropout=0.2)
    yield "attention eval", attention_case(True, True, "all", train=False)
    for words in ({}, dict(norm_first=True), dict(batch_first=True, activation="gelu", dropout=0.0)):
        yield "encoder layer %s" % words, encoder_case(**words)
    for text in OPTIMIZERS:
        for words in ("", ", foreach=False", ", foreach=True"):
            yield "optimizer " + text + words, optimizer_case(text, words)
        yield "optimizer zeros " + text, optimizer_case(text, "", set_to_none=False)
        yield "optimizer zeros foreach " + text, optimizer_case(text, ", foreach=True", set_to_none=False)
        yield "optimizer half " + text, optimizer_case(text, "", half=True)
        yield "optimizer scaled " + text, optimizer_case(text, "", scaled=True)
    yield "optimizer clipped", optimizer_case("SGD(params, lr=0.1)", "", clip=True)
    yield "scaler overflow", overflow_case()
    for amp in (False, True):
        for kind in ("plain", "sequential", "sequential list"):
            yield "checkpoint %s amp=%s" % (kind, amp), checkpoint_case(kind, amp)
        yield "checkpoint nested amp=%s" % amp, checkpoint_case("plain", amp, nested=True)
