/*
 * tests/property/netgen_train.c - the parts of a random net other than its blocks: functions that the blocks call,
 * loss, optimizer, training step.
 *
 * Must not know:  the engine.
 * Invariant:      as in netgen_internal.h.
 */
#include <string.h>

#include "tests/property/netgen_internal.h"

/* ---- drawing ---- */

/* xorshift64*, as in tests/engine/alloc/test_random.c */
uint32_t netgen_draw(struct gen *g, uint32_t below)
{
    g->random ^= g->random >> 12;
    g->random ^= g->random << 25;
    g->random ^= g->random >> 27;
    return (uint32_t)((g->random * UINT64_C(2685821657736338717) >> 33) % below);
}

void netgen_seed(struct gen *g, uint64_t seed)
{
    memset(g, 0, sizeof(*g));
    g->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    netgen_draw(g, 2);
    netgen_draw(g, 2);
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define ANY_OF(g, table) ((table)[netgen_draw(g, COUNT(table))])

/* ---- helpers ---- */

struct helper {
    const char *name, *text;
};

/* clang-format off */
static const struct helper HELPERS[] = {
#define NETGEN_HELPER(name, text) {name, text},
#include "tests/property/netgen_helpers.def"
#undef NETGEN_HELPER
};
/* clang-format on */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool mentions(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
        if ((p == text || !is_letter(p[-1])) && !is_letter(p[len]))
            return true;
    }
    return false;
}

void netgen_add_helpers(struct vs_text *out, const char *body)
{
    bool used[COUNT(HELPERS)];

    for (size_t i = COUNT(HELPERS); i-- > 0;) { /* those below call those above */
        used[i] = mentions(body, HELPERS[i].name);
        for (size_t k = i + 1; k < COUNT(HELPERS); k++)
            used[i] = used[i] || (used[k] && mentions(HELPERS[k].text, HELPERS[i].name));
    }
    for (size_t i = 0; i < COUNT(HELPERS); i++) {
        if (used[i])
            vs_text_addf(out, "%s\n\n", HELPERS[i].text);
    }
}

/* ---- loss, optimizer ---- */

static const char *const LOSSES[] = {
    "F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())",
    "F.cross_entropy(output, target, label_smoothing=0.1)",
    "F.cross_entropy(output, target, weight=torch.ones(10, device=output.device, "
    "dtype=output.dtype), ignore_index=3)",
    "F.cross_entropy(output, F.one_hot(target, 10).to(output.dtype))",
    "F.cross_entropy(output, target, reduction=\"none\").mean()",
    "F.nll_loss(F.log_softmax(output, 1), target, reduction=\"sum\")",
    "F.binary_cross_entropy_with_logits(output, F.one_hot(target, 10).to(output.dtype))",
    "F.kl_div(F.log_softmax(output, 1), F.softmax(output.detach() * 0.5, 1), "
    "reduction=\"batchmean\")",
    "F.huber_loss(output, F.one_hot(target, 10).to(output.dtype)) + "
    "F.l1_loss(output, output.detach() * 0.5)",
    "F.smooth_l1_loss(output, F.one_hot(target, 10).to(output.dtype), beta=0.5)",
    "nn.CrossEntropyLoss()(output, target) + 0.01 * output.float().pow(2).mean()",
    "-(output.log_softmax(1).gather(1, target[:, None]) * (1.0 - output.softmax(1).gather(1, "
    "target[:, None])) ** 2).mean()",
    "torch.logsumexp(output, 1).mean() - output[torch.arange(output.shape[0], "
    "device=output.device), target].mean()",
};

static const char *const OPTIMIZERS[] = {
    "torch.optim.SGD(params, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "torch.optim.SGD(params, lr=0.01, momentum=0.9, dampening=0.1, maximize=True)",
    "torch.optim.SGD(params, lr=0.01, weight_decay=0.1, foreach=False)",
    "torch.optim.SGD(params, lr=0.01, momentum=0.5, nesterov=True, foreach=False, maximize=True)",
    "torch.optim.Adam(params, lr=0.001, amsgrad=True)",
    "torch.optim.Adam(params, lr=0.001, weight_decay=0.1, maximize=True)",
    "torch.optim.Adam(params, lr=0.001, amsgrad=True, weight_decay=0.1, foreach=False)",
    "torch.optim.AdamW(params, lr=0.001, amsgrad=True, maximize=True)",
    "torch.optim.AdamW(params, lr=0.001, foreach=False)",
    "torch.optim.RMSprop(params, lr=0.001)",
    "torch.optim.RMSprop(params, lr=0.001, centered=True, momentum=0.9, weight_decay=0.1)",
    "torch.optim.RMSprop(params, lr=0.001, centered=True, momentum=0.9, foreach=False)",
    "torch.optim.Adagrad(params, lr=0.01)",
    "torch.optim.Adagrad(params, lr=0.01, lr_decay=0.1, weight_decay=0.1, foreach=False)",
};

