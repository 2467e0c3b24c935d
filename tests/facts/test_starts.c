/*
 * tests/facts/test_starts.c - runs that begin where another one's set-up ended are those from their beginning, event for event.
 *
 * Each net runs with one toggle setting after the other, set-ups kept, and each time once more without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "lang/library.h"
#include "lang/starts.h"
#include "lang/trials.h"
#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "tests/facts/told.h"

static struct told_kept kept_new(void)
{
    struct told_kept kept = {.trials = lang_trials_new(), .starts = lang_starts_new()};
    struct vs_error err = VS_ERROR_INIT;

    if (lang_library_new(&kept.library, &err))
        fail_msg("%s", err.text);
    return kept;
}

static void kept_release(struct told_kept *kept)
{
    lang_starts_free(kept->starts);
    lang_trials_free(kept->trials);
    lang_library_free(kept->library);
}

/* Most settings do not touch the set-up. Under a memory checker there is no heap to put back. */
static void assert_used(size_t used, size_t count)
{
    print_message("%zu of %zu runs began with what another had set up\n", used, count);
    assert_true(VS_POOL_OFF ? used == 0 : used * 3 > count);
}

static void all_small_nets_with_their_toggles(void **state)
{
    char toggles[FACTS_PAIRS_MAX + 32];
    char pairs[FACTS_PAIRS_MAX];
    size_t count = 0;
    size_t used = 0;

    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);
        struct told_kept kept = kept_new();

        for (size_t n = i % 4; facts_pairs(n, pairs); n += 4) {
            snprintf(toggles, sizeof(toggles), "batch=4 steps=3 %s", pairs);
            (void)told_as_plain(&net, toggles, &kept, "set-ups kept");
            count++;
        }
        used += lang_starts_used(kept.starts);
        kept_release(&kept);
        facts_net_release(&net);
    }
    assert_used(used, count);
}

/* Of set-ups that take turns none is lost; of more than are kept none is mistaken for another. */
static void set_ups_that_take_turns(void **state)
{
    static const char *const TURNS[] = {"optimizer=sgd",          "optimizer=adam", "half=on",
                                        "optimizer=adam",         "grad=eval",      "freeze=half",
                                        "optimizer=momentum",     "optimizer=sgd",  "half=on",
                                        "optimizer=adam amp=bf16"};
    struct facts_net net = facts_net_read("tests/nets/gpt_tiny.py");
    struct told_kept kept = kept_new();

    (void)state;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof(TURNS) / sizeof(TURNS[0]); i++)
            (void)told_as_plain(&net, TURNS[i], &kept, "set-ups kept");
    if (!VS_POOL_OFF)
        assert_in_range(lang_starts_used(kept.starts), 3, 29);
    kept_release(&kept);
    facts_net_release(&net);
}

/* A net that remembers its steps outside of its model, and one whose model does. */
static void a_net_that_remembers(void **state)
{
    static const char NET[] = "import torch\n"
                              "import torch.nn as nn\n"
                              "import torch.nn.functional as F\n"
                              "seen = []\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.l = nn.Linear(8, 8)\n"
                              "        self.last = None\n"
                              "        seen.append(0)\n"
                              "    def forward(self, x):\n"
                              "        seen.append(x)\n"
                              "        for i in range(len(seen)):\n"
                              "            x = self.l(x)\n"
                              "        self.last = x if self.last is None else self.last + x\n"
                              "        return x\n"
                              "def model():\n"
                              "    return Net()\n"
                              "def batch(n):\n"
                              "    return torch.randn(n, 8), torch.randn(n, 8)\n"
                              "def loss(output, target):\n"
                              "    return F.mse_loss(output, target)\n"
                              "defaults = dict(batch=2, optimizer='momentum')\n";
    static const char *const TOGGLES[] = {"batch=4", "zero-grad=zeros", "amp=bf16",
                                          "steps=5", "accumulate=2",    "inplace=on"};
    char text[sizeof(NET)];
    struct facts_net net = {.path = "remembers.py", .text = text};
    struct told_kept kept = kept_new();

    (void)state;
    memcpy(text, NET, sizeof(NET));
    for (size_t i = 0; i < sizeof(TOGGLES) / sizeof(TOGGLES[0]); i++)
        (void)told_as_plain(&net, TOGGLES[i], &kept, "set-ups kept");
    assert_int_equal(lang_starts_used(kept.starts), VS_POOL_OFF ? 0 : 5);
    kept_release(&kept);
}

/* A run that ends in its midst leaves what the next one begins with as it was. */
static void after_a_run_that_failed(void **state)
{
    struct facts_net net = facts_net_read("tests/nets/gpt_tiny.py");
    struct told_kept kept = kept_new();

    (void)state;
    (void)told_as_plain(&net, "batch=4", &kept, "set-ups kept");
    (void)told_as_plain(&net, "inplace=nowhere", &kept, "set-ups kept");
    (void)told_as_plain(&net, "checkpoint=nowhere", &kept, "set-ups kept");
    (void)told_as_plain(&net, "batch=2", &kept, "set-ups kept");
    assert_int_equal(lang_starts_used(kept.starts), VS_POOL_OFF ? 0 : 3);
    kept_release(&kept);
    facts_net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_small_nets_with_their_toggles),
        cmocka_unit_test(set_ups_that_take_turns),
        cmocka_unit_test(a_net_that_remembers),
        cmocka_unit_test(after_a_run_that_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
