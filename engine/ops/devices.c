/*
 * engine/ops/devices.c - refuses ops whose tensors are on different devices, where PyTorch does.
 *
 * Must not know:  what ops compute.
 * Invariant:      an op that is not listed here wants all of its tensors on one device, so a new row is checked without
 *                 an entry.
 *
 * Measured with PyTorch 2.15: tests/golden/oracle/op_devices.txt.
 */
#include <string.h>

#include "base/error.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

/* Which tensors may be on the host while others are on the device. */
enum rule {
    RULE_NONE,   /* none: the default */
    RULE_NUMBER, /* 0-d tensors: TensorIterator reads them as numbers */
    RULE_SECOND, /* a 0-d tensor as the second argument */
    RULE_THIRD,  /* as the third */
    RULE_INDEX,  /* those that index a tensor of the device */
    RULE_STORE,  /* those that index; and a 0-d tensor as the value to store */
    RULE_ANY /* all: the op copies, looks at the shape alone, or has a random state as its only such tensor */
};

/* clang-format off */
static const uint8_t RULES[ENG_OP_COUNT] = {
    [ENG_OP_add] = RULE_NUMBER, [ENG_OP_sub] = RULE_NUMBER, [ENG_OP_rsub] = RULE_NUMBER, [ENG_OP_mul] = RULE_NUMBER,
    [ENG_OP_div] = RULE_NUMBER, [ENG_OP_floor_divide] = RULE_NUMBER, [ENG_OP_remainder] = RULE_NUMBER,
    [ENG_OP_pow_tensor] = RULE_NUMBER, [ENG_OP_xlogy] = RULE_NUMBER, [ENG_OP_maximum] = RULE_NUMBER,
    [ENG_OP_minimum] = RULE_NUMBER, [ENG_OP_eq] = RULE_NUMBER, [ENG_OP_ne] = RULE_NUMBER, [ENG_OP_lt] = RULE_NUMBER,
    [ENG_OP_le] = RULE_NUMBER, [ENG_OP_gt] = RULE_NUMBER, [ENG_OP_ge] = RULE_NUMBER, [ENG_OP_logical_and] = RULE_SECOND,
    [ENG_OP_logical_or] = RULE_SECOND, [ENG_OP_logical_xor] = RULE_SECOND, [ENG_OP_bitwise_and] = RULE_NUMBER,
    [ENG_OP_bitwise_or] = RULE_NUMBER, [ENG_OP_bitwise_xor] = RULE_NUMBER, [ENG_OP_where] = RULE_NUMBER,
    [ENG_OP_bce_with_logits] = RULE_NUMBER, [ENG_OP_addcmul] = RULE_THIRD,
    [ENG_OP_index] = RULE_INDEX, [ENG_OP_index_put_] = RULE_STORE,
    [ENG_OP_copy_] = RULE_ANY, [ENG_OP_cast_into] = RULE_ANY, [ENG_OP_expand_as] = RULE_ANY,
    [ENG_OP_sdpa_flash_backward] = RULE_ANY, [ENG_OP_sdpa_efficient_backward] = RULE_ANY,
};
/* clang-format on */

static bool is_foreach(const char *name)
{
    return strncmp(name, "_foreach", 8) == 0 || strncmp(name, "_amp", 4) == 0;
}

static bool is_number(const struct eng_tensor *t)
{
    return t->ndim == 0;
}

static void refuse(struct eng *e, const char *op, const char *param, const struct eng_tensor *t)
{
    eng_fail(e, VS_E_VALUE,
             "%s: expected all tensors to be on the same device, but got %s on %s, the others on "
             "%s: move one with .to()",
             op, param, t->storage->on_host ? "cpu" : "cuda:0",
             t->storage->on_host ? "cuda:0" : "cpu");
}

/* Tensor k of an argument; NULL past the end (a list may have gaps, which are NULL, too). */
static const struct eng_tensor *tensor_of(const struct eng_arg *arg, uint32_t k)
{
    if (arg->kind == ENG_A_TENSOR)
        return arg->v.tensor;
    return arg->v.tensors[k];
}

static uint32_t tensor_count(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_TENSOR ? 1 : arg->kind == ENG_A_TENSORS ? arg->count : 0;
}

/* Whether tensor `t`, argument number `i`, may be on another device than the first tensor. */
static bool may_differ(enum rule rule, int i, const struct eng_arg *arg, const struct eng_tensor *t,
                       bool first_on_host)
{
    switch (rule) {
    case RULE_NONE:
        return false;
    case RULE_NUMBER:
        return is_number(t) && t->storage->on_host;
    case RULE_SECOND:
    case RULE_THIRD:
        return i == (rule == RULE_SECOND ? 1 : 2) && is_number(t) && t->storage->on_host;
    case RULE_INDEX:
        return !first_on_host;
    case RULE_STORE:
        return arg->kind == ENG_A_TENSORS || is_number(t);
    case RULE_ANY:
        return true;
    }
    return false;
}

bool eng_devices_allowed(struct eng *e, enum eng_op_id id, const struct eng_signature *sig,
                         const struct eng_arg *args, bool inplace)
{
    const struct eng_op *op = eng_op_get(id);
    enum rule rule = (enum rule)RULES[id];
    const struct eng_tensor *first = NULL;

    for (int i = 0; i < sig->count; i++) {
        for (uint32_t k = 0; k < tensor_count(&args[i]); k++) {
            const struct eng_tensor *t = tensor_of(&args[i], k);

            if (t == NULL)
                continue;
            if (first == NULL) {
                first = t;
                continue;
            }
            if (t->storage->on_host == first->storage->on_host || is_foreach(op->name))
                continue;
            if (may_differ(rule, i, &args[i], t, first->storage->on_host))
                continue;
            if (rule == RULE_NUMBER && is_number(first) && first->storage->on_host && !inplace) {
                first = t; /* a 0-dim tensor on the host does not decide the device */
                continue;
            }
            refuse(e, op->name, sig->params[i].name, t);
            return false;
        }
    }
    return true;
}