static const char *const GROUPS[] = {
    "[p for p in model.parameters() if p.requires_grad]",
    "model.parameters()",
    ("[{\"params\": [p for p in model.parameters() if p.dim() > 1]}, "
     "{\"params\": [p for p in model.parameters() if p.dim() <= 1], \"weight_decay\": 0.0}]"),
};

/* ---- the training step ---- */

static const char *const AUTOCASTS[] = {
    "torch.autocast(\"cuda\", enabled=False)",
    "torch.autocast(\"cuda\", enabled=False)",
    "torch.autocast(\"cuda\", dtype=torch.bfloat16)",
    "torch.autocast(\"cuda\", dtype=torch.float16)",
    "torch.autocast(\"cuda\", dtype=torch.float16, cache_enabled=False)",
};

/* Gradients of `l`. */
static const char *const BACKWARDS[] = {
    "    scaler.scale(l).backward()\n",
    "    scaler.scale(l).backward()\n    del output\n",
    "    scaler.scale(l).backward(retain_graph=True)\n    scaler.scale(l * 0.5).backward()\n",
    "    scaler.scale(l + output.float().abs().mean() * 0.1).backward()\n    l = l.detach()\n",
    "    weights = [p for p in model.parameters() if p.requires_grad]\n"
    "    grads = torch.autograd.grad(scaler.scale(l), weights, allow_unused=True)\n"
    "    for p, g in zip(weights, grads):\n        p.grad = g\n    del p, g, grads\n",
    ("    (scaler.scale(l) + sum(p.float().pow(2).sum() for p in model.parameters() "
     "if p.requires_grad) * 0.001).backward()\n"),
};

static const char *const BETWEENS[] = {
    "",
    "",
    "    scaler.unscale_(optimizer)\n"
    "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    "    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=False)\n",
    "    torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)\n",
    "    for p in model.parameters():\n        if p.grad is not None:\n"
    "            p.grad.add_(torch.randn_like(p.grad), alpha=0.01)\n",
    "    for p in model.parameters():\n        if p.grad is not None:\n"
    "            p.grad = p.grad * 0.5\n",
};

static const char *const AFTERS[] = {
    "",
    "",
    "    optimizer.zero_grad()\n",
    "    optimizer.zero_grad(set_to_none=False)\n",
    "    with torch.no_grad():\n        if not hasattr(model, \"average\"):\n"
    "            model.average = [p.detach().clone() for p in model.parameters()]\n"
    "        for a, p in zip(model.average, model.parameters()):\n"
    "            a.mul_(0.9).add_(p, alpha=0.1)\n",
    "    with torch.no_grad():\n        if not hasattr(model, \"average\"):\n"
    "            model.average = [p.detach().clone() for p in model.parameters()]\n"
    "        for a, p in zip(model.average, model.parameters()):\n"
    "            a.lerp_(p, 0.1)\n",
};

static const char *const BEFORES[] = {
    "",
    "",
    "    inputs = inputs * 1.0 if inputs.is_floating_point() else inputs\n",
    "    optimizer.zero_grad(set_to_none=False)\n",
    ("    for part, aim in zip(inputs.chunk(2), targets.chunk(2)):\n"
     "        scaler.scale(loss(model(part), aim) / 2).backward()\n"),
    "    with torch.no_grad():\n        teacher = model(inputs).mean()\n",
};

static void add_train_step(struct gen *g, struct vs_text *out)
{
    vs_text_add(out, "def train_step(model, optimizer, scaler, inputs, targets):\n");
    vs_text_add(out, ANY_OF(g, BEFORES));
    vs_text_addf(out, "    with %s:\n", ANY_OF(g, AUTOCASTS));
    vs_text_add(out, "        output = model(inputs)\n        l = loss(output, targets)\n");
    vs_text_add(out, ANY_OF(g, BACKWARDS));
    vs_text_add(out, ANY_OF(g, BETWEENS));
    vs_text_add(out, "    scaler.step(optimizer)\n    scaler.update()\n");
    vs_text_add(out, ANY_OF(g, AFTERS));
    vs_text_addf(out, "    return %s\n\n\n", netgen_draw(g, 2) ? "l" : "l.detach()");
}

void netgen_add_training(struct gen *g, struct vs_text *out)
{
    bool own_step = netgen_draw(g, 4) == 0;

    if (own_step || netgen_draw(g, 2))
        vs_text_addf(out, "def loss(output, target):\n    return %s\n\n\n", ANY_OF(g, LOSSES));
    if (netgen_draw(g, 4) == 0)
        vs_text_addf(out, "def optimizer(model):\n    params = %s\n    return %s\n\n\n",
                     ANY_OF(g, GROUPS), ANY_OF(g, OPTIMIZERS));
    if (own_step)
        add_train_step(g, out);
}
