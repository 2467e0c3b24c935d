/*
 * tests/lang/run/net_run.h - runs the text of a net and keeps the result, for the tests of lang_run.
 */
#ifndef TESTS_LANG_RUN_NET_RUN_H
#define TESTS_LANG_RUN_NET_RUN_H

#include "lang/run/run.h"

#define NET_RUN_HEAD "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

/* 4 -> 6 -> 3 with a ReLU: 6*4 + 6 + 3*6 + 3 = 51 parameters. */
#define NET_RUN_MLP                                                                                \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = nn.Linear(4, 6)\n"                                              \
                 "        self.act = nn.ReLU()\n"                                                  \
                 "        self.b = nn.Linear(6, 3)\n"                                              \
                 "    def forward(self, x):\n"                                                     \
                 "        return self.b(self.act(self.a(x)))\n"                                    \
                 "def model():\n"                                                                  \
                 "    return Net()\n"                                                              \
                 "def batch(n):\n"                                                                 \
                 "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"

/*
 * One run; zero is an ordinary one. `settings` and `toggles` may be changed before it. last_step: the result has the
 * last step alone.
 */
struct net_run {
    struct lang_settings settings;
    struct lang_result result;
    struct vs_toggles toggles;
    struct vs_error err;
    enum vs_status st;
    bool last_step;
};

/* Run `text` as net.py: st, err and result. net_run_ok fails the test where it does not end with VS_OK. */
void net_run_text(struct net_run *r, const char *text);
void net_run_ok(struct net_run *r, const char *text);
void net_run_release(struct net_run *r);

/* Fails the test where there is no such toggle or value. */
void net_run_set(struct net_run *r, const char *name, const char *value);
/* Borrows r. Fails the test where the run had no such phase. */
const struct lang_run_phase *net_run_phase(const struct net_run *r, int64_t step,
                                           enum vs_phase phase);

#endif
