/*
 * engine/ops/elementwise/binary.c - elementwise ops of two and three operands and their gradients.
 *
 * Must not know:  autograd's machinery: the caller of backward sums the gradients of broadcast operands.
 * Invariant:      the gradient of the operand whose name comes first in PyTorch's alphabet is made first ("other"
 *                 before "self").
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

enum result_kind { PROMOTED, TEST };

struct binary_row {
    enum eng_binary kernel;
    enum result_kind kind;
    bool known;
};

static const struct binary_row ROWS[ENG_OP_COUNT] = {
    [ENG_OP_add] = {ENG_B_ADD, PROMOTED, true},
    [ENG_OP_sub] = {ENG_B_SUB, PROMOTED, true},
    [ENG_OP_mul] = {ENG_B_MUL, PROMOTED, true},
    [ENG_OP_floor_divide] = {ENG_B_FLOOR_DIV, PROMOTED, true},
    [ENG_OP_remainder] = {ENG_B_REMAINDER, PROMOTED, true},
    [ENG_OP_pow_tensor] = {ENG_B_POW, PROMOTED, true},
    [ENG_OP_maximum] = {ENG_B_MAXIMUM, PROMOTED, true},
    [ENG_OP_minimum] = {ENG_B_MINIMUM, PROMOTED, true},
    [ENG_OP_eq] = {ENG_B_EQ, TEST, true},
    [ENG_OP_ne] = {ENG_B_NE, TEST, true},
    [ENG_OP_lt] = {ENG_B_LT, TEST, true},
    [ENG_OP_le] = {ENG_B_LE, TEST, true},
    [ENG_OP_gt] = {ENG_B_GT, TEST, true},
    [ENG_OP_ge] = {ENG_B_GE, TEST, true},
    [ENG_OP_logical_and] = {ENG_B_LOGICAL_AND, TEST, true},
    [ENG_OP_logical_or] = {ENG_B_LOGICAL_OR, TEST, true},
    [ENG_OP_logical_xor] = {ENG_B_LOGICAL_XOR, TEST, true},
    [ENG_OP_bitwise_and] = {ENG_B_BITWISE_AND, PROMOTED, true},
    [ENG_OP_bitwise_or] = {ENG_B_BITWISE_OR, PROMOTED, true},
    [ENG_OP_bitwise_xor] = {ENG_B_BITWISE_XOR, PROMOTED, true},
};

/* out = kernel(left, right) computed in `compute`; out has dtype `dtype`. */
static void run_binary(struct eng_op_call *c, enum eng_binary kernel, const struct eng_arg *left,
                       const struct eng_arg *right, enum vs_dtype compute, enum vs_dtype dtype,
                       const double *p)
{
    struct eng_tensor *pair[] = {eng_arg_tensor(left), eng_arg_tensor(right)};
    struct eng_tensor *out = eng_c_elementwise_out(c, pair, 2, dtype);

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_cell ca, cb;
        struct eng_view va = eng_v_operand(left, out, &ca);
        struct eng_view vb = eng_v_operand(right, out, &cb);
        struct eng_view vo = eng_v(out);

        c->e->kernels->binary(kernel, compute, &va, &vb, &vo, p);
    }
    eng_c_give(c, out);
}

/* The dtype of a tensor with a tensor or a number. */
static enum vs_dtype promoted(const struct eng_arg *input, const struct eng_arg *other)
{
    struct eng_tensor *pair[] = {eng_arg_tensor(input), eng_arg_tensor(other)};

    return eng_result_dtype(pair, 2, other);
}

/* A bool tensor, or True or False given as a number. */
static bool is_bool(const struct eng_arg *arg)
{
    const struct eng_tensor *t = eng_arg_tensor(arg);

    return t ? t->dtype == VS_BOOL : arg->kind == ENG_A_SCALAR && arg->count;
}

/*
 * Refuses subtraction with a bool tensor, as PyTorch does (`1 - mask` is written `~mask`), and of True or False, which
 * count as bool tensors.
 */
