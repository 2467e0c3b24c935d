/*
 * tests/lang/run/test_warnings.c - traps of training: each is a run that goes wrong without an error, warned of with
 * its figures and line, and the same run without the trap, which is not. Every row of lang/value/warning.def is
 * provoked.
 *
 * What the traps do is PyTorch's: an eps of at most 2^-25 is 0 in float16, and Adam, AdamW, RMSprop and Adagrad then
 * divide by 0 while SGD does not (asked of PyTorch 2.15); 5,508,148,224 bytes of autocast's copy and 10,570,752 of its
 * original are from PyTorch's issue 85698.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/device/kernels.h"
#include "tests/lang/run/net_run.h"

#define CKPT "from torch.utils.checkpoint import checkpoint, checkpoint_sequential\n"
#define BATCH                                                                                      \
    "def model():\n"                                                                               \
    "    return Net()\n"                                                                           \
    "def batch(n):\n"                                                                              \
    "    return torch.randn(n, 4), torch.randint(0, 4, (n,))\n"

/* A net of one layer `a` whose forward is the given line, line 10 of the file. */
#define NET(line)                                                                                  \
    NET_RUN_HEAD CKPT "class Net(nn.Module):\n"                                                    \
                      "    def __init__(self):\n"                                                  \
                      "        super().__init__()\n"                                               \
                      "        self.a = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))\n"         \
                      "    def forward(self, x):\n"                                                \
                      "        return " line "\n" BATCH

#define NORM                                                                                       \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = nn.Linear(4, 4)\n"                                              \
                 "        self.norm = nn.BatchNorm1d(4)\n"                                         \
                 "    def forward(self, x):\n"                                                     \
                 "        return self.norm(self.a(x))\n" BATCH

/* A batch accumulated by hand, in so many parts. */
#define PARTS(count)                                                                               \
    "def train_step(model, optimizer, scaler, inputs, targets):\n"                                 \
    "    for x, y in zip(inputs.chunk(" count "), targets.chunk(" count ")):\n"                    \
    "        F.cross_entropy(model(x), y).backward()\n"                                            \
    "    optimizer.step()\n"                                                                       \
    "    optimizer.zero_grad()\n"

#define UNUSED                                                                                     \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = nn.Linear(4, 4)\n"                                              \
                 "        self.b = nn.Linear(4, 300)\n"                                            \
                 "    def forward(self, x):\n"                                                     \
                 "        return self.a(x)\n" BATCH

#define OWN_STEP(scaled)                                                                           \
    NET_RUN_MLP "def train_step(model, optimizer, scaler, inputs, targets):\n"                     \
                "    loss = F.cross_entropy(model(inputs), targets)\n"                             \
                "    " scaled ".backward()\n"

/* One step of time. */
#define RECURRENT(layer, result)                                                                   \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = " layer "(4, 4)\n"                                              \
                 "    def forward(self, x):\n"                                                     \
                 "        h = None\n"                                                              \
                 "        return self.a(x, h)" result "\n" BATCH

#define BMM                                                                                        \
    NET_RUN_HEAD                                                                                   \
    "class Net(nn.Module):\n"                                                                      \
    "    def __init__(self):\n"                                                                    \
    "        super().__init__()\n"                                                                 \
    "        self.w = nn.Parameter(torch.zeros(1))\n"                                              \
    "        self.register_buffer('basis', torch.randn(41292, 64))\n"                              \
    "    def forward(self, x):\n"                                                                  \
    "        return torch.bmm(self.basis.expand(1024, 41292, 64), x * self.w).sum()\n"             \
    "def model():\n"                                                                               \
    "    return Net()\n"                                                                           \
    "def batch(n):\n"                                                                              \
    "    return torch.randn(1024, 64, 1), ()\n"                                                    \
    "def loss(output, target):\n"                                                                  \
    "    return output\n"

/*
 * A trap, and the run beside it that has none. toggles: names and values. With `fine` NULL the net alone makes the
 * difference, otherwise it is the net without the trap; fine_toggles likewise.
 */
struct trap {
    enum lang_warning_kind kind;
    uint32_t line;
    const char *text;
    const char *net, *toggles[6];
    const char *fine, *fine_toggles[6];
};

