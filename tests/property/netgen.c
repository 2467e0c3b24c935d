/*
 * tests/property/netgen.c - see netgen.h.
 *
 * A block is a list of statements; each takes one or two variables that are alive and gives a new one, or rebinds an
 * old name. All that is computed has a part in the result, so that PyTorch's check of in-place modules, which compares
 * values, sees all of it. What may be written is a table of templates: %v a variable, %w another of the same shape, %m
 * the block's next module, %c the channels of %v, %n other channels.
 */
#include "tests/property/netgen.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/property/netgen_internal.h"

/* ---- templates ---- */

enum effect { SAME, CHANNELS, HALF_CHANNELS, MORE_CHANNELS, HALF_SIDE, DOUBLE_SIDE };

struct template
{
    int kinds;
    enum effect effect;
    const char *module; /* NULL: none */
    const char *text;
};

/* Modules with an attribute `inplace`; ELU, CELU and SELU are left out (docs/internals/fidelity.md). */
static const char *const ACTIVATIONS[] = {"nn.ReLU()",         "nn.ReLU6()",
                                          "nn.LeakyReLU(0.1)", "nn.SiLU()",
                                          "nn.Mish()",         "nn.Hardswish()",
                                          "nn.Hardsigmoid()",  "nn.Hardtanh()",
                                          "nn.Dropout(0.2)",   "nn.Threshold(0.1, 0.2)"};

/* clang-format off */
static const struct template MODULES[] = {
#define NETGEN_MODULE(kinds, effect, module, text) {kinds, effect, module, text},
#include "tests/property/netgen.def"
};

static const struct template ONE[] = {
#define NETGEN_ONE(kinds, effect, text) {kinds, effect, NULL, text},
#include "tests/property/netgen.def"
};

static const struct template TWO[] = {
#define NETGEN_TWO(kinds, effect, text) {kinds, effect, NULL, text},
#include "tests/property/netgen.def"
};

static const struct template IN_LOCATION[] = {
#define NETGEN_IN_LOCATION(kinds, effect, text) {kinds, effect, NULL, text},
#include "tests/property/netgen.def"
};
/* clang-format on */

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
    int start = (int)netgen_draw(g, (uint32_t)s->count);

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

    if (s->count < VARIABLES && netgen_draw(g, 2)) {
        out = &s->vars[s->count++];
        snprintf(out->name, sizeof(out->name), "a%d", s->names++ % 1000);
    }
    out->shape = shape;
    out->used = false;
    return out;
}

static const struct template *pick(struct gen *g, struct template *activation, bool *in_place)
{
    uint32_t what = netgen_draw(g, 100);

    *in_place = what >= 96;
    if (what < 18) {
        activation->kinds = ANY;
        activation->effect = SAME;
        activation->module =
            ACTIVATIONS[netgen_draw(g, sizeof(ACTIVATIONS) / sizeof(ACTIVATIONS[0]))];
        activation->text = "self.%m(%v)";
        return activation;
    }
    if (what < 40)
        return &MODULES[netgen_draw(g, sizeof(MODULES) / sizeof(MODULES[0]))];
    if (what < 76)
        return &ONE[netgen_draw(g, sizeof(ONE) / sizeof(ONE[0]))];
    if (what < 96)
        return &TWO[netgen_draw(g, sizeof(TWO) / sizeof(TWO[0]))];
    return &IN_LOCATION[netgen_draw(g, sizeof(IN_LOCATION) / sizeof(IN_LOCATION[0]))];
}

