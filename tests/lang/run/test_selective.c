/*
 * tests/lang/run/test_selective.c - selective checkpoints: what they keep, what they refuse, and that they compute the
 * same. Their events are compared with PyTorch's in tests/golden_check.
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
#include "engine/core/tensor.h"
#include "engine/device/kernels.h"
#include "tests/lang/run/net_run.h"

#define HEAD                                                                                       \
    NET_RUN_HEAD "import functools\n"                                                              \
                 "from torch.utils.checkpoint import (CheckpointPolicy, checkpoint,\n"             \
                 "                                    create_selective_checkpoint_contexts)\n"     \
                 "aten = torch.ops.aten\n"

/* Two layers with a dropout; `block` is the checkpointed part, and 64 * 64 floats are 16 KiB. */
#define NET(contexts, activation, step)                                                            \
    HEAD "contexts = " contexts "\n"                                                               \
         "class Net(nn.Module):\n"                                                                 \
         "    def __init__(self):\n"                                                               \
         "        super().__init__()\n"                                                            \
         "        self.a = nn.Linear(64, 64)\n"                                                    \
         "        self.b = nn.Linear(64, 64)\n"                                                    \
         "        self.drop = nn.Dropout(0.5)\n"                                                   \
         "    def block(self, x):\n"                                                               \
         "        x = self.drop(" activation "(self.a(x)))\n"                                      \
         "        return torch.tanh(self.b(x))\n"                                                  \
         "    def forward(self, x):\n"                                                             \
         "        return checkpoint(self.block, x, use_reentrant=False, context_fn=contexts)\n"    \
         "def model():\n"                                                                          \
         "    return Net()\n"                                                                      \
         "def batch(n):\n"                                                                         \
         "    return torch.randn(64, 64), torch.randint(0, 64, (64,))\n" step

#define SAVING(ops) "functools.partial(create_selective_checkpoint_contexts, [" ops "])"
#define ADDMM SAVING("aten.addmm.default")

static void hash_bits(void *user, const char *kind, const char *name, struct eng_tensor *t,
                      double scale)
{
    uint64_t *hash = user;

    (void)kind, (void)scale;
    *hash = vs_hash_mix(*hash, vs_hash_text(name));
    *hash = vs_hash_mix(*hash, vs_hash_bytes(t->storage->data, t->storage->bytes));
}

static uint64_t bits_of(const char *text)
{
    uint64_t hash = 0;
    struct net_run r = {
        .settings = {.kernels = eng_kernels_cpu(), .dump = hash_bits, .user = &hash}};

    net_run_ok(&r, text);
    net_run_release(&r);
    return hash;
}

static void what_is_kept_changes_no_bit_of_the_gradients(void **state)
{
    uint64_t expected = bits_of(NET("None", "torch.relu", ""));

    (void)state;
    assert_true(bits_of(NET(ADDMM, "torch.relu", "")) == expected);
    assert_true(bits_of(NET(SAVING("aten.native_dropout.default, aten.relu.default"), "torch.relu",
                            "")) == expected);
}

/* The checkpoint keeps its input, part of the batch, and both products: 2 * 16 KiB; and the loss 16 KiB. */
static void results_of_the_ops_are_kept_and_not_computed_again(void **state)
{
    struct net_run plain = {0};
    struct net_run saving = {0};

    (void)state;
    net_run_ok(&plain, NET("None", "torch.relu", ""));
    net_run_ok(&saving, NET(ADDMM, "torch.relu", ""));
    assert_int_equal(saving.result.saved_bytes - plain.result.saved_bytes, 2 * 64 * 64 * 4);
    assert_true(plain.result.recompute_flops > 0);
    assert_int_equal(saving.result.recompute_flops, 0);
    assert_int_equal(plain.result.steps[0].recomputed_ops - saving.result.steps[0].recomputed_ops,
                     2);
    net_run_release(&saving);
    net_run_release(&plain);
}

