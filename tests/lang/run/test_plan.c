/*
 * tests/lang/run/test_plan.c - checkpoint=auto: placements of checkpoints that the planner finds and runs.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/core/tensor.h"
#include "engine/device/kernels.h"
#include "lang/run/plan.h"
#include "tests/lang/run/net_run.h"

/*
 * Residual blocks whose ReLU is called three times, with dropout: cuts inside a block, between blocks, and a module
 * that is called several times.
 */
#define RESIDUAL                                                                                   \
    NET_RUN_HEAD "class Block(nn.Module):\n"                                                       \
                 "    def __init__(self, c):\n"                                                    \
                 "        super().__init__()\n"                                                    \
                 "        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)\n"                \
                 "        self.bn1 = nn.BatchNorm2d(c)\n"                                          \
                 "        self.drop = nn.Dropout(0.3)\n"                                           \
                 "        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)\n"                \
                 "        self.bn2 = nn.BatchNorm2d(c)\n"                                          \
                 "        self.relu = nn.ReLU()\n"                                                 \
                 "    def forward(self, x):\n"                                                     \
                 "        out = self.relu(self.bn1(self.conv1(x)))\n"                              \
                 "        out = self.drop(out)\n"                                                  \
                 "        out = self.relu(self.bn2(self.conv2(out)))\n"                            \
                 "        return self.relu(out + x)\n"                                             \
                 "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.stem = nn.Conv2d(3, 8, 3, padding=1)\n"                             \
                 "        self.blocks = nn.Sequential(*[Block(8) for i in range(6)])\n"            \
                 "        self.head = nn.Linear(8, 5)\n"                                           \
                 "    def forward(self, x):\n"                                                     \
                 "        x = self.blocks(self.stem(x))\n"                                         \
                 "        return self.head(x.mean((2, 3)))\n"                                      \
                 "def model():\n"                                                                  \
                 "    return Net()\n"                                                              \
                 "def batch(n):\n"                                                                 \
                 "    return torch.randn(n, 3, 16, 16), torch.randint(0, 5, (n,))\n"

/* `first` is used again at the end: no checkpoint may hold it and what comes after it together. */
#define SKIPPING                                                                                   \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.first = nn.Linear(64, 64)\n"                                        \
                 "        self.act = nn.Tanh()\n"                                                  \
                 "        self.second = nn.Linear(64, 64)\n"                                       \
                 "        self.third = nn.GELU()\n"                                                \
                 "        self.fourth = nn.Linear(64, 64)\n"                                       \
                 "    def forward(self, x):\n"                                                     \
                 "        a = self.first(x)\n"                                                     \
                 "        b = self.act(a)\n"                                                       \
                 "        b = self.second(b)\n"                                                    \
                 "        b = self.third(b)\n"                                                     \
                 "        b = self.fourth(b)\n"                                                    \
                 "        return a * b\n"                                                          \
                 "def model():\n"                                                                  \
                 "    return Net()\n"                                                              \
                 "def batch(n):\n"                                                                 \
                 "    return torch.randn(n * 64, 64), torch.randint(0, 64, (n * 64,))\n"

/* The ReLU works in place on what the batch norm returned. */
#define IN_PLACE                                                                                   \
    NET_RUN_HEAD "def model():\n"                                                                  \
                 "    layers = []\n"                                                               \
                 "    for i in range(6):\n"                                                        \
                 "        layers = layers + [nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4),\n"  \
                 "                           nn.ReLU(inplace=True)]\n"                             \
                 "    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 3))\n"           \
                 "def batch(n):\n"                                                                 \
                 "    return torch.randn(n, 4, 16, 16), torch.randint(0, 3, (n,))\n"

static const char *const NETS[] = {RESIDUAL, SKIPPING, IN_PLACE, NET_RUN_MLP};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))

static void run_with(struct net_run *r, const char *text, const char *checkpoint)
{
    net_run_set(r, "checkpoint", checkpoint);
    net_run_ok(r, text);
}

static char *budget_text(uint64_t bytes)
{
    static const size_t MAX = 64;
    char *text = vs_alloc(MAX);

    snprintf(text, MAX, "auto:%" PRIu64, bytes);
    return text;
}

static void a_larger_budget_never_costs_more_and_the_peak_stays_within_it(void **state)
{
    (void)state;
    for (size_t n = 0; n < NET_COUNT; n++) {
        struct lang_plans *plans = lang_plans_new();
        struct net_run off = {0};
        struct net_run least = {.settings = {.plans = plans}};
        uint64_t last = UINT64_MAX;

        run_with(&off, NETS[n], "off");
        run_with(&least, NETS[n], "auto");
        assert_true(least.result.peak_allocated <= off.result.peak_allocated);
        for (uint64_t i = 0; i <= 20; i++) {
            uint64_t range = off.result.peak_allocated - least.result.peak_allocated;
            uint64_t budget = least.result.peak_allocated + range * i / 20;
            struct net_run r = {.settings = {.plans = plans}};
            char *value = budget_text(budget);

            run_with(&r, NETS[n], value);
            assert_non_null(r.result.placement);
            if (r.result.peak_allocated > budget)
                fail_msg("net %zu: %" PRIu64 " bytes with %s", n, r.result.peak_allocated, value);
            if (r.result.recompute_flops > last)
                fail_msg("net %zu: %s runs more again than a smaller budget", n, value);
            last = r.result.recompute_flops;
            vs_free(value);
            net_run_release(&r);
        }
        assert_int_equal(last, 0);
        net_run_release(&least);
        net_run_release(&off);
        lang_plans_free(plans);
    }
}