static const struct trap TRAPS[] = {
    {LANG_WARN_REENTRANT,
     10,
     "None of the inputs have requires_grad=True. Gradients will be None",
     NET("self.a(checkpoint(self.a, x, use_reentrant=True))"),
     {NULL},
     NET("self.a(checkpoint(self.a, x, use_reentrant=False))"),
     {NULL}},
    {LANG_WARN_NOT_MODELLED,
     4,
     "torch.use_deterministic_algorithms(True): its algorithms are not modelled here, so the "
     "figures are those without it. In PyTorch it needs CUBLAS_WORKSPACE_CONFIG, refuses the "
     "backward of adaptive pooling, of reflection padding and of linear interpolation, and gives "
     "indexing, embedding, sort, where, max, min and others further temporaries",
     NET_RUN_HEAD "torch.use_deterministic_algorithms(True)\n" NORM,
     {NULL},
     NET_RUN_HEAD "torch.use_deterministic_algorithms(False)\n" NORM,
     {NULL}},
    {LANG_WARN_PYTORCH,
     10,
     "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X "
     "as an argument.",
     NET("F.softmax(self.a(x))"),
     {NULL},
     NET("F.softmax(self.a(x), 1)"),
     {NULL}},
    {LANG_WARN_UNEVEN_PARTS,
     0,
     "batch=10 does not divide into 4 equal parts: each step trains on 8 samples, not on 10",
     NET_RUN_MLP,
     {"batch", "10", "accumulate", "4"},
     NET_RUN_MLP,
     {"batch", "12", "accumulate", "4"}},
    {LANG_WARN_ACCUMULATE_NORM,
     0,
     "BatchNorm (norm) takes its statistics from the 2 samples of a part, not from the 8 of the "
     "step",
     NORM,
     {"accumulate", "4"},
     NORM,
     {NULL}},
    {LANG_WARN_ACCUMULATE_NORM,
     0,
     "BatchNorm (norm) takes its statistics from each of the 4 parts that train_step accumulates, "
     "not from all of them",
     NORM PARTS("4"),
     {NULL},
     NORM PARTS("1"),
     {NULL}},
    {LANG_WARN_ACCUMULATE_NORM,
     0,
     "BatchNorm (norm) takes its statistics from each of the 2 parts that train_step accumulates, "
     "not from all of them",
     NORM PARTS("2"),
     {NULL},
     /* as in a GAN: two optimizers, and the second forward of the whole batch is of another one */
     NORM "def optimizer(model):\n"
          "    return [torch.optim.SGD(model.parameters(), lr=0.1) for i in range(2)]\n"
          "def train_step(model, optimizer, scaler, inputs, targets):\n"
          "    model(inputs).sum().backward()\n"
          "    model(torch.randn_like(inputs)).sum().backward()\n"
          "    optimizer[0].step()\n",
     {NULL}},
    {LANG_WARN_ACCUMULATE_NORM,
     0,
     "BatchNorm (norm) takes its statistics from each of the 4 parts that train_step accumulates, "
     "not from all of them",
     /* two optimizers, and parts of the batch all the same */
     NORM "def optimizer(model):\n"
          "    return [torch.optim.SGD(model.parameters(), lr=0.1) for i in range(2)]\n"
          "def train_step(model, optimizer, scaler, inputs, targets):\n"
          "    for x in inputs.chunk(4):\n"
          "        model(x).sum().backward()\n"
          "    optimizer[0].step()\n",
     {NULL},
     /* two stages: each half sees the whole batch once */
     NORM "def train_step(model, optimizer, scaler, inputs, targets):\n"
          "    x = model.a(inputs)\n"
          "    x.sum().backward()\n"
          "    model.norm(x.detach()).sum().backward()\n"
          "    optimizer.step()\n",
     {NULL}},
    {LANG_WARN_EPS_UNDERFLOW,
     0,
     "Adam: eps=1e-08 is 0 in float16, so an element whose squared gradient underflows is divided "
     "by "
     "0 and becomes NaN",
     NET_RUN_MLP,
     {"half", "on", "optimizer", "adam"},
     NET_RUN_MLP,
     {"half", "on", "optimizer", "sgd"}},
    {LANG_WARN_EPS_UNDERFLOW,
     0,
     "RMSprop: eps=1e-08 is 0 in float16, so an element whose squared "
     "gradient underflows is divided by 0 and becomes NaN",
     NET_RUN_MLP "def optimizer(model):\n    return torch.optim.RMSprop(model.parameters())\n",
     {"half", "on"},
     NET_RUN_MLP
     "def optimizer(model):\n    return torch.optim.RMSprop(model.parameters(), eps=3e-8)\n",
     {"half", "on"}},
    {LANG_WARN_RNG_NOT_KEPT,
     10,
     "a checkpointed function draws random numbers with preserve_rng_state=False: its "
     "recomputation "
     "draws others, so gradients belong to another forward",
     NET("checkpoint(self.a, x, use_reentrant=False, preserve_rng_state=False)"),
     {NULL},
     NET("checkpoint(self.a, x, use_reentrant=False, preserve_rng_state=True)"),
     {NULL}},
    {LANG_WARN_RNG_NOT_KEPT,
     10,
     "a checkpointed function draws random numbers with preserve_rng_state=False: its "
     "recomputation "
     "draws others, so gradients belong to another forward",
     NET("checkpoint(self.a, self.a(x), use_reentrant=True, preserve_rng_state=False)"),
     {NULL},
     /* no random number is drawn in it */
     NET("checkpoint(self.a[0], self.a(x), use_reentrant=True, preserve_rng_state=False)"),
     {NULL}},
    {LANG_WARN_ONE_SEGMENT,
     10,
     "checkpoint_sequential with one segment checkpoints nothing: the last segment always runs "
     "without a checkpoint",
     NET("checkpoint_sequential(self.a, 1, x, use_reentrant=False)"),
     {NULL},
     NET("checkpoint_sequential(self.a, 2, x, use_reentrant=False)"),
     {NULL}},
    /* 8 x 6 floats that act saves and b shares, 8 x 3 of log_softmax, and a total weight of one float */
    {LANG_WARN_NO_BACKWARD,
     0,
     "autograd keeps 292 B for a backward that never runs",
     NET_RUN_MLP,
     {"grad", "eval"},
     NET_RUN_MLP,
     {"grad", "no_grad"}},
    {LANG_WARN_CAST_GROWS,
     10,
     "autocast copies an expanded tensor and writes it out: 5.04 GiB instead of 10.1 MiB",
     BMM,
     {"amp", "fp16", "steps", "1"},
     BMM,
     {"steps", "1"}},
    {LANG_WARN_NO_GRADIENT,
     0,
     "no gradient reached b in any step: 1,500 elements of parameters require grad and are not "
     "trained",
     UNUSED,
     {NULL},
     UNUSED,
     {"freeze", "b"}},
    {LANG_WARN_UNSCALED_LOSS,
     0,
     "amp=fp16: train_step calls backward() on a loss that it does not scale",
     OWN_STEP("loss"),
     {"amp", "fp16"},
     OWN_STEP("scaler.scale(loss)"),
     {"amp", "fp16"}},
    {LANG_WARN_UNSCALED_LOSS,
     0,
     "amp=fp16: train_step calls backward() on a loss that it does not scale",
     OWN_STEP("loss"),
     {"amp", "fp16"},
     OWN_STEP("loss"),
     {"amp", "bf16"}},
    {LANG_WARN_RNN_RESERVE,
     10,
     "nn.GRU: only cuDNN knows how much it keeps for backward; counted are the gates of all steps, "
     "so figures that include it are lower bounds",
     RECURRENT("nn.GRU", "[0]"),
     {NULL},
     RECURRENT("nn.GRUCell", ""),
     {NULL}},
};