static bool may_subtract(struct eng_op_call *c, const struct eng_arg *input,
                         const struct eng_arg *other)
{
    int bools = is_bool(input) + is_bool(other);

    if (bools == 2)
        eng_fail(c->e, VS_E_TYPE,
                 "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                 "`^` or `logical_xor()` operator instead.");
    else if (bools)
        eng_fail(c->e, VS_E_TYPE,
                 "Subtraction, the `-` operator, with a bool tensor is not supported. If you "
                 "are trying to invert a mask, use the `~` or `logical_not()` operator instead.");
    return !bools;
}

static void elementwise(struct eng_op_call *c, const struct eng_arg *input,
                        const struct eng_arg *other, double alpha)
{
    const struct binary_row *row = &ROWS[c->id];
    enum vs_dtype compute = promoted(input, other);
    double p[4] = {alpha};

    VS_ASSERT(row->known);
    run_binary(c, row->kernel, input, other, compute, row->kind == TEST ? VS_BOOL : compute, p);
}

/* Sizes of the result: those of the operands, broadcast. */
void eng_f_binary(struct eng_op_call *c)
{
    elementwise(c, &c->a[ARG_binary_input], &c->a[ARG_binary_other], 1);
}

void eng_f_add(struct eng_op_call *c)
{
    elementwise(c, &c->a[ARG_add_input], &c->a[ARG_add_other],
                eng_c_has(c, ARG_add_alpha) ? eng_c_float(c, ARG_add_alpha) : 1);
}

void eng_f_sub(struct eng_op_call *c)
{
    if (may_subtract(c, &c->a[ARG_sub_input], &c->a[ARG_sub_other]))
        elementwise(c, &c->a[ARG_sub_input], &c->a[ARG_sub_other],
                    eng_c_has(c, ARG_sub_alpha) ? eng_c_float(c, ARG_sub_alpha) : 1);
}

void eng_f_pow_tensor(struct eng_op_call *c)
{
    elementwise(c, &c->a[ARG_pow_tensor_input], &c->a[ARG_pow_tensor_exponent], 1);
}

/* other - alpha * input */
void eng_f_rsub(struct eng_op_call *c)
{
    double p[4] = {eng_c_has(c, ARG_rsub_alpha) ? eng_c_float(c, ARG_rsub_alpha) : 1};
    const struct eng_arg *input = &c->a[ARG_rsub_input], *other = &c->a[ARG_rsub_other];
    enum vs_dtype compute = promoted(input, other);

    if (may_subtract(c, input, other))
        run_binary(c, ENG_B_SUB, other, input, compute, compute, p);
}

/* The quotient's integer part: |a| / |b| rounded down, with its sign back. Scratch of the host. */
static void run_trunc(struct eng_op_call *c, enum vs_dtype compute, struct eng_tensor *out)
{
    struct eng_tensor *a = eng_empty(c->e, out->sizes, out->ndim, compute, true);
    struct eng_tensor *z = eng_empty(c->e, out->sizes, out->ndim, compute, true);

    if (a && z && eng_c_computes(c)) {
        const struct eng_kernels *k = c->e->kernels;
        bool floats = vs_dtype_is_floating(compute);
        struct eng_cell ca, cz;
        struct eng_view from_a = eng_v_operand(&c->a[ARG_div_input], out, &ca),
                        from_z = eng_v_operand(&c->a[ARG_div_other], out, &cz);
        struct eng_view va = eng_v(a), vz = eng_v(z), vo = eng_v(out);
        double p[4] = {1};

        k->copy(&from_a, &va);
        k->copy(&from_z, &vz);
        /* only the sign of this quotient is used */
        k->binary(ENG_B_DIV, floats ? compute : VS_F64, &va, &vz, &vo, p);
        k->unary(ENG_U_ABS, &va, &va, p);
        k->unary(ENG_U_ABS, &vz, &vz, p);
        k->binary(floats ? ENG_B_DIV : ENG_B_FLOOR_DIV, compute, &va, &vz, &va, p);
        if (floats)
            k->unary(ENG_U_FLOOR, &va, &va, p);
        k->unary(ENG_U_SIGN, &vo, &vo, p);
        k->binary(ENG_B_MUL, compute, &vo, &va, &vo, p);
    }
    eng_unref(z);
    eng_unref(a);
}

/* True division gives a floating result also for integers; rounding_mode "floor" and "trunc" do not. */
void eng_f_div(struct eng_op_call *c)
{
    enum vs_dtype compute = promoted(&c->a[ARG_div_input], &c->a[ARG_div_other]);
    enum eng_binary kernel = ENG_B_DIV;
    double p[4] = {0};

    if (c->a[ARG_div_rounding_mode].kind == ENG_A_STR &&
        c->a[ARG_div_rounding_mode].v.str[0] == 't') {
        struct eng_tensor *pair[] = {eng_c_tensor(c, ARG_div_input),
                                     eng_c_tensor(c, ARG_div_other)};
        struct eng_tensor *out = eng_c_elementwise_out(c, pair, 2, compute);

        if (out)
            run_trunc(c, compute, out);
        eng_c_give(c, out);
        return;
    }
    if (c->a[ARG_div_rounding_mode].kind == ENG_A_STR)
        kernel = ENG_B_FLOOR_DIV;
    else if (!vs_dtype_is_floating(compute))
        compute = VS_F32;
    run_binary(c, kernel, &c->a[ARG_div_input], &c->a[ARG_div_other], compute, compute, p);
}

/* input ** exponent, a number. */
void eng_f_pow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_pow_input);
    double p[4] = {eng_c_float(c, ARG_pow_exponent)};
    struct eng_tensor *out =
        eng_c_elementwise_out(c, &x, 1, eng_result_dtype(&x, 1, &c->a[ARG_pow_exponent]));

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->unary(ENG_U_POW_SCALAR, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

/* base ** exponent with a number as base; the result is row-major, whatever the exponent's strides are. */
void eng_f_rpow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_rpow_exponent);
    double p[4] = {eng_c_float(c, ARG_rpow_input)};
    struct eng_tensor *out =
        eng_c_empty(c, x->sizes, x->ndim, eng_result_dtype(&x, 1, &c->a[ARG_rpow_input]), x);

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->unary(ENG_U_SCALAR_POW, &vx, &vo, p);
    }
    /*
     * PyTorch copies the base to the device, 8 bytes that are freed when the op returns; a base of 1 fills the result
     * without that copy
     */
    if (p[0] != 1)
        eng_unref(eng_empty(c->e, NULL, 0, VS_F64, x->storage->on_host));
    eng_c_give(c, out);
}

