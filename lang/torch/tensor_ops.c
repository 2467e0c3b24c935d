/*
 * lang/torch/tensor_ops.c - operators, indexing and truth value of tensors, by ops of the op table.
 *
 * For:            lang/interp/ops.h.
 * Must not know:  how ops are run.
 * Invariant:      each operator runs the same aten ops as torch.Tensor's special method (PyTorch 2.x), so `1 / x` is
 *                 a reciprocal and a multiplication.
 */
#include "lang/torch/tensor_ops.h"

#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/torch/bind.h"
#include "lang/torch/tensor_methods.h"

/* Runs an op with a tensor and one more operand; its other parameters have their defaults. */
static bool run_pair(struct lang_vm *vm, enum eng_op_id id, bool in_place, struct lang_value a,
                     struct lang_value b, struct lang_value *out)
{
    int count;
    const struct eng_param *params = eng_op_params(vm->eng, id, &count);
    struct eng_arg args[ENG_MAX_ARGS];

    for (int i = 2; i < count; i++)
        args[i] = params[i].value;
    if (!lang_operand(vm, a, &args[0]) || !lang_operand(vm, b, &args[1]))
        return lang_fail(vm, VS_E_TYPE, "%s does not work between `%s` and `%s`",
                         eng_op_get(id)->name, lang_type_name(vm, a), lang_type_name(vm, b));
    return lang_op_run(vm, id, in_place, args, out);
}

static bool run_one(struct lang_vm *vm, enum eng_op_id id, struct eng_tensor *t,
                    struct lang_value *out)
{
    struct eng_arg args[1] = {eng_at(t)};

    return lang_op_run(vm, id, false, args, out);
}

/* ENG_OP_COUNT: there is none. */
static enum eng_op_id row_of(enum lang_op op, struct lang_value b)
{
    switch (op) {
    case LANG_OP_ADD:
        return ENG_OP_add;
    case LANG_OP_SUB:
        return ENG_OP_sub;
    case LANG_OP_MUL:
        return ENG_OP_mul;
    case LANG_OP_DIV:
        return ENG_OP_div;
    case LANG_OP_FLOORDIV:
        return ENG_OP_floor_divide;
    case LANG_OP_MOD:
        return ENG_OP_remainder;
    case LANG_OP_POW:
        return b.kind == LANG_TENSOR ? ENG_OP_pow_tensor : ENG_OP_pow;
    case LANG_OP_MATMUL:
        return ENG_OP_matmul;
    case LANG_OP_AND:
        return ENG_OP_bitwise_and;
    case LANG_OP_OR:
        return ENG_OP_bitwise_or;
    case LANG_OP_XOR:
        return ENG_OP_bitwise_xor;
    case LANG_OP_LT:
        return ENG_OP_lt;
    case LANG_OP_LE:
        return ENG_OP_le;
    case LANG_OP_GT:
        return ENG_OP_gt;
    case LANG_OP_GE:
        return ENG_OP_ge;
    case LANG_OP_EQ:
        return ENG_OP_eq;
    case LANG_OP_NE:
        return ENG_OP_ne;
    default:
        return ENG_OP_COUNT;
    }
}

static bool unsupported(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                        struct lang_value b)
{
    return lang_fail(vm, VS_E_TYPE, "`%s` does not work between `%s` and `%s`", lang_op_text(op),
                     lang_type_name(vm, a), lang_type_name(vm, b));
}

/* number op tensor */
static bool reflected(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value t,
                      struct lang_value *out)
{
    struct lang_value inverse;
    bool ok;

    switch (op) {
    case LANG_OP_ADD:
    case LANG_OP_MUL:
    case LANG_OP_AND:
    case LANG_OP_OR:
    case LANG_OP_XOR:
        return run_pair(vm, row_of(op, a), false, t, a, out);
    case LANG_OP_SUB:
        return run_pair(vm, ENG_OP_rsub, false, t, a, out);
    case LANG_OP_POW:
        return run_pair(vm, ENG_OP_rpow, false, t, a, out);
    case LANG_OP_DIV:
        if (!run_one(vm, ENG_OP_reciprocal, t.as.tensor, &inverse))
            return false;
        ok = run_pair(vm, ENG_OP_mul, false, inverse, a, out);
        lang_drop(vm, inverse);
        return ok;
    default:
        return unsupported(vm, op, a, t);
    }
}

/* The special method of an instance of a net's class, where the other operand is a tensor. */
static bool other_object(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                         struct lang_value b, struct lang_value *out)
{
    static const struct {
        enum lang_op op;
        enum lang_name plain;
        enum lang_name reflected;
    } names[] = {
        {LANG_OP_ADD, LANG_N_add, LANG_N_radd},
        {LANG_OP_SUB, LANG_N_sub, LANG_N_rsub},
        {LANG_OP_MUL, LANG_N_mul, LANG_N_rmul},
        {LANG_OP_DIV, LANG_N_truediv, LANG_N_rtruediv},
        {LANG_OP_MATMUL, LANG_N_matmul, LANG_N_rmatmul},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool first = a.kind == LANG_INSTANCE;
        struct lang_value object = first ? a : b;
        struct lang_value method;

        if (names[i].op != op)
            continue;
        method = lang_special(vm, object, first ? names[i].plain : names[i].reflected);
        if (lang_is_bound(method))
            return lang_call_special(vm, method, object, first ? &b : &a, 1, out);
    }
    return unsupported(vm, op, a, b);
}

