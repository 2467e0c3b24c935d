/*
 * tests/facts/test_repeat.c - steps that are told again instead of run are those that would have run, event for event.
 *
 * Each net runs twice on `meta`: with what was told at hand, and without. Nets made for it change their ways after some steps, by all that a
 * net can remember them with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "tests/facts/told.h"
#include "tests/share.h"

/* ---- tests ---- */

static void all_small_nets_with_their_toggles(void **state)
{
    const size_t share = 3 * tests_share();
    size_t count = 0;
    size_t again = 0;
    char pairs[FACTS_PAIRS_MAX];
    char toggles[FACTS_PAIRS_MAX + 32];

    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);

        /* a third of them at most, another one for each net */
        for (size_t n = i % share; facts_pairs(n, pairs); n += share) {
            snprintf(toggles, sizeof(toggles), "batch=4 steps=5 %s", pairs);
            again += told_as_plain(&net, toggles, NULL, "told again");
            count++;
        }
        facts_net_release(&net);
    }
    print_message("%zu of %zu runs were told again in part\n", again, count);
    assert_true(again * 3 > count);
}

static void all_sample_nets(void **state)
{
    static const char *const TOGGLES[] = {"steps=4", "steps=4 inplace=on optimizer=adamw",
                                          "steps=5 amp=bf16 checkpoint=blocks"};
    const size_t toggles = sizeof(TOGGLES) / sizeof(TOGGLES[0]);
    size_t count = 0;
    size_t again = 0;

    (void)state;
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SAMPLES[i].path);

        for (size_t n = 0; n < toggles; n++)
            if (tests_share_has(i, n, toggles)) {
                again += told_as_plain(&net, TOGGLES[n], NULL, "told again");
                count++;
            }
        facts_net_release(&net);
    }
    assert_true(again * 3 > count);
}

/* What a net remembers: before the model, in its constructor, in its forward (x: [n, 8]), and what else the file defines. */
struct memory {
    const char *title;
    const char *before;
    const char *made;
    const char *forward;
    const char *after;
    bool is_again; /* it does not matter to the steps that it remembers */
};

/* Something that takes memory, from the fifth step on. */
#define LATE "            x = x + 1\n"

