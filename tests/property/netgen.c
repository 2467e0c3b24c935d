/*
 * tests/property/netgen.c - see netgen.h.
 *
 * A block is a list of statements; each takes one or two variables that are alive and gives a new one, or rebinds an old name. All that is
 * computed has a part in the result, so that PyTorch's trial of in-place modules, which compares values, sees all of it. What may be
 * written is a table of templates: %v a variable, %w another of the same shape, %m the block's next module, %c the channels of
 * %v, %n other channels.
 */
#include "tests/property/netgen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* ---- drawing ---- */

struct gen {
    uint64_t random;
    struct vs_text modules; /* lines of __init__ of the block being written */
    struct vs_text forward;
    int module_count;
    int kind; /* IMAGE, SEQUENCE, VECTOR */
};

/* xorshift64*, as in test_alloc_random.c */
static uint32_t draw(struct gen *g, uint32_t below)
{
    g->random ^= g->random >> 12;
    g->random ^= g->random << 25;
    g->random ^= g->random >> 27;
    return (uint32_t)((g->random * UINT64_C(2685821657736338717) >> 33) % below);
}

static void seed_set(struct gen *g, uint64_t seed)
{
    memset(g, 0, sizeof(*g));
    g->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    draw(g, 2);
    draw(g, 2);
}

/* ---- templates ---- */

enum { IMAGE = 1, SEQUENCE = 2, VECTOR = 4, ANY = 7 };
enum effect { SAME, CHANNELS, HALF_CHANNELS, MORE_CHANNELS, HALF_SIDE, DOUBLE_SIDE };

struct template
{
    int kinds;
    enum effect effect;
    const char *module; /* NULL: none */
    const char *text;
};

/* Modules with an attribute `inplace`; ELU, CELU and SELU are left out (docs/fidelity.md). */
static const char *const ACTIVATIONS[] = {"nn.ReLU()",         "nn.ReLU6()",
                                          "nn.LeakyReLU(0.1)", "nn.SiLU()",
                                          "nn.Mish()",         "nn.Hardswish()",
                                          "nn.Hardsigmoid()",  "nn.Hardtanh()",
                                          "nn.Dropout(0.2)",   "nn.Threshold(0.1, 0.2)"};

static const struct template MODULES[] = {
    {IMAGE, CHANNELS, "nn.Conv2d(%c, %n, 3, padding=1)", "self.%m(%v)"},
    {IMAGE, CHANNELS, "nn.Conv2d(%c, %n, 1, bias=False)", "self.%m(%v)"},
    {IMAGE, SAME, "nn.Conv2d(%c, %c, 3, padding=1, groups=%c)", "self.%m(%v)"},
    {IMAGE, CHANNELS, "nn.Conv2d(%c, %n, 3, padding=1, padding_mode=\"reflect\")", "self.%m(%v)"},
    {IMAGE, SAME, "nn.BatchNorm2d(%c)", "self.%m(%v)"},
    {IMAGE, SAME, "nn.GroupNorm(2, %c)", "self.%m(%v)"},
    {IMAGE, SAME, "nn.InstanceNorm2d(%c, affine=True)", "self.%m(%v)"},
    {IMAGE, SAME, "nn.PReLU(%c)", "self.%m(%v)"},
    {IMAGE, HALF_SIDE, "nn.MaxPool2d(2)", "self.%m(%v)"},
    {IMAGE, HALF_SIDE, "nn.AvgPool2d(2)", "self.%m(%v)"},
    {IMAGE, HALF_SIDE, "nn.Conv2d(%c, %c, 2, stride=2)", "self.%m(%v)"},
    {IMAGE, DOUBLE_SIDE, "nn.ConvTranspose2d(%c, %c, 2, stride=2)", "self.%m(%v)"},
    {IMAGE, SAME, "nn.Dropout2d(0.2)", "self.%m(%v)"},
    {SEQUENCE | VECTOR, CHANNELS, "nn.Linear(%c, %n)", "self.%m(%v)"},
    {SEQUENCE | VECTOR, CHANNELS, "nn.Linear(%c, %n, bias=False)", "self.%m(%v)"},
    {SEQUENCE | VECTOR, SAME, "nn.LayerNorm(%c)", "self.%m(%v)"},
    {SEQUENCE | VECTOR, SAME, "nn.RMSNorm(%c)", "self.%m(%v)"},
    {SEQUENCE, SAME, "nn.MultiheadAttention(%c, 2, batch_first=True)",
     "self.%m(%v, %v, %v, need_weights=False)[0]"},
    {VECTOR, SAME, "nn.BatchNorm1d(%c)", "self.%m(%v)"},
    {VECTOR, SAME, "nn.PReLU()", "self.%m(%v)"},
};