static bool tensor_binary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                          struct lang_value b, struct lang_value *out)
{
    enum eng_op_id id = row_of(op, b);

    if (a.kind == LANG_INSTANCE || b.kind == LANG_INSTANCE)
        return other_object(vm, op, a, b, out);
    if (a.kind == LANG_TENSOR) {
        if (id == ENG_OP_COUNT || (op == LANG_OP_MATMUL && b.kind != LANG_TENSOR))
            return unsupported(vm, op, a, b);
        if (b.kind != LANG_TENSOR && !lang_is_number(b))
            return unsupported(vm, op, a, b);
        return run_pair(vm, id, false, a, b, out);
    }
    if (!lang_is_number(a))
        return unsupported(vm, op, a, b);
    return reflected(vm, op, a, b, out);
}

static bool tensor_inplace(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                           struct lang_value b, struct lang_value *out)
{
    enum eng_op_id id = row_of(op, b);

    if (id == ENG_OP_COUNT || op == LANG_OP_MATMUL || (b.kind != LANG_TENSOR && !lang_is_number(b)))
        return unsupported(vm, op, a, b);
    return run_pair(vm, id, true, a, b, out);
}

static bool tensor_unary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                         struct lang_value *out)
{
    if (op == LANG_OP_POS) {
        *out = lang_keep(a);
        return true;
    }
    return run_one(vm, op == LANG_OP_NEG ? ENG_OP_neg : ENG_OP_bitwise_not, a.as.tensor, out);
}

static bool tensor_compare(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                           struct lang_value b, struct lang_value *out)
{
    struct lang_value other = a.kind == LANG_TENSOR ? b : a;

    if (other.kind != LANG_TENSOR && !lang_is_number(other)) {
        if (op != LANG_OP_EQ && op != LANG_OP_NE)
            return unsupported(vm, op, a, b);
        *out = lang_bool(op == LANG_OP_NE);
        return true;
    }
    if (a.kind == LANG_TENSOR)
        return run_pair(vm, row_of(op, b), false, a, b, out);
    switch (op) { /* 1 < x is x > 1 */
    case LANG_OP_LT:
        op = LANG_OP_GT;
        break;
    case LANG_OP_LE:
        op = LANG_OP_GE;
        break;
    case LANG_OP_GT:
        op = LANG_OP_LT;
        break;
    case LANG_OP_GE:
        op = LANG_OP_LE;
        break;
    default:
        break;
    }
    return run_pair(vm, row_of(op, a), false, b, a, out);
}

/* ---- items ---- */

static struct eng_arg index_arg(const struct lang_index *index)
{
    struct eng_arg a = eng_anone();

    a.kind = ENG_A_INDEX;
    a.count = index->count;
    a.v.index = index->items;
    return a;
}

static bool tensor_getitem(struct lang_vm *vm, struct eng_tensor *t, struct lang_value key,
                           struct lang_value *out)
{
    struct eng_arg args[2] = {eng_at(t), eng_anone()};
    struct lang_index index;
    bool ok;

    if (!lang_index_of(vm, key, t, &index))
        return false;
    args[1] = index_arg(&index);
    ok = lang_op_run(vm, ENG_OP_getitem, false, args, out);
    lang_index_release(vm, &index);
    return ok;
}

static bool tensor_setitem(struct lang_vm *vm, struct eng_tensor *t, struct lang_value key,
                           struct lang_value value)
{
    struct eng_arg args[3] = {eng_at(t), eng_anone(), eng_anone()};
    struct lang_index index;
    struct lang_value result;
    bool ok;

    if (!lang_operand(vm, value, &args[2]))
        return lang_fail(vm, VS_E_TYPE,
                         "items of a tensor can be set to a number or a tensor, not to `%s`",
                         lang_type_name(vm, value));
    if (!lang_index_of(vm, key, t, &index))
        return false;
    args[1] = index_arg(&index);
    ok = lang_op_run(vm, ENG_OP_setitem, false, args, &result);
    lang_index_release(vm, &index);
    if (ok)
        lang_drop(vm, result);
    return ok;
}

/* ---- values ---- */

bool lang_tensor_item(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    struct eng_scalar s;

    if (!eng_item(vm->eng, t, &s))
        return lang_fail_engine(vm);
    if (t->dtype == VS_BOOL)
        *out = lang_bool(s.f != 0.0);
    else
        *out = s.is_int ? lang_int(s.i) : lang_float(s.f);
    return true;
}

static bool tensor_truth(struct lang_vm *vm, struct eng_tensor *t, bool *out)
{
    struct lang_value v;
    char shape[ENG_SHAPE_TEXT_MAX];

    if (eng_numel(t) != 1)
        return lang_fail_hint(vm, VS_E_VALUE, "use .any() or .all(), or compare one element",
                              "a tensor of shape %s is neither true nor false",
                              eng_shape_text(t, shape));
    if (!lang_tensor_item(vm, t, &v))
        return false;
    *out = lang_number(v) != 0.0;
    return true;
}

bool lang_tensor_rows(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    struct eng_arg args[2] = {eng_at(t), eng_ai(0)};

    if (t->ndim == 0)
        return lang_fail(vm, VS_E_TYPE, "a 0-d tensor cannot be iterated over");
    return lang_op_run(vm, ENG_OP_unbind, false, args, out);
}

const struct lang_tensor_type lang_tensor_type = {
    .getattr = lang_tensor_attr,
    .setattr = lang_tensor_setattr,
    .delattr = lang_tensor_delattr,
    .getitem = tensor_getitem,
    .setitem = tensor_setitem,
    .binary = tensor_binary,
    .inplace = tensor_inplace,
    .unary = tensor_unary,
    .compare = tensor_compare,
    .truth = tensor_truth,
    .rows = lang_tensor_rows,
    .item = lang_tensor_item,
};