static const struct memory MEMORIES[] = {
    {"nothing", "", "", "", "", true},
    {"an attribute", "", "        self.calls = 0\n",
     "        self.calls = self.calls + 1\n        if self.calls > 4:\n" LATE, "", false},
    {"a fraction", "", "        self.rate = 1.0\n",
     "        self.rate = self.rate * 0.5\n        if self.rate < 0.05:\n" LATE, "", false},
    {"a text", "", "        self.text = ''\n",
     "        self.text = self.text + 'x'\n        if self.text == 'xxxxx':\n" LATE, "", false},
    {"an attribute of the class", "", "",
     "        Net.calls = Net.calls + 1\n        if Net.calls > 4:\n" LATE, "Net.calls = 0\n",
     false},
    {"a list of the file", "SEEN = []\n", "",
     "        SEEN.append(1)\n        if len(SEEN) > 4:\n" LATE, "", false},
    {"a dict of the file", "SEEN = {'n': 0}\n", "",
     "        SEEN['n'] = SEEN['n'] + 1\n        if SEEN['n'] > 4:\n" LATE, "", false},
    {"a default value", "def many(memo=[]):\n    memo.append(1)\n    return len(memo)\n", "",
     "        if many() > 4:\n" LATE, "", false},
    {"a variable that functions share",
     "def counter():\n    n = 0\n\n    def count():\n        nonlocal n\n        n = n + 1\n"
     "        return n\n\n    return count\n\n\nCOUNT = counter()\n",
     "", "        if COUNT() > 4:\n" LATE, "", false},
    {"a shape", "", "        self.kept = torch.zeros(1, 1)\n",
     "        self.kept = torch.zeros(1, self.kept.shape[1] + 1)\n"
     "        if self.kept.shape[1] > 5:\n" LATE,
     "", false},
    {"whether something wants a gradient", "", "        self.calls = [0, 0, 0, 0, 0, 0]\n",
     "        self.calls.pop() if len(self.calls) > 1 else None\n        if len(self.calls) == 1:\n"
     "            self.lin.bias.requires_grad_(False)\n",
     "", false},
    {"one of two ways in turn", "", "        self.odd = False\n",
     "        self.odd = not self.odd\n        if self.odd:\n" LATE, "", false},
    {"its last result", "", "        self.last = None\n", "        self.last = x * 2\n", "", true},
    {"its last two results", "", "        self.last = (None, None)\n",
     "        self.last = (self.last[1], x * 2)\n", "", true},
    {"what the allocator has", "", "",
     "        if torch.cuda.max_memory_reserved() % 3 == 1:\n" LATE, "", false},
    {"the optimizer's count", "OPT = []\n", "",
     "        for p in self.parameters():\n            if OPT and p in OPT[0].state:\n"
     "                if OPT[0].state[p]['step'] > 3:\n                    x = x + 1\n",
     "def optimizer(model):\n    OPT.append(torch.optim.Adam(model.parameters()))\n"
     "    return OPT[0]\n",
     false},
    {"an optimizer of its own", "", "", "",
     "def optimizer(model):\n    return torch.optim.AdamW(model.parameters(), lr=0.1)\n", true},
    {"an optimizer that counts",
     "class Slow(torch.optim.SGD):\n    def __init__(self, params):\n"
     "        super().__init__(params, lr=0.1)\n        self.calls = 0\n\n"
     "    def step(self, closure=None):\n        self.calls = self.calls + 1\n"
     "        if self.calls > 4:\n            super().step()\n",
     "", "", "def optimizer(model):\n    return Slow(model.parameters())\n", false},
    {"a step of its own that slows down", "", "", "",
     "def train_step(model, optimizer, scaler, x, y):\n    l = F.cross_entropy(model(x), y)\n"
     "    l.backward()\n    optimizer.step()\n    g = optimizer.param_groups[0]\n"
     "    g['lr'] = g['lr'] * 0.5\n    if g['lr'] < 0.0005:\n        optimizer.zero_grad()\n"
     "    return l\n",
     false},
    {"a batch that grows", "SIZES = [0]\n", "", "",
     "def batch(n):\n    SIZES[0] = SIZES[0] + 1\n"
     "    return torch.randn(n + SIZES[0] // 5, 8), torch.randint(4, (n + SIZES[0] // 5,))\n",
     false},
};

static void nets_that_remember_their_steps(void **state)
{
    static const char *const TOGGLES[] = {"steps=8",
                                          "steps=8 optimizer=adam zero-grad=zeros",
                                          "steps=8 drop-outputs=on accumulate=2",
                                          "steps=8 detach-loss=off",
                                          "steps=8 grad=no_grad",
                                          "steps=8 prefetch=3",
                                          "steps=8 shard=ddp",
                                          "steps=8 shard=zero1 optimizer=adam"};

    (void)state;
    for (size_t i = 0; i < sizeof(MEMORIES) / sizeof(MEMORIES[0]); i++) {
        const struct memory *m = &MEMORIES[i];
        bool has_batch = strstr(m->after, "def batch") != NULL;
        struct facts_net net;
        char text[2048];

        snprintf(text, sizeof(text),
                 "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n%s\n\n"
                 "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                 "        self.lin = nn.Linear(8, 4)\n%s\n    def forward(self, x):\n%s"
                 "        return self.lin(x)\n\n\n%s\n\ndef model():\n    return Net()\n\n\n%s",
                 m->before, m->made, m->forward, m->after,
                 has_batch
                     ? ""
                     : "def batch(n):\n    return torch.randn(n, 8), torch.randint(4, (n,))\n");
        net = facts_net_of(m->title, text);
        for (size_t n = 0; n < sizeof(TOGGLES) / sizeof(TOGGLES[0]); n++) {
            bool is_again = told_as_plain(&net, TOGGLES[n], NULL, "told again");

            if (n == 0 && is_again != m->is_again)
                fail_msg("%s: %s", m->title,
                         is_again ? "told again, which is luck" : "run to the end");
        }
        facts_net_release(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_that_remember_their_steps),
        cmocka_unit_test(all_sample_nets),
        cmocka_unit_test(all_small_nets_with_their_toggles),
    };

    return cmocka_run_group_tests_name("facts/repeat", tests, NULL, NULL);
}