static const struct template ONE[] = {
    {ANY, SAME, NULL, "%v * 0.5"},
    {ANY, SAME, NULL, "1.0 - %v"},
    {ANY, SAME, NULL, "%v.abs()"},
    {ANY, SAME, NULL, "%v.tanh()"},
    {ANY, SAME, NULL, "torch.sigmoid(%v)"},
    {ANY, SAME, NULL, "torch.exp(-%v.abs())"},
    {ANY, SAME, NULL, "torch.log(%v.abs() + 1.0)"},
    {ANY, SAME, NULL, "torch.sqrt(%v.abs() + 0.5)"},
    {ANY, SAME, NULL, "torch.rsqrt(%v.abs() + 0.5)"},
    {ANY, SAME, NULL, "%v ** 2"},
    {ANY, SAME, NULL, "%v.sin() + %v.cos()"},
    {ANY, SAME, NULL, "torch.erf(%v)"},
    {ANY, SAME, NULL, "%v.clamp(-1.0, 1.0)"},
    {ANY, SAME, NULL, "%v.clamp(min=-0.5)"},
    {ANY, SAME, NULL, "-%v"},
    {ANY, SAME, NULL, "F.relu(%v)"},
    {ANY, SAME, NULL, "F.gelu(%v)"},
    {ANY, SAME, NULL, "F.gelu(%v, approximate=\"tanh\")"},
    {ANY, SAME, NULL, "F.elu(%v)"},
    {ANY, SAME, NULL, "F.softplus(%v)"},
    {ANY, SAME, NULL, "F.logsigmoid(%v)"},
    {ANY, SAME, NULL, "F.softsign(%v)"},
    {ANY, SAME, NULL, "F.hardshrink(%v)"},
    {ANY, SAME, NULL, "torch.where(%v > 0.0, %v, %v * 0.1)"},
    {ANY, SAME, NULL, "%v.masked_fill(%v > 0.5, 0.0)"},
    {ANY, SAME, NULL, "torch.atan(%v)"},
    {ANY, SAME, NULL, "torch.log1p(%v.abs())"},
    {ANY, SAME, NULL, "%v.detach() * 0.5 + %v"},
    {ANY, SAME, NULL, "F.dropout(%v, 0.25, self.training)"},
    {ANY, SAME, NULL, "%v / (%v.abs() + 1.0)"},
    {ANY, SAME, NULL, "torch.softmax(%v, -1)"},
    {ANY, SAME, NULL, "F.log_softmax(%v, 1)"},
    {ANY, SAME, NULL, "%v - %v.mean(-1, keepdim=True)"},
    {ANY, SAME, NULL, "%v - %v.amax(-1, keepdim=True)"},
    {ANY, SAME, NULL, "%v * torch.rsqrt(%v.pow(2).mean(-1, keepdim=True) + 1e-5)"},
    {ANY, SAME, NULL, "%v / (%v.std(-1, keepdim=True) + 0.1)"},
    {ANY, SAME, NULL, "%v.cumsum(-1)"},
    {ANY, SAME, NULL, "torch.sort(%v, dim=-1)[0]"},
    {ANY, SAME, NULL, "%v.flip(-1)"},
    {ANY, SAME, NULL, "F.normalize(%v, dim=-1)"},
    {ANY, SAME, NULL, "torch.cat((%v[:, 1:], %v[:, :1]), 1)"},
    {ANY, SAME, NULL, "%v - torch.logsumexp(%v, 1, keepdim=True)"},
    {IMAGE, SAME, NULL, "%v.transpose(2, 3)"},
    {IMAGE, SAME, NULL, "%v * torch.sigmoid(%v.mean((2, 3), keepdim=True))"},
    {IMAGE, HALF_CHANNELS, NULL, "F.glu(%v, 1)"},
    {IMAGE, HALF_CHANNELS, NULL, "%v.chunk(2, 1)[0] * %v.chunk(2, 1)[1].sigmoid()"},
    {IMAGE, DOUBLE_SIDE, NULL, "F.interpolate(%v, scale_factor=2.0)"},
    {IMAGE, DOUBLE_SIDE, NULL,
     "F.interpolate(%v, scale_factor=2.0, mode=\"bilinear\", align_corners=False)"},
    {IMAGE, HALF_SIDE, NULL, "F.max_pool2d(%v, 2)"},
    {IMAGE, HALF_SIDE, NULL, "%v[:, :, ::2, ::2]"},
    {IMAGE, SAME, NULL, "F.avg_pool2d(%v, 3, 1, 1)"},
    {IMAGE, SAME, NULL, "F.pad(%v, (1, 0, 0, 1))[:, :, 1:, :-1]"},
    {SEQUENCE, SAME, NULL, "torch.softmax(%v @ %v.transpose(1, 2) * 0.3, -1) @ %v"},
    {SEQUENCE, SAME, NULL,
     "F.scaled_dot_product_attention(%v.unsqueeze(1), %v.unsqueeze(1), "
     "%v.unsqueeze(1)).squeeze(1)"},
    {SEQUENCE, HALF_CHANNELS, NULL, "F.glu(%v)"},
    {SEQUENCE, SAME, NULL, "%v.transpose(1, 2).contiguous().transpose(1, 2)"},
    {VECTOR, HALF_CHANNELS, NULL, "F.glu(%v)"},
    {VECTOR, SAME, NULL, "%v.reshape(-1, 2, %c // 2).transpose(1, 2).reshape(-1, %c)"},
};