static void run(struct net_run *r, const char *net, const char *const *toggles)
{
    for (int i = 0; toggles[i]; i += 2)
        net_run_set(r, toggles[i], toggles[i + 1]);
    net_run_ok(r, net);
}

static void each_trap_gives_its_warning_and_the_corrected_net_gives_none(void **state)
{
    bool is_provoked[LANG_WARNING_COUNT] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(TRAPS) / sizeof(TRAPS[0]); i++) {
        const struct trap *trap = &TRAPS[i];
        struct net_run r = {0}, fine = {0};

        run(&r, trap->net, trap->toggles);
        if (r.result.warning_count != 1)
            fail_msg("trap %zu (%s): %zu warnings instead of one; the first: %s", i,
                     lang_warning_name(trap->kind), r.result.warning_count,
                     r.result.warning_count ? r.result.warnings[0].text : "-");
        assert_string_equal(lang_warning_name(r.result.warnings[0].kind),
                            lang_warning_name(trap->kind));
        assert_string_equal(r.result.warnings[0].text, trap->text);
        assert_int_equal(r.result.warnings[0].line, trap->line);
        is_provoked[trap->kind] = true;
        run(&fine, trap->fine, trap->fine_toggles);
        if (fine.result.warning_count)
            fail_msg("trap %zu: warned without it: %s", i, fine.result.warnings[0].text);
        net_run_release(&r);
        net_run_release(&fine);
    }
    for (int k = 0; k < LANG_WARNING_COUNT; k++)
        if (!is_provoked[k])
            fail_msg("no trap provokes %s", lang_warning_name((enum lang_warning_kind)k));
}