static void the_toggle_saves_what_is_dear_in_each_block(void **state)
{
    static const char *const TEXT = NET_RUN_HEAD
        "def model():\n"
        "    blocks = [nn.Sequential(nn.Linear(64, 64), nn.GELU()) for i in range(4)]\n"
        "    return nn.Sequential(*blocks)\n"
        "def batch(n):\n"
        "    return torch.randn(64, 64), torch.randint(0, 64, (64,))\n";
    struct net_run blocks = {0};
    struct net_run selective = {0};

    (void)state;
    net_run_set(&blocks, "checkpoint", "blocks");
    net_run_ok(&blocks, TEXT);
    net_run_set(&selective, "checkpoint", "selective");
    net_run_ok(&selective, TEXT);
    assert_int_equal(selective.result.saved_bytes - blocks.result.saved_bytes, 4 * 64 * 64 * 4);
    assert_int_equal(selective.result.recompute_flops, 0);
    net_run_release(&selective);
    net_run_release(&blocks);
}

/* Texts in PyTorch's words, as PyTorch 2.15 refuses the same nets. */
static void misuse_is_refused_as_in_pytorch(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } CASES[] = {
        {NET(ADDMM, "torch.relu_", ""),
         "Tensor cached during selective activation checkpoint has been mutated"},
        {NET(SAVING("aten.addmm"), "torch.relu", ""),
         "Expected op in `op_list` to be an OpOverload but got: aten.addmm"},
        {NET("functools.partial(create_selective_checkpoint_contexts, 3)", "torch.relu", ""),
         "policy_fn_or_list must be either a function or a list of ops."},
        {NET(SAVING("aten.adm.default"), "torch.relu", ""), "'aten.adm'"},
        {NET(ADDMM, "torch.relu",
             "def train_step(model, optimizer, scaler, inputs, targets):\n"
             "    l = F.cross_entropy(model(inputs), targets)\n"
             "    l.backward(retain_graph=True)\n"
             "    l.backward()\n"),
         "Trying to backward an extra time."},
        {NET(SAVING("aten.relu_.default"), "torch.relu_", ""), "works in place"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct net_run r = {0};

        net_run_text(&r, CASES[i].text);
        if (r.st == VS_OK || !strstr(r.err.text, CASES[i].why))
            fail_msg("case %zu: %s", i, r.st ? r.err.text : "runs");
        net_run_release(&r);
    }
}

/* What the policy is called with: each op once, in order, with its result and arguments. */
static void a_policy_sees_the_ops_of_the_first_run(void **state)
{
    static const char *const POLICY = "seen = []\n"
                                      "def policy(ctx, op, *args, **kwargs):\n"
                                      "    seen.append(str(op))\n"
                                      "    if op == aten.addmm.default:\n"
                                      "        assert args[1].shape == (64, 64)\n"
                                      "        assert ctx.op_output.shape == (64, 64)\n"
                                      "    return CheckpointPolicy.PREFER_RECOMPUTE\n";
    char text[4096];
    struct net_run r = {0};

    (void)state;
    snprintf(text, sizeof(text),
             HEAD
             "%scontexts = functools.partial(create_selective_checkpoint_contexts, policy)\n%s",
             POLICY,
             strstr(NET("", "torch.relu",
                        "def train_step(model, optimizer, scaler, inputs, targets):\n"
                        "    F.cross_entropy(model(inputs), targets).backward()\n"
                        "    assert ' '.join(seen) == ('aten.t.default aten.addmm.default '\n"
                        "        'aten.relu.default aten.native_dropout.default aten.t.default '\n"
                        "        'aten.addmm.default aten.tanh.default'), ' '.join(seen)\n"),
                    "class Net"));
    net_run_set(&r, "steps", "1");
    net_run_ok(&r, text);
    net_run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_changes_no_bit_of_the_gradients),
        cmocka_unit_test(results_of_the_ops_are_kept_and_not_computed_again),
        cmocka_unit_test(the_toggle_saves_what_is_dear_in_each_block),
        cmocka_unit_test(misuse_is_refused_as_in_pytorch),
        cmocka_unit_test(a_policy_sees_the_ops_of_the_first_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