static const struct template TWO[] = {
    {ANY, SAME, NULL, "%v + %w"},
    {ANY, SAME, NULL, "%v * %w"},
    {ANY, SAME, NULL, "%v - %w"},
    {ANY, SAME, NULL, "torch.maximum(%v, %w)"},
    {ANY, SAME, NULL, "%v / (%w.abs() + 1.0)"},
    {ANY, SAME, NULL, "torch.lerp(%v, %w, 0.3)"},
    {ANY, SAME, NULL, "torch.addcmul(%v, %w, %v, value=0.1)"},
    {ANY, SAME, NULL, "torch.stack((%v, %w)).mean(0)"},
    {ANY, SAME, NULL, "torch.where(%v > %w, %v, %w)"},
    {IMAGE, MORE_CHANNELS, NULL, "torch.cat((%v, %w), 1)"},
    {SEQUENCE | VECTOR, MORE_CHANNELS, NULL, "torch.cat((%v, %w), -1)"},
    {SEQUENCE, SAME, NULL, "torch.einsum(\"btd,bsd->bts\", %v, %w).softmax(-1) @ %w"},
};

/* What users write in place. Autograd may refuse it, here as there. */
static const struct template IN_PLACE[] = {
    {ANY, SAME, NULL, "%v.mul_(0.9)"},
    {ANY, SAME, NULL, "%v.add_(%w)"},
    {ANY, SAME, NULL, "F.relu(%v, inplace=True)"},
    {ANY, SAME, NULL, "%v.tanh_()"},
    {ANY, SAME, NULL, "%v.clamp_(-2.0, 2.0)"},
};

/* ---- a block ---- */

struct shape {
    int channels, side;
};

struct variable {
    char name[8];
    struct shape shape;
    bool used;
};

#define VARIABLES 12
#define CHANNELS_MAX 24

struct scope {
    struct variable vars[VARIABLES];
    int count;
    int names; /* handed out */
};

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->channels == b->channels && a->side == b->side;
}

static bool fits(const struct gen *g, const struct template *t, const struct shape *s)
{
    if (!(t->kinds & g->kind))
        return false;
    switch (t->effect) {
    case SAME:
    case CHANNELS:
        return true;
    case HALF_CHANNELS:
        return s->channels % 4 == 0 && s->channels >= 8;
    case MORE_CHANNELS:
        return 2 * s->channels <= CHANNELS_MAX;
    case HALF_SIDE:
        return s->side >= 4;
    case DOUBLE_SIDE:
        return s->side <= 8;
    }
    return false;
}