/* torch.pow(number, tensor) */
void eng_f_pow_scalar(struct eng_op_call *c)
{
    struct eng_arg args[] = {
        [ARG_rpow_exponent] = eng_at(eng_c_tensor(c, ARG_pow_scalar_exponent)),
        [ARG_rpow_input] = c->a[ARG_pow_scalar_input],
    };

    eng_c_give(c, eng_call1(c->e, ENG_OP_rpow, args));
}

/*
 * A number where a tensor is wanted becomes a 0-dim tensor on the device, a tensor of another dtype a copy, as PyTorch
 * does inside where(). A new reference.
 */
static struct eng_tensor *as_tensor(struct eng_op_call *c, const struct eng_arg *arg,
                                    enum vs_dtype dtype, const struct eng_tensor *like)
{
    struct eng_tensor *t;

    if (arg->kind == ENG_A_TENSOR)
        return eng_to_dtype(c->e, arg->v.tensor, dtype);
    t = eng_empty(c->e, NULL, 0, dtype, like->storage->on_host);
    if (t && eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        c->e->kernels->fill(&v, arg->kind == ENG_A_BOOL
                                    ? (struct eng_scalar){true, arg->v.flag, (double)arg->v.flag}
                                    : arg->v.scalar);
    }
    return t;
}

/* condition ? input : other. Numbers become scalar tensors first, gone when the op returns. */
void eng_f_where(struct eng_op_call *c)
{
    struct eng_tensor *given[] = {eng_c_tensor(c, ARG_where_input),
                                  eng_c_tensor(c, ARG_where_other)};
    const struct eng_arg *number = !given[0]   ? &c->a[ARG_where_input]
                                   : !given[1] ? &c->a[ARG_where_other]
                                               : NULL;
    enum vs_dtype dtype = eng_result_dtype(given, 2, number);
    struct eng_tensor *a =
        as_tensor(c, &c->a[ARG_where_input], dtype, eng_c_tensor(c, ARG_where_condition));
    struct eng_tensor *b =
        as_tensor(c, &c->a[ARG_where_other], dtype, eng_c_tensor(c, ARG_where_condition));
    struct eng_tensor *all[] = {eng_c_tensor(c, ARG_where_condition), a, b};
    struct eng_tensor *out = a && b ? eng_c_elementwise_out(c, all, 3, dtype) : NULL;

    if (out) {
        if (eng_c_computes(c)) {
            struct eng_view vc = eng_v_expand(all[0], out);
            struct eng_view va = eng_v_expand(a, out);
            struct eng_view vb = eng_v_expand(b, out);
            struct eng_view vo = eng_v(out);
            double p[4] = {0};

            c->e->kernels->ternary(ENG_T_WHERE, dtype, &vc, &va, &vb, &vo, p);
        }
        eng_c_give(c, out);
    }
    eng_unref(b);
    eng_unref(a);
}

