/*
 * engine/ops/binary.c - elementwise ops of two and three operands and their gradients.
 *
 * Must not know:  autograd's machinery: gradients that were broadcast are summed by whoever called backward.
 * Invariant:      the gradient of the operand whose name comes first in PyTorch's alphabet is made first ("other" before "self").
 */
#include <math.h>

#include "engine/op_internal.h"
#include "engine/ops/ops.h"

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

/* out = kernel(a[0], a[1]) computed in `compute`; out has dtype `dtype`. */
static void run_binary(struct eng_op_call *c, enum eng_binary kernel, const struct eng_arg *left,
                       const struct eng_arg *right, enum vs_dtype compute, enum vs_dtype dtype,
                       const double *p)
{
    struct eng_tensor *pair[] = {left->kind == ENG_A_TENSOR ? left->v.tensor : NULL,
                                 right->kind == ENG_A_TENSOR ? right->v.tensor : NULL};
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

static enum vs_dtype promoted(const struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, 0), eng_c_tensor(c, 1)};

    return eng_result_dtype(pair, 2, &c->a[1]);
}

/* Masks are not numbers: `1 - mask` is written `~mask`. Nor is True, which PyTorch takes for a tensor of one. */
static bool may_subtract(struct eng_op_call *c)
{
    int bools = 0;

    for (int i = 0; i < 2; i++) {
        const struct eng_tensor *t = eng_c_tensor(c, i);

        bools += t ? t->dtype == VS_BOOL : c->a[i].kind == ENG_A_SCALAR && c->a[i].count;
    }
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

/* Shapes: broadcast. */
void eng_f_binary(struct eng_op_call *c)
{
    const struct binary_row *row = &ROWS[c->id];
    enum vs_dtype compute = promoted(c);
    double p[4] = {1};

    VS_ASSERT(row->known);
    if (c->id == ENG_OP_sub && !may_subtract(c))
        return;
    if ((c->id == ENG_OP_add || c->id == ENG_OP_sub) && eng_c_has(c, 2))
        p[0] = eng_c_float(c, 2);
    run_binary(c, row->kernel, &c->a[0], &c->a[1], compute, row->kind == TEST ? VS_BOOL : compute,
               p);
}

/* other - alpha * input */
void eng_f_rsub(struct eng_op_call *c)
{
    double p[4] = {eng_c_has(c, 2) ? eng_c_float(c, 2) : 1};
    enum vs_dtype compute = promoted(c);

    if (!may_subtract(c))
        return;
    run_binary(c, ENG_B_SUB, &c->a[1], &c->a[0], compute, compute, p);
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
        struct eng_view from_a = eng_v_operand(&c->a[0], out, &ca),
                        from_z = eng_v_operand(&c->a[1], out, &cz);
        struct eng_view va = eng_v(a), vz = eng_v(z), vo = eng_v(out);
        double p[4] = {1};

        k->copy(&from_a, &va);
        k->copy(&from_z, &vz);
        k->binary(ENG_B_DIV, floats ? compute : VS_F64, &va, &vz, &vo,
                  p); /* only its sign counts */
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
    enum vs_dtype compute = promoted(c);
    enum eng_binary kernel = ENG_B_DIV;
    double p[4] = {0};

    if (c->a[2].kind == ENG_A_STR && c->a[2].v.str[0] == 't') {
        struct eng_tensor *pair[] = {eng_c_tensor(c, 0), eng_c_tensor(c, 1)};
        struct eng_tensor *out = eng_c_elementwise_out(c, pair, 2, compute);

        if (out)
            run_trunc(c, compute, out);
        eng_c_give(c, out);
        return;
    }
    if (c->a[2].kind == ENG_A_STR)
        kernel = ENG_B_FLOOR_DIV;
    else if (!vs_dtype_is_floating(compute))
        compute = VS_F32;
    run_binary(c, kernel, &c->a[0], &c->a[1], compute, compute, p);
}

/* input ** exponent, a number. */
void eng_f_pow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    double p[4] = {eng_c_float(c, 1)};
    struct eng_tensor *out = eng_c_elementwise_out(c, &x, 1, eng_result_dtype(&x, 1, &c->a[1]));

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->unary(ENG_U_POW_SCALAR, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

/* base ** exponent, the base a number. */
void eng_f_rpow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    double p[4] = {eng_c_float(c, 1)};
    struct eng_tensor *out = eng_c_elementwise_out(c, &x, 1, eng_result_dtype(&x, 1, &c->a[1]));

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->unary(ENG_U_SCALAR_POW, &vx, &vo, p);
    }
    /* the base goes to the device as a number of 8 bytes, and is gone when the op returns */
    eng_unref(eng_empty(c->e, NULL, 0, VS_F64, x->storage->on_host));
    eng_c_give(c, out);
}