static struct shape after(enum effect effect, struct shape s, int other)
{
    switch (effect) {
    case SAME:
        break;
    case CHANNELS:
        s.channels = other;
        break;
    case HALF_CHANNELS:
        s.channels /= 2;
        break;
    case MORE_CHANNELS:
        s.channels *= 2;
        break;
    case HALF_SIDE:
        s.side /= 2;
        break;
    case DOUBLE_SIDE:
        s.side *= 2;
        break;
    }
    return s;
}

static void fill_in(struct vs_text *out, const char *text, const char *v, const char *w, int c,
                    int n, int m)
{
    for (; *text; text++) {
        if (*text != '%') {
            vs_text_add_char(out, *text);
            continue;
        }
        switch (*++text) {
        case 'v':
            vs_text_add(out, v);
            break;
        case 'w':
            vs_text_add(out, w);
            break;
        case 'c':
            vs_text_addf(out, "%d", c);
            break;
        case 'n':
            vs_text_addf(out, "%d", n);
            break;
        default:
            vs_text_addf(out, "m%d", m);
            break;
        }
    }
}

/* Another variable of the shape of `v`; v itself where there is none. */
static int partner(struct gen *g, const struct scope *s, int v)
{
    int start = (int)draw(g, (uint32_t)s->count);

    for (int i = 0; i < s->count; i++) {
        int k = (start + i) % s->count;

        if (k != v && same_shape(&s->vars[k].shape, &s->vars[v].shape))
            return k;
    }
    return v;
}

/* The result gets a new name, or the name of what it was made of, which then holds it. */
static struct variable *target(struct gen *g, struct scope *s, int v, struct shape shape)
{
    struct variable *out = &s->vars[v];

    if (s->count < VARIABLES && draw(g, 2)) {
        out = &s->vars[s->count++];
        snprintf(out->name, sizeof(out->name), "a%d", s->names++ % 1000);
    }
    out->shape = shape;
    out->used = false;
    return out;
}

static const struct template *pick(struct gen *g, struct template *activation, bool *in_place)
{
    uint32_t what = draw(g, 100);

    *in_place = what >= 96;
    if (what < 18) {
        activation->kinds = ANY;
        activation->effect = SAME;
        activation->module = ACTIVATIONS[draw(g, sizeof(ACTIVATIONS) / sizeof(ACTIVATIONS[0]))];
        activation->text = "self.%m(%v)";
        return activation;
    }
    if (what < 40)
        return &MODULES[draw(g, sizeof(MODULES) / sizeof(MODULES[0]))];
    if (what < 76)
        return &ONE[draw(g, sizeof(ONE) / sizeof(ONE[0]))];
    if (what < 96)
        return &TWO[draw(g, sizeof(TWO) / sizeof(TWO[0]))];
    return &IN_PLACE[draw(g, sizeof(IN_PLACE) / sizeof(IN_PLACE[0]))];
}

static void add_statement(struct gen *g, struct scope *s)
{
    struct template activation;
    const struct template *t;
    /* the newest more often */
    int v = draw(g, 3) ? s->count - 1 : (int)draw(g, (uint32_t)s->count), w;
    struct shape shape = s->vars[v].shape;
    int other = 4 + 2 * (int)draw(g, 5);
    char name_v[8], name_w[8];
    struct variable *out;
    bool in_place;

    do
        t = pick(g, &activation, &in_place);
    while (!fits(g, t, &shape));
    w = partner(g, s, v);
    memcpy(name_v, s->vars[v].name, sizeof(name_v));
    memcpy(name_w, s->vars[w].name, sizeof(name_w));
    if (t->module) {
        vs_text_addf(&g->modules, "        self.m%d = ", g->module_count);
        fill_in(&g->modules, t->module, "", "", shape.channels, other, 0);
        vs_text_add_char(&g->modules, '\n');
    }
    s->vars[v].used = true;
    s->vars[w].used = s->vars[w].used || strstr(t->text, "%w") != NULL;
    out = target(g, s, v, after(t->effect, shape, other));
    vs_text_addf(&g->forward, "        %s = ", out->name);
    fill_in(&g->forward, t->text, name_v, name_w, shape.channels, other, g->module_count);
    vs_text_add_char(&g->forward, '\n');
    g->module_count += t->module != NULL;
}