static void cached_placements_equal_a_new_search(void **state)
{
    struct lang_plans *plans = lang_plans_new();
    struct net_run first = {.settings = {.plans = plans}};
    struct net_run again = {.settings = {.plans = plans}};
    struct net_run anew = {0};

    (void)state;
    run_with(&first, RESIDUAL, "auto");
    run_with(&again, RESIDUAL, "auto");
    run_with(&anew, RESIDUAL, "auto");
    assert_string_equal(again.result.placement, first.result.placement);
    assert_string_equal(anew.result.placement, first.result.placement);
    assert_int_equal(again.result.peak_allocated, anew.result.peak_allocated);
    net_run_release(&anew);
    net_run_release(&again);
    net_run_release(&first);
    lang_plans_free(plans);
}

static void no_simple_policy_beats_the_planned_one_at_the_same_peak(void **state)
{
    static const char *const SIMPLE[] = {"blocks", "sqrt", "segments=2", "segments=3"};

    (void)state;
    for (size_t i = 0; i < sizeof(SIMPLE) / sizeof(SIMPLE[0]); i++) {
        struct net_run simple = {0};
        struct net_run planned = {0};
        char *value;

        run_with(&simple, RESIDUAL, SIMPLE[i]);
        value = budget_text(simple.result.peak_allocated);
        run_with(&planned, RESIDUAL, value);
        assert_true(planned.result.peak_allocated <= simple.result.peak_allocated);
        assert_true(planned.result.recompute_flops <= simple.result.recompute_flops);
        vs_free(value);
        net_run_release(&planned);
        net_run_release(&simple);
    }
}

static void too_small_a_budget_is_refused_with_the_least_peak(void **state)
{
    struct net_run least = {0};
    struct net_run r = {0};
    char text[64];

    (void)state;
    run_with(&least, RESIDUAL, "auto");
    snprintf(text, sizeof(text), "(%" PRIu64 " bytes)", least.result.peak_allocated);
    net_run_set(&r, "checkpoint", "auto:1K");
    net_run_text(&r, RESIDUAL);
    assert_int_equal(r.st, VS_E_VALUE);
    assert_non_null(strstr(r.err.text, "checkpoint=auto:1K: no placement"));
    assert_non_null(strstr(r.err.text, text));
    net_run_release(&r);
    net_run_release(&least);
}

static void no_checkpoint_hides_a_tensor_used_later_or_starts_at_an_overwritten_one(void **state)
{
    struct net_run skipping = {0};
    struct net_run in_place = {0};

    (void)state;
    run_with(&skipping, SKIPPING, "auto");
    assert_null(strstr(skipping.result.placement, "first act"));
    assert_true(strlen(skipping.result.placement) > 0);
    run_with(&in_place, IN_PLACE, "auto");
    assert_true(strlen(in_place.result.placement) > 0);
    for (const char *p = in_place.result.placement; *p; p++) {
        /* The ReLUs are 2, 5, 8, … */
        if (*p == '(' && p[1] >= '0' && p[1] <= '9')
            assert_true((p[1] - '0') % 3 != 2 || (p[2] >= '0' && p[2] <= '9'));
    }
    net_run_release(&in_place);
    net_run_release(&skipping);
}

static void unsupported_uses_of_planned_checkpoints_are_refused(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } CASES[] = {{"checkpoint-impl", "reentrant"}, {"preserve-rng", "off"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct net_run r = {0};

        net_run_set(&r, CASES[i].name, CASES[i].value);
        net_run_set(&r, "checkpoint", "auto");
        net_run_text(&r, RESIDUAL);
        assert_int_equal(r.st, VS_E_VALUE);
        assert_non_null(strstr(r.err.text, CASES[i].name));
        net_run_release(&r);
    }
}

/* ---- with data ---- */

static void hash_bits(void *user, const char *kind, const char *name, struct eng_tensor *t,
                      double scale)
{
    uint64_t *hash = user;

    (void)scale;
    /* Batch norms count their inputs again where they are run again, in PyTorch, too. */
    if (strcmp(kind, "buffer") == 0)
        return;
    *hash = vs_hash_mix(*hash, vs_hash_text(name));
    *hash = vs_hash_mix(*hash, vs_hash_bytes(t->storage->data, t->storage->bytes));
}

static uint64_t bits_of(const char *text, const char *checkpoint, double *loss)
{
    uint64_t hash = 0;
    struct net_run r = {
        .settings = {.kernels = eng_kernels_cpu(), .dump = hash_bits, .user = &hash}};

    run_with(&r, text, checkpoint);
    *loss = r.result.losses[r.result.loss_count - 1].value;
    if (strcmp(checkpoint, "off") != 0)
        assert_true(r.result.recompute_flops > 0 || text == NETS[3]);
    net_run_release(&r);
    return hash;
}

static void gradients_and_losses_are_the_same_bit_for_bit(void **state)
{
    (void)state;
    for (size_t n = 0; n < NET_COUNT; n++) {
        double off = 0;
        double planned = 0;
        uint64_t expected = bits_of(NETS[n], "off", &off);

        assert_true(bits_of(NETS[n], "auto", &planned) == expected);
        assert_true(off == planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_budget_never_costs_more_and_the_peak_stays_within_it),
        cmocka_unit_test(cached_placements_equal_a_new_search),
        cmocka_unit_test(no_simple_policy_beats_the_planned_one_at_the_same_peak),
        cmocka_unit_test(too_small_a_budget_is_refused_with_the_least_peak),
        cmocka_unit_test(no_checkpoint_hides_a_tensor_used_later_or_starts_at_an_overwritten_one),
        cmocka_unit_test(unsupported_uses_of_planned_checkpoints_are_refused),
        cmocka_unit_test(gradients_and_losses_are_the_same_bit_for_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