/*
 * input where mask is false, value where it is true, each broadcast to the other. The result, if not in place, is a
 * row-major copy, whatever the input's strides are.
 */
void eng_f_masked_fill(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_masked_fill_input);
    struct eng_tensor *pair[] = {x, eng_c_tensor(c, ARG_masked_fill_mask)};
    struct eng_tensor *out;
    int64_t sizes[VS_MAX_DIMS];
    int ndim;

    if (pair[1]->dtype != VS_BOOL) {
        eng_fail(c->e, VS_E_TYPE, "masked_fill: the mask must be a bool tensor, got %s",
                 vs_dtype_name((enum vs_dtype)pair[1]->dtype));
        return;
    }
    if (c->inplace)
        out = eng_c_elementwise_out(c, pair, 2, (enum vs_dtype)x->dtype);
    else if (eng_broadcast(c->e, x, pair[1], sizes, &ndim))
        out = eng_c_empty(c, sizes, ndim, (enum vs_dtype)x->dtype, x);
    else
        return;
    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_cell cell;
        struct eng_view vm = eng_v_expand(pair[1], out);
        struct eng_view vv = eng_v_operand(&c->a[ARG_masked_fill_value], out, &cell);
        struct eng_view vx = eng_v_expand(x, out);
        struct eng_view vo = eng_v(out);
        double p[4] = {0};

        c->e->kernels->ternary(ENG_T_WHERE, (enum vs_dtype)out->dtype, &vm, &vv, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

/* kernel(x, y, z, value) over all[0..2]; where all[2] is NULL, z is y. */
static void ternary(struct eng_op_call *c, enum eng_ternary kernel, struct eng_tensor *const *all,
                    double value)
{
    enum vs_dtype dtype = eng_result_dtype(all, 3, NULL);
    struct eng_tensor *out = eng_c_elementwise_out(c, all, 3, dtype);
    double p[4] = {value};

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(all[0], out);
        struct eng_view vb = eng_v_expand(all[1], out);
        struct eng_view vc = eng_v_expand(all[2] ? all[2] : all[1], out);
        struct eng_view vo = eng_v(out);

        c->e->kernels->ternary(kernel, dtype, &va, &vb, &vc, &vo, p);
    }
    eng_c_give(c, out);
}

/* addcmul, addcdiv: input + value * tensor1 (*|/) tensor2 */
void eng_f_ternary(struct eng_op_call *c)
{
    struct eng_tensor *all[] = {eng_c_tensor(c, ARG_ternary_input),
                                eng_c_tensor(c, ARG_ternary_tensor1),
                                eng_c_tensor(c, ARG_ternary_tensor2)};

    ternary(c, c->id == ENG_OP_addcmul ? ENG_T_ADDCMUL : ENG_T_ADDCDIV, all,
            eng_c_has(c, ARG_ternary_value) ? eng_c_float(c, ARG_ternary_value) : 1);
}

/* input + weight * (end - input) */
void eng_f_lerp(struct eng_op_call *c)
{
    struct eng_tensor *all[] = {eng_c_tensor(c, ARG_lerp_input), eng_c_tensor(c, ARG_lerp_end),
                                NULL};

    if (all[0]->dtype != all[1]->dtype) {
        eng_fail(c->e, VS_E_TYPE, "lerp: expected dtype %s for `end` but got dtype %s",
                 vs_dtype_name((enum vs_dtype)all[0]->dtype),
                 vs_dtype_name((enum vs_dtype)all[1]->dtype));
        return;
    }
    ternary(c, ENG_T_LERP, all, eng_c_float(c, ARG_lerp_weight));
}

/* max(a, b), min(a, b) are maximum and minimum */
void eng_f_max_other(struct eng_op_call *c)
{
    eng_c_give(c,
               eng_call1(c->e, c->id == ENG_OP_max_other ? ENG_OP_maximum : ENG_OP_minimum, c->a));
}