/* One name fewer; not the last one, nor one that nobody has read. */
static void add_del(struct gen *g, struct scope *s)
{
    int k = (int)draw(g, (uint32_t)s->count - 1);

    if (!s->vars[k].used)
        return;
    vs_text_addf(&g->forward, "        del %s\n", s->vars[k].name);
    memmove(&s->vars[k], &s->vars[k + 1], sizeof(s->vars[0]) * (size_t)(s->count - k - 1));
    s->count--;
}

/* class BlockN, which takes a tensor of `shape`; returns what it gives. */
static struct shape add_block(struct gen *g, struct vs_text *out, int n, struct shape shape)
{
    struct scope s = {.vars = {{"x", shape, false}}, .count = 1};
    int statements = 2 + (int)draw(g, 6);
    struct variable *last;

    vs_text_clear(&g->modules);
    vs_text_clear(&g->forward);
    g->module_count = 0;
    /* a first module, so that the block has a child, and gradients something to flow to */
    vs_text_addf(&g->modules, "        self.first = nn.%s(%d, %d)\n",
                 g->kind == IMAGE ? "Conv2d" : "Linear", shape.channels, shape.channels);
    if (g->kind == IMAGE) {
        vs_text_clear(&g->modules);
        vs_text_addf(&g->modules, "        self.first = nn.Conv2d(%d, %d, 1)\n", shape.channels,
                     shape.channels);
    }
    vs_text_add(&g->forward, "        a = self.first(x)\n");
    s.vars[0].used = true;
    s.vars[s.count++] = (struct variable){"a", shape, false};
    for (int i = 0; i < statements; i++) {
        add_statement(g, &s);
        if (s.count > 2 && draw(g, 8) == 0)
            add_del(g, &s);
    }
    last = &s.vars[s.count - 1];
    vs_text_addf(
        out, "class Block%d(nn.Module):\n    def __init__(self):\n        super().__init__()\n", n);
    vs_text_add(out, vs_text_get(&g->modules));
    vs_text_add(out, "\n    def forward(self, x):\n");
    vs_text_add(out, vs_text_get(&g->forward));
    vs_text_addf(out, "        return %s", last->name);
    for (int i = 0; i < s.count - 1; i++) { /* all that was computed counts */
        if (!s.vars[i].used)
            vs_text_addf(out, " + %s.mean()", s.vars[i].name);
    }
    vs_text_add(out, "\n\n\n");
    return last->shape;
}

/* ---- the net ---- */

static const char *head_of(struct gen *g)
{
    static const char *const IMAGES[] = {"x.mean((2, 3))", "F.adaptive_avg_pool2d(x, 1).flatten(1)",
                                         "x.amax((2, 3))", "x.flatten(2).sum(2) * 0.1"};
    static const char *const SEQUENCES[] = {"x.mean(1)", "x[:, -1]", "x.sum(1) * 0.1"};

    if (g->kind == VECTOR)
        return "x";
    return g->kind == IMAGE ? IMAGES[draw(g, 4)] : SEQUENCES[draw(g, 3)];
}

static void add_net(struct gen *g, struct vs_text *out, int blocks, struct shape first,
                    struct shape last, bool tokens)
{
    bool sequential = draw(g, 2);

    vs_text_add(out,
                "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n");
    if (g->kind == IMAGE)
        vs_text_addf(out, "        self.stem = nn.Conv2d(3, %d, 3, padding=1)\n", first.channels);
    else if (tokens)
        vs_text_addf(out, "        self.stem = nn.Embedding(50, %d)\n", first.channels);
    else
        vs_text_addf(out, "        self.stem = nn.Linear(20, %d)\n", first.channels);
    vs_text_addf(out, "        self.blocks = nn.%s(", sequential ? "Sequential" : "ModuleList");
    for (int i = 0; i < blocks; i++)
        vs_text_addf(out, "%s%sBlock%d()", i ? ", " : "", !i && !sequential ? "[" : "", i);
    vs_text_addf(out, "%s)\n        self.head = nn.Linear(%d, 10)\n\n", sequential ? "" : "]",
                 last.channels);
    vs_text_add(out, "    def forward(self, x):\n        x = self.stem(x)\n");
    if (sequential)
        vs_text_add(out, "        x = self.blocks(x)\n");
    else
        vs_text_add(out, "        for block in self.blocks:\n            x = block(x)\n");
    vs_text_addf(out, "        return self.head(%s)\n\n\n", head_of(g));
}