/*
 * A number where a tensor is wanted becomes a 0-dim tensor on the device, a tensor of another dtype a copy, as PyTorch does inside where(). A
 * new reference.
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
    struct eng_tensor *given[] = {eng_c_tensor(c, 1), eng_c_tensor(c, 2)};
    const struct eng_arg *number = !given[0] ? &c->a[1] : !given[1] ? &c->a[2] : NULL;
    enum vs_dtype dtype = eng_result_dtype(given, 2, number);
    struct eng_tensor *a = as_tensor(c, &c->a[1], dtype, eng_c_tensor(c, 0));
    struct eng_tensor *b = as_tensor(c, &c->a[2], dtype, eng_c_tensor(c, 0));
    struct eng_tensor *all[] = {eng_c_tensor(c, 0), a, b};
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

/* input with value where mask. mask broadcasts to input's shape. */
void eng_f_masked_fill(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *pair[] = {x, eng_c_tensor(c, 1)};
    struct eng_tensor *out;

    if (pair[1]->dtype != VS_BOOL) {
        eng_fail(c->e, VS_E_TYPE, "masked_fill: the mask must be a bool tensor, got %s",
                 vs_dtype_name((enum vs_dtype)pair[1]->dtype));
        return;
    }
    out = eng_c_elementwise_out(c, pair, 2, (enum vs_dtype)x->dtype);
    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_cell cell;
        struct eng_view vm = eng_v_expand(pair[1], out);
        struct eng_view vv = eng_v_operand(&c->a[2], out, &cell);
        struct eng_view vx = eng_v_expand(x, out);
        struct eng_view vo = eng_v(out);
        double p[4] = {0};

        c->e->kernels->ternary(ENG_T_WHERE, (enum vs_dtype)out->dtype, &vm, &vv, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

/* addcmul, addcdiv: input + value * t1 (*|/) t2; lerp: input + weight * (end - input) */
void eng_f_ternary(struct eng_op_call *c)
{
    struct eng_tensor *all[] = {eng_c_tensor(c, 0), eng_c_tensor(c, 1),
                                c->id == ENG_OP_lerp ? NULL : eng_c_tensor(c, 2)};
    int number = c->id == ENG_OP_lerp ? 2 : 3;
    double p[4] = {eng_c_has(c, number) ? eng_c_float(c, number) : 1};
    enum vs_dtype dtype = eng_result_dtype(all, 3, NULL);
    struct eng_tensor *out;

    if (c->id == ENG_OP_lerp && all[0]->dtype != all[1]->dtype) {
        eng_fail(c->e, VS_E_TYPE, "lerp: expected dtype %s for `end` but got dtype %s",
                 vs_dtype_name((enum vs_dtype)all[0]->dtype),
                 vs_dtype_name((enum vs_dtype)all[1]->dtype));
        return;
    }
    out = eng_c_elementwise_out(c, all, 3, dtype);
    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(all[0], out);
        struct eng_view vb = eng_v_expand(all[1], out);
        struct eng_view vc = eng_v_expand(all[2] ? all[2] : all[1], out);
        struct eng_view vo = eng_v(out);
        enum eng_ternary kernel = c->id == ENG_OP_lerp      ? ENG_T_LERP
                                  : c->id == ENG_OP_addcmul ? ENG_T_ADDCMUL
                                                            : ENG_T_ADDCDIV;

        c->e->kernels->ternary(kernel, dtype, &va, &vb, &vc, &vo, p);
    }
    eng_c_give(c, out);
}

/* max(a, b), min(a, b) are maximum and minimum */
void eng_f_max_other(struct eng_op_call *c)
{
    eng_c_give(c,
               eng_call1(c->e, c->id == ENG_OP_max_other ? ENG_OP_maximum : ENG_OP_minimum, c->a));
}

/* ---- backward ---- */

static double number_or(const struct eng_bw *b, int arg, double otherwise)
{
    if (b->a[arg].kind == ENG_A_BOOL)
        return (double)b->a[arg].v.flag;
    return b->a[arg].kind == ENG_A_SCALAR ? b->a[arg].v.scalar.f : otherwise;
}

static bool wants(const struct eng_bw *b, int arg)
{
    return b->a[arg].kind == ENG_A_TENSOR && eng_b_needs(b, arg);
}

/* t, or t * factor where factor is not 1. Takes over t. */
static struct eng_tensor *times(struct eng *e, struct eng_tensor *t, double factor)
{
    struct eng_tensor *scaled;

    if (!t || factor == 1.0)
        return t;
    scaled = eng_mul_scalar(e, t, factor);
    eng_unref(t);
    return scaled;
}

void eng_b_add(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, times(b->e, eng_ref(b->g[0]), number_or(b, 2, 1)));
    if (wants(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
}

void eng_b_sub(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, times(b->e, eng_neg(b->e, b->g[0]), number_or(b, 2, 1)));
    if (wants(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
}

void eng_b_rsub(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, eng_ref(b->g[0]));
    if (wants(b, 0))
        eng_b_give(b, 0, times(b->e, eng_neg(b->e, b->g[0]), number_or(b, 2, 1)));
}

/* saved: other, input (PyTorch calls it self, so it comes after) */
void eng_b_mul(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, eng_mul(b->e, b->g[0], b->saved[1]));
    if (wants(b, 0))
        eng_b_give(b, 0,
                   b->a[1].kind == ENG_A_TENSOR
                       ? eng_mul(b->e, b->g[0], b->saved[0])
                       : eng_mul_scalar(b->e, b->g[0], number_or(b, 1, 1)));
}

/* other: -g * ((input / other) / other); input: g / other. saved: other, input */
void eng_b_div(struct eng_bw *b)
{
    struct eng *e = b->e;

    if (b->a[2].kind == ENG_A_STR) { /* rounded: piecewise constant */
        for (int i = 1; i >= 0; i--) {
            struct eng_arg args[] = {eng_at(b->g[0]), eng_anone(), eng_anone()};

            if (wants(b, i))
                eng_b_give(b, i, eng_call1(e, ENG_OP_zeros_like, args));
        }
        return;
    }
    if (wants(b, 1)) {
        struct eng_tensor *once = eng_div(e, b->saved[1], b->saved[0]);
        struct eng_tensor *twice = eng_div(e, once, b->saved[0]);
        struct eng_tensor *minus = eng_neg(e, b->g[0]);

        eng_b_give(b, 1, eng_mul(e, minus, twice));
        eng_unref(minus);
        eng_unref(twice);
        eng_unref(once);
    }
    if (wants(b, 0))
        eng_b_give(b, 0,
                   b->a[1].kind == ENG_A_TENSOR ? eng_div(e, b->g[0], b->saved[0])
                                                : eng_div_scalar(e, b->g[0], number_or(b, 1, 1)));
}

void eng_b_remainder(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_fail(b->e, VS_E_UNSUPPORTED, "remainder: the gradient of the divisor is not supported");
    if (wants(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
}

/* g * (k * x^(k-1)) */
void eng_b_pow(struct eng_bw *b)
{
    struct eng *e = b->e;
    double k = number_or(b, 1, 1);
    struct eng_tensor *power, *scaled;

    if (k == 0.0) {
        struct eng_arg args[] = {eng_at(b->saved[0]), eng_anone(), eng_anone()};

        eng_b_give(b, 0, b->saved[0] ? eng_call1(e, ENG_OP_zeros_like, args) : NULL);
        return;
    }
    power = eng_pow_scalar(e, b->saved[0], k - 1);
    scaled = eng_mul_scalar(e, power, k);
    eng_b_give(b, 0, eng_mul(e, b->g[0], scaled));
    eng_unref(scaled);
    eng_unref(power);
}

static struct eng_tensor *scalar_zero(struct eng_bw *b)
{
    return eng_zeros(b->e, NULL, 0, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
}

static struct eng_tensor *where3(struct eng *e, struct eng_tensor *test, struct eng_tensor *a,
                                 struct eng_tensor *z)
{
    struct eng_arg args[] = {eng_at(test), eng_at(a), eng_at(z)};

    return test && a && z ? eng_call1(e, ENG_OP_where, args) : NULL;
}

/* g * where(input == 0 and exponent >= 0, 0, result * log(input)). saved: exponent, input, result */
static struct eng_tensor *exponent_gradient(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *positive = eng_op2s(e, ENG_OP_ge, b->saved[0], 0);
    struct eng_tensor *zero_base = eng_op2s(e, ENG_OP_eq, b->saved[1], 0);
    struct eng_tensor *both = eng_op2(e, ENG_OP_logical_and, zero_base, positive);
    struct eng_tensor *log, *product, *zero, *picked, *out;

    eng_unref(zero_base);
    eng_unref(positive);
    log = eng_op1(e, ENG_OP_log, b->saved[1]);
    product = eng_mul(e, b->saved[2], log);
    zero = scalar_zero(b);
    picked = where3(e, both, zero, product);
    out = eng_mul(e, b->g[0], picked);
    eng_unref(picked);
    eng_unref(zero);
    eng_unref(product);
    eng_unref(log);
    eng_unref(both);
    return out;
}

/* where(exponent == 0, 0, g * (exponent * input^(exponent-1))) */
static struct eng_tensor *base_gradient(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_arg minus_one[] = {eng_at(b->saved[0]), eng_ai(1), eng_ai(1)};
    struct eng_tensor *less = b->saved[0] ? eng_call1(e, ENG_OP_sub, minus_one) : NULL;
    struct eng_tensor *power = eng_op2(e, ENG_OP_pow_tensor, b->saved[1], less);
    struct eng_tensor *scaled = eng_mul(e, b->saved[0], power);
    struct eng_tensor *product = eng_mul(e, b->g[0], scaled);
    struct eng_tensor *zero = scalar_zero(b);
    struct eng_tensor *test = eng_op2s(e, ENG_OP_eq, b->saved[0], 0);
    struct eng_tensor *out = where3(e, test, zero, product);

    eng_unref(test);
    eng_unref(zero);
    eng_unref(product);
    eng_unref(scaled);
    eng_unref(power);
    eng_unref(less);
    return out;
}

void eng_b_pow_tensor(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, exponent_gradient(b));
    if (wants(b, 0))
        eng_b_give(b, 0, base_gradient(b));
}

/* g * (result * log(base)). saved: exponent, result */
void eng_b_rpow(struct eng_bw *b)
{
    struct eng_tensor *scaled = eng_mul_scalar(b->e, b->saved[1], log(number_or(b, 1, 1)));

    eng_b_give(b, 0, eng_mul(b->e, b->g[0], scaled));
    eng_unref(scaled);
}

/*
 * where(input == other, g / 2, g), zero where the other one won. `loses` is the test under which this operand gets nothing. Made in the order in which
 * C++ evaluates the arguments: the test, the half, the comparison.
 */
static struct eng_tensor *extremum_side(struct eng_bw *b, enum eng_op_id loses)
{
    struct eng *e = b->e;
    struct eng_tensor *mask = eng_op2(e, loses, b->saved[1], b->saved[0]);
    struct eng_tensor *half = eng_div_scalar(e, b->g[0], 2);
    struct eng_tensor *same = eng_op2(e, ENG_OP_eq, b->saved[1], b->saved[0]);
    struct eng_arg pick[] = {eng_at(same), eng_at(half), eng_at(b->g[0])};
    struct eng_tensor *out = same && half ? eng_call1(e, ENG_OP_where, pick) : NULL;
    struct eng_arg fill[] = {eng_at(out), eng_at(mask), eng_ai(0)};
    struct eng_ret ret;

    if (out && mask && eng_call_inplace(e, ENG_OP_masked_fill, fill, &ret))
        eng_ret_release(&ret);
    eng_unref(same);
    eng_unref(half);
    eng_unref(mask);
    return out;
}

void eng_b_maximum(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, extremum_side(b, ENG_OP_gt));
    if (wants(b, 0))
        eng_b_give(b, 0, extremum_side(b, ENG_OP_lt));
}

void eng_b_minimum(struct eng_bw *b)
{
    if (wants(b, 1))
        eng_b_give(b, 1, extremum_side(b, ENG_OP_lt));
    if (wants(b, 0))
        eng_b_give(b, 0, extremum_side(b, ENG_OP_gt));
}

/* other: where(condition, 0, g); input: where(condition, g, 0) */
void eng_b_where(struct eng_bw *b)
{
    struct eng_arg other[] = {eng_at(b->saved[0]), eng_ai(0), eng_at(b->g[0])};
    struct eng_arg input[] = {eng_at(b->saved[0]), eng_at(b->g[0]), eng_ai(0)};

    if (b->e->failed)
        return;
    if (wants(b, 2))
        eng_b_give(b, 2, eng_call1(b->e, ENG_OP_where, other));
    if (wants(b, 1))
        eng_b_give(b, 1, eng_call1(b->e, ENG_OP_where, input));
}

void eng_b_masked_fill(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), eng_at(b->saved[0]), eng_ai(0)};

    if (b->saved[0])
        eng_b_give(b, 0, eng_call1(b->e, ENG_OP_masked_fill, args));
}

