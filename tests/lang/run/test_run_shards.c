/*
 * tests/lang/run/test_run_shards.c - fully_shard and what a net does with its parameters meanwhile: properties, one
 * parameter in two modules, gradients of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lang/run/net_run.h"

#define REST                                                                                       \
    "def batch(n):\n"                                                                              \
    "    return torch.randn(n, 6), torch.randn(n, 6)\n"                                            \
    "def loss(output, target):\n"                                                                  \
    "    return ((output - target) ** 2).mean()\n"                                                 \
    "defaults = dict(batch=8, shard='fsdp', world=4)\n"

/* Two linear layers of six features; in forward `code` runs before the first of them, and the second is left out. */
#define NET(code, rest)                                                                            \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = nn.Linear(6, 6)\n"                                              \
                 "        self.b = nn.Linear(6, 6)\n"                                              \
                 "        self.step = 0\n"                                                         \
                 "    def forward(self, x):\n" code "        self.step += 1\n"                     \
                 "        return self.a(x)\n" rest REST

static void ends_with(const char *text, enum vs_status st, const char *part)
{
    struct net_run r = {0};

    net_run_text(&r, text);
    if (r.st != st || strstr(r.err.text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, r.err.text);
    net_run_release(&r);
}

/* Once when it is sharded; in each step with the whole one before forward and with the shard after backward. */
static void a_property_of_the_net_is_set_whenever_a_parameter_changes(void **state)
{
    (void)state;
    ends_with(NET_RUN_HEAD
              "SET = []\n"
              "class Scale(nn.Module):\n"
              "    def __init__(self):\n"
              "        super().__init__()\n"
              "        self._parameters['sc' + str('ale')] = nn.Parameter(torch.ones(6))\n"
              "    @property\n"
              "    def scale(self):\n"
              "        return self._parameters['scale']\n"
              "    @scale.setter\n"
              "    def scale(self, value):\n"
              "        SET.append(value.shape[0])\n"
              "        self._parameters['scale'] = value\n"
              "    def forward(self, x):\n"
              "        if len(SET) == 4:\n"
              "            raise ValueError(f'set {SET}')\n"
              "        return x * self.scale\n"
              "def model():\n"
              "    return Scale()\n" REST,
              VS_E_VALUE, "set [2, 6, 2, 6]");
}

static void a_parameter_of_two_modules_is_whole_in_both(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_ok(&r, NET("        if self.a.weight is not self.b.weight:\n"
                       "            raise ValueError('they differ')\n"
                       "        if self.b.weight.shape[0] != 6:\n"
                       "            raise ValueError('a shard')\n",
                       "def model():\n"
                       "    net = Net()\n"
                       "    net.b.weight = net.a.weight\n"
                       "    return net\n"));
    net_run_release(&r);
}

static void a_shard_whose_dtype_the_net_has_changed_gets_no_gradient(void **state)
{
    (void)state;
    ends_with(NET("        for p in SHARDS:\n"
                  "            p.data = p.data.to(torch.float64)\n"
                  "        SHARDS.clear()\n",
                  "SHARDS = []\n"
                  "class Outer(nn.Module):\n"
                  "    def __init__(self):\n"
                  "        super().__init__()\n"
                  "        self.net = Net()\n"
                  "    def forward(self, x):\n"
                  "        if self.net.step == 0:\n"
                  "            SHARDS.append(self.net.a.weight)\n"
                  "        return self.net(x)\n"
                  "def model():\n"
                  "    return Outer()\n") "defaults['shard-units'] = 'Net'\n",
              VS_E_SHAPE, ".grad must have the shape and the dtype of the tensor");
}

static void a_gradient_that_is_not_dense_is_refused(void **state)
{
    (void)state;
    ends_with(NET("        self.b.weight.grad = x.new_zeros(6, 1).expand(6, 6)\n",
                  "def model():\n"
                  "    return Net()\n"),
              VS_E_UNSUPPORTED, "the gradient of b.weight is not dense in memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_property_of_the_net_is_set_whenever_a_parameter_changes),
        cmocka_unit_test(a_parameter_of_two_modules_is_whole_in_both),
        cmocka_unit_test(a_shard_whose_dtype_the_net_has_changed_gets_no_gradient),
        cmocka_unit_test(a_gradient_that_is_not_dense_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