static void add_batch(struct gen *g, struct vs_text *out, int side, bool tokens)
{
    vs_text_add(out, "def model():\n    return Net()\n\n\ndef batch(n):\n");
    if (g->kind == IMAGE)
        vs_text_addf(out, "    x = torch.randn(n, 3, %d, %d)\n", side, side);
    else if (tokens)
        vs_text_addf(out, "    x = torch.randint(0, 50, (n, %d))\n", side);
    else if (g->kind == SEQUENCE)
        vs_text_addf(out, "    x = torch.randn(n, %d, 20)\n", side);
    else
        vs_text_add(out, "    x = torch.randn(n, 20)\n");
    vs_text_add(out, "    return x, torch.randint(0, 10, (n,))\n\n\n");
    if (draw(g, 3) == 0)
        vs_text_add(out, "def loss(output, target):\n"
                         "    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())\n"
                         "\n\n");
    vs_text_add(out, "defaults = dict(batch=4, steps=3)\n");
}

char *netgen_net(uint64_t seed)
{
    struct gen g;
    struct vs_text out = {NULL, 0, 0};
    struct shape shape = {0, 0}, first;
    bool tokens;
    int blocks;

    seed_set(&g, seed);
    g.kind = 1 << draw(&g, 3);
    tokens = g.kind == SEQUENCE && draw(&g, 2);
    first.channels = 4 + 4 * (int)draw(&g, 3);
    first.side = g.kind == IMAGE ? 8 : g.kind == SEQUENCE ? 5 + (int)draw(&g, 4) : 0;
    shape = first;
    blocks = 2 + (int)draw(&g, 3);
    vs_text_addf(&out, "# A net made at random, of seed %llu: tests/property/netgen.h.\n",
                 (unsigned long long)seed);
    vs_text_add(&out, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n");
    for (int i = 0; i < blocks; i++)
        shape = add_block(&g, &out, i, shape);
    add_net(&g, &out, blocks, first, shape, tokens);
    add_batch(&g, &out, first.side, tokens);
    vs_text_release(&g.modules);
    vs_text_release(&g.forward);
    return vs_text_take(&out);
}

/* ---- toggles ---- */

void netgen_toggles(uint64_t seed, char *buf)
{
    static const char *const PAIRS[][4] = {
        {"batch=2", "batch=6", "accumulate=2", "data=once"},
        {"inplace=on", "inplace=on", "inplace=on", "inplace=on"},
        {"amp=fp16", "amp=bf16", "half=on", "amp=bf16"},
        {"checkpoint=blocks", "checkpoint=segments=2", "checkpoint=sqrt",
         "checkpoint=blocks checkpoint-impl=reentrant"},
        {"optimizer=momentum", "optimizer=adam", "optimizer=adamw", "optimizer=adam foreach=off"},
        {"zero-grad=zeros", "drop-outputs=on", "detach-loss=off", "zero-grad=zeros"},
        {"freeze=half", "grad=eval", "grad=no_grad", "freeze=half"},
        {"empty-cache=step", "empty-cache=phase", "alloc-conf=expandable_segments:True",
         "preserve-rng=off"},
    };
    size_t groups = sizeof(PAIRS) / sizeof(PAIRS[0]), used = 0;
    struct gen g;

    seed_set(&g, seed ^ UINT64_C(0x70661e5));
    buf[0] = '\0';
    for (size_t i = 0, left = draw(&g, 5); i < groups && left; i++) {
        if (draw(&g, (uint32_t)(groups - i)) >= left)
            continue;
        left--;
        used += (size_t)snprintf(buf + used, NETGEN_TOGGLES_MAX - used, "%s%s", used ? " " : "",
                                 PAIRS[i][draw(&g, 4)]);
    }
}