/* saved: tensor1, tensor2 */
void eng_b_addcmul(struct eng_bw *b)
{
    double value = number_or(b, 3, 1);

    if (wants(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
    for (int i = 1; i <= 2; i++) {
        if (wants(b, i)) {
            struct eng_tensor *scaled = eng_mul_scalar(b->e, b->saved[2 - i], value);

            eng_b_give(b, i, eng_mul(b->e, b->g[0], scaled));
            eng_unref(scaled);
        }
    }
}

/* tensor1: g * (value / t2); tensor2: -g * (value * t1 / (t2 * t2)). saved: tensor1, tensor2 */
void eng_b_addcdiv(struct eng_bw *b)
{
    struct eng *e = b->e;
    double value = number_or(b, 3, 1);

    if (wants(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
    if (wants(b, 1)) {
        struct eng_arg fill[] = {eng_at(b->saved[1]), eng_af(value), eng_anone(), eng_anone()};
        struct eng_tensor *ratio = b->saved[1] ? eng_call1(e, ENG_OP_full_like, fill) : NULL;
        struct eng_arg by[] = {eng_at(ratio), eng_at(b->saved[1]), eng_anone()};
        struct eng_ret ret;

        if (ratio && eng_call_inplace(e, ENG_OP_div, by, &ret))
            eng_ret_release(&ret);
        eng_b_give(b, 1, eng_mul(e, b->g[0], ratio));
        eng_unref(ratio);
    }
    if (wants(b, 2)) {
        struct eng_tensor *squared = eng_mul(e, b->saved[1], b->saved[1]);
        struct eng_tensor *scaled = eng_mul_scalar(e, b->saved[0], value);
        struct eng_tensor *ratio = eng_div(e, scaled, squared);
        struct eng_tensor *minus = eng_neg(e, b->g[0]);

        eng_b_give(b, 2, eng_mul(e, minus, ratio));
        eng_unref(minus);
        eng_unref(ratio);
        eng_unref(scaled);
        eng_unref(squared);
    }
}

/* end: g * weight; input: g * (1 - weight) */
void eng_b_lerp(struct eng_bw *b)
{
    double weight = number_or(b, 2, 0);

    if (wants(b, 1))
        eng_b_give(b, 1, eng_mul_scalar(b->e, b->g[0], weight));
    if (wants(b, 0))
        eng_b_give(b, 0, eng_mul_scalar(b->e, b->g[0], 1.0 - weight));
}