/* The warning is about a fact: with Adam the loss is NaN from the second step on, with SGD it is a number. */
static void adam_in_float16_ends_in_nan_and_sgd_does_not(void **state)
{
    static const char *const OPTIMIZERS[] = {"adam", "adamw", "sgd", "momentum"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct net_run r = {0};
        double last;

        r.settings.kernels = eng_kernels_cpu();
        net_run_set(&r, "half", "on");
        net_run_set(&r, "optimizer", OPTIMIZERS[i]);
        net_run_ok(&r, NET_RUN_MLP);
        assert_int_equal(r.result.loss_count, 3);
        last = r.result.losses[2].value;
        if (isnan(last) != (i < 2))
            fail_msg("%s: the last loss is %g", OPTIMIZERS[i], last);
        assert_int_equal(r.result.warning_count, i < 2);
        net_run_release(&r);
    }
}

/* In-place over a saved tensor is an error, not a warning: it names both ops and both lines. */
static void an_in_place_op_over_a_saved_tensor_names_both_lines(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_text(&r, NET_RUN_HEAD "class Net(nn.Module):\n"
                                  "    def __init__(self):\n"
                                  "        super().__init__()\n"
                                  "        self.a = nn.Linear(4, 4)\n"
                                  "    def forward(self, x):\n"
                                  "        y = torch.sigmoid(self.a(x))\n"
                                  "        z = y * 2\n"
                                  "        y.add_(1)\n"
                                  "        return y + z\n" BATCH);
    assert_int_equal(r.st, VS_E_INPLACE);
    assert_non_null(strstr(r.err.text,
                           "a tensor [8, 4] that sigmoid in line 9 of Net.forward saved for "
                           "its gradient was overwritten by the in-place operation add_ in "
                           "line 11 of Net.forward"));
    net_run_release(&r);
}

/* The page of the warnings has a row for each kind: its name, and its advice. */
static void the_page_describes_every_kind_of_warning(void **state)
{
    static char page[16384];
    FILE *f = fopen("docs/guide/warnings.md", "r");

    (void)state;
    assert_non_null(f);
    page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
    fclose(f);
    for (int k = 0; k < LANG_WARNING_COUNT; k++) {
        char row[512];

        (void)snprintf(row, sizeof(row), "- `%s`: ", lang_warning_name((enum lang_warning_kind)k));
        if (!strstr(page, row))
            fail_msg("docs/guide/warnings.md has no row \"%s\"", row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trap_gives_its_warning_and_the_corrected_net_gives_none),
        cmocka_unit_test(adam_in_float16_ends_in_nan_and_sgd_does_not),
        cmocka_unit_test(an_in_place_op_over_a_saved_tensor_names_both_lines),
        cmocka_unit_test(the_page_describes_every_kind_of_warning),
    };

    return cmocka_run_group_tests_name("lang/warnings", tests, NULL, NULL);
}