static void add_statement(struct gen *g, struct scope *s)
{
    struct template activation;
    const struct template *t;
    /* the newest more often */
    int v = netgen_draw(g, 3) ? s->count - 1 : (int)netgen_draw(g, (uint32_t)s->count), w;
    struct shape shape = s->vars[v].shape;
    int other = 4 + 2 * (int)netgen_draw(g, 5);
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

/* Removes a name, but not the last one, nor one that has never been read. */
static void add_del(struct gen *g, struct scope *s)
{
    int k = (int)netgen_draw(g, (uint32_t)s->count - 1);

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
    int statements = 2 + (int)netgen_draw(g, 6);
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
        if (s.count > 2 && netgen_draw(g, 8) == 0)
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
    return g->kind == IMAGE ? IMAGES[netgen_draw(g, 4)] : SEQUENCES[netgen_draw(g, 3)];
}

static void add_net(struct gen *g, struct vs_text *out, int blocks, struct shape first,
                    struct shape last, bool tokens, int twice)
{
    bool sequential = netgen_draw(g, 2);

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
    if (twice >= 0)
        vs_text_addf(out, "        x = self.blocks[%d](x)\n", twice);
    vs_text_addf(out, "        return self.head(%s)\n\n\n", head_of(g));
}

/* Now and then with some parameters that are not trained. */
static void add_model(struct gen *g, struct vs_text *out)
{
    int every = 2 + (int)netgen_draw(g, 8);

    if (every > 4)
        vs_text_add(out, "def model():\n    return Net()\n\n\n");
    else
        vs_text_addf(out,
                     "def model():\n    net = Net()\n    for i, p in enumerate(net.parameters()):\n"
                     "        if i %% %d == %d:\n            p.requires_grad_(False)\n"
                     "    return net\n\n\n",
                     every, (int)netgen_draw(g, 2));
}

static void add_batch(struct gen *g, struct vs_text *out, int side, bool tokens)
{
    add_model(g, out);
    vs_text_add(out, "def batch(n):\n");
    if (g->kind == IMAGE)
        vs_text_addf(out, "    x = torch.randn(n, 3, %d, %d)\n", side, side);
    else if (tokens)
        vs_text_addf(out, "    x = torch.randint(0, 50, (n, %d))\n", side);
    else if (g->kind == SEQUENCE)
        vs_text_addf(out, "    x = torch.randn(n, %d, 20)\n", side);
    else
        vs_text_add(out, "    x = torch.randn(n, 20)\n");
    vs_text_add(out, "    return x, torch.randint(0, 10, (n,))\n\n\n");
    netgen_add_training(g, out);
    vs_text_add(out, "defaults = dict(batch=4, steps=3)\n");
}

char *netgen_net(uint64_t seed)
{
    struct gen g;
    struct vs_text body = {NULL, 0, 0}, out = {NULL, 0, 0};
    struct shape shape = {0, 0}, first, before;
    bool tokens;
    int blocks, twice = -1;

    netgen_seed(&g, seed);
    g.kind = 1 << netgen_draw(&g, 3);
    tokens = g.kind == SEQUENCE && netgen_draw(&g, 2);
    first.channels = 4 + 4 * (int)netgen_draw(&g, 3);
    first.side = g.kind == IMAGE ? 8 : g.kind == SEQUENCE ? 5 + (int)netgen_draw(&g, 4) : 0;
    shape = first;
    blocks = 2 + (int)netgen_draw(&g, 3);
    for (int i = 0; i < blocks; i++) {
        before = shape;
        shape = add_block(&g, &body, i, shape);
        if (i == blocks - 1 && same_shape(&before, &shape) && netgen_draw(&g, 4) == 0)
            twice = i; /* a module that runs two times */
    }
    add_net(&g, &body, blocks, first, shape, tokens, twice);
    add_batch(&g, &body, first.side, tokens);
    vs_text_addf(&out, "# A net made at random, of seed %llu: tests/property/netgen.h.\n",
                 (unsigned long long)seed);
    vs_text_add(&out, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
                      "from torch.utils.checkpoint import checkpoint\n\n\n");
    netgen_add_helpers(&out, vs_text_get(&body));
    vs_text_add(&out, vs_text_get(&body));
    vs_text_release(&body);
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

    netgen_seed(&g, seed ^ UINT64_C(0x70661e5));
    buf[0] = '\0';
    for (size_t i = 0, left = netgen_draw(&g, 5); i < groups && left; i++) {
        if (netgen_draw(&g, (uint32_t)(groups - i)) >= left)
            continue;
        left--;
        used += (size_t)snprintf(buf + used, NETGEN_TOGGLES_MAX - used, "%s%s", used ? " " : "",
                                 PAIRS[i][netgen_draw(&g, 4)]);
    }
}
