/*
 * engine/ops/foreach.c - ops over lists of tensors, as optimizers use them, and the two ops of the gradient scaler.
 *
 * Must not know:  optimizers.
 * Invariant:      an out-of-place op allocates one new tensor per element, in list order; an in-place op allocates
 *                 nothing. Only the norms also allocate workspaces, first, and free them before they return.
 */
#include <math.h>

#include "base/mem.h"
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

enum { NORM_CHUNK = 65536 }; /* elements that one block of the kernel of norms sums up */

/* The op that a row of the op table applies to one element. */
struct foreach_row {
    enum {
        UNARY = ENG_MANY_UNARY,
        BINARY = ENG_MANY_BINARY,
        TERNARY = ENG_MANY_TERNARY,
        COPY,
        ZERO,
        NORM
    } shape;
    int kernel;
};

static struct foreach_row row_of(enum eng_op_id id)
{
    switch (id) {
    case ENG_OP_foreach_mul:
    case ENG_OP_foreach_mul_list:
    case ENG_OP_foreach_mul_tensor:
    case ENG_OP_foreach_mul_scalars:
        return (struct foreach_row){BINARY, ENG_B_MUL};
    case ENG_OP_foreach_div:
    case ENG_OP_foreach_div_list:
    case ENG_OP_foreach_div_scalars:
        return (struct foreach_row){BINARY, ENG_B_DIV};
    case ENG_OP_foreach_maximum:
        return (struct foreach_row){BINARY, ENG_B_MAXIMUM};
    case ENG_OP_foreach_lerp:
        return (struct foreach_row){TERNARY, ENG_T_LERP};
    case ENG_OP_foreach_addcmul:
        return (struct foreach_row){TERNARY, ENG_T_ADDCMUL};
    case ENG_OP_foreach_addcdiv:
    case ENG_OP_foreach_addcdiv_scalars:
        return (struct foreach_row){TERNARY, ENG_T_ADDCDIV};
    case ENG_OP_foreach_neg:
        return (struct foreach_row){UNARY, ENG_U_NEG};
    case ENG_OP_foreach_sqrt:
        return (struct foreach_row){UNARY, ENG_U_SQRT};
    case ENG_OP_foreach_zero:
        return (struct foreach_row){ZERO, 0};
    case ENG_OP_foreach_copy:
        return (struct foreach_row){COPY, 0};
    case ENG_OP_foreach_norm:
        return (struct foreach_row){NORM, 0};
    default:
        return (struct foreach_row){BINARY, ENG_B_ADD};
    }
}

static struct eng_tensor *element(const struct eng_arg *a, uint32_t i)
{
    return a->kind == ENG_A_TENSORS  ? a->v.tensors[i]
           : a->kind == ENG_A_TENSOR ? a->v.tensor
                                     : NULL;
}

/* The second operand of element i: a tensor, or a number. */
static struct eng_view operand(const struct eng_arg *a, uint32_t i, const struct eng_tensor *out,
                               struct eng_cell *cell)
{
    if (a->kind == ENG_A_FLOATS)
        return eng_v_scalar((struct eng_scalar){false, 0, a->v.floats[i]}, out, cell);
    if (a->kind == ENG_A_TENSORS)
        return eng_v_expand(a->v.tensors[i], out);
    return eng_v_operand(a, out, cell);
}

/* The arguments of an op after the list; NULL for those that the op does not have. */
struct operands {
    const struct eng_arg *a, *b; /* second and third operand */
    const struct eng_arg *number;
};

/* The number that belongs to element i; 1 if none is given. */
static double number_of(const struct eng_arg *number, uint32_t i)
{
    if (!number || number->kind == ENG_A_NONE)
        return 1;
    return number->kind == ENG_A_FLOATS ? number->v.floats[i] : eng_arg_float(number);
}

/* Copies, fills and norms: one call each. */
static void compute_one(struct eng_op_call *c, struct foreach_row row, struct operands operands,
                        uint32_t i, struct eng_tensor *x, struct eng_tensor *out)
{
    const struct eng_kernels *k = c->e->kernels;
    struct eng_view vx = eng_v(x), vo = eng_v(out), va;
    struct eng_cell ca;
    double p[4] = {0};

    if (row.shape == COPY) {
        va = operand(operands.a, i, out, &ca);
        k->copy(&va, &vo);
    } else if (row.shape == ZERO) {
        k->fill(&vo, (struct eng_scalar){true, 0, 0});
    } else {
        struct eng_view keep = vo;

        keep.ndim = vx.ndim;
        for (int d = 0; d < vx.ndim; d++) {
            keep.sizes[d] = 1;
            keep.strides[d] = 0;
        }
        eng_run_reduce(c->e, out->storage->on_host, ENG_R_NORM2, &vx, &keep, (1U << vx.ndim) - 1,
                       p);
    }
}

/* Elements [first, first+count) in one call. */
static void compute_some(struct eng_op_call *c, struct foreach_row row, struct operands operands,
                         uint32_t first, uint32_t count, struct eng_tensor *const *outs)
{
    struct eng_many_item items[ENG_MANY_MAX];
    struct eng_cell cells[ENG_MANY_MAX][2];
    struct eng_many many = {.kind = (enum eng_many_kind)row.shape,
                            .op = row.kernel,
                            .count = (int)count,
                            .items = items};

    for (uint32_t k = 0; k < count; k++) {
        struct eng_many_item *t = &items[k];
        uint32_t i = first + k;

        *t = (struct eng_many_item){.x = eng_v(element(&c->a[ARG_foreach_tensors], i)),
                                    .out = eng_v(outs[i])};
        if (row.shape != UNARY)
            t->a = operand(operands.a, i, outs[i], &cells[k][0]);
        if (row.shape == TERNARY)
            t->b = operands.b ? operand(operands.b, i, outs[i], &cells[k][1]) : t->a;
        if (row.shape != UNARY)
            t->p = number_of(operands.number, i);
    }
    c->e->kernels->many(&many);
}

static void compute(struct eng_op_call *c, struct foreach_row row, struct operands operands,
                    uint32_t count, struct eng_tensor *const *outs)
{
    if (row.shape > TERNARY) {
        for (uint32_t i = 0; i < count && !c->e->failed; i++)
            if (c->e->kernels || (row.shape == NORM && eng_runs(c->e)))
                compute_one(c, row, operands, i, element(&c->a[ARG_foreach_tensors], i), outs[i]);
        return;
    }
    for (uint32_t i = 0; i < count && c->e->kernels && !c->e->failed; i += ENG_MANY_MAX)
        compute_some(c, row, operands, i, count - i < ENG_MANY_MAX ? count - i : ENG_MANY_MAX,
                     outs);
}

/*
 * Whether one kernel computes all norms: the tensors are on the device, have one dtype and are dense. Otherwise each
 * norm is a separate reduction.
 */
static bool is_one_kernel(const struct eng_arg *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct eng_tensor *x = list->v.tensors[i];

        if (x->storage->on_host || x->dtype != list->v.tensors[0]->dtype ||
            !eng_is_non_overlapping_and_dense(x))
            return false;
    }
    return list->count > 0;
}

/*
 * Allocates the workspaces of that kernel: the index of each tensor's first chunk (and the end), and one partial sum
 * per chunk. Up to PyTorch 2.11 there are no indices, and each tensor has as many partial sums as the largest one.
 */
static void take_norm_workspaces(struct eng_op_call *c, struct eng_tensor *workspaces[2])
{
    const struct eng_tensor *first = element(&c->a[ARG_foreach_tensors], 0);
    const bool has_indices = eng_torch(c->e) > 11;
    int64_t begins = 1, chunks = 0, most = 0;

    for (uint32_t i = 0; i < c->a[ARG_foreach_tensors].count; i++) {
        int64_t n = eng_numel(element(&c->a[ARG_foreach_tensors], i));
        int64_t own = (n + NORM_CHUNK - 1) / NORM_CHUNK;

        begins += n > 0;
        chunks += own;
        most = own > most ? own : most;
    }
    if (has_indices)
        workspaces[0] = eng_c_empty(c, &begins, 1, VS_I64, first);
    else
        chunks = most * c->a[ARG_foreach_tensors].count;
    if (workspaces[0] || !has_indices)
        workspaces[1] = eng_c_empty(c, &chunks, 1, first->dtype == VS_F64 ? VS_F64 : VS_F32, first);
}

static struct eng_tensor *new_norm(struct eng_op_call *c, const struct eng_tensor *x, bool in_one)
{
    struct eng_tensor *out = eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);

    if (out && !in_one)
        eng_scratch_reduce(c->e, ENG_SR_SUM, x, out, (1U << x->ndim) - 1, false);
    return out;
}

/*
 * The norms are written to the first results allocated; an empty tensor gets a different one, and unused results are
 * freed.
 */
static void pass_over_empty(struct eng_op_call *c, struct eng_tensor **outs)
{
    uint32_t count = c->a[ARG_foreach_tensors].count, used = 0;
    struct eng_tensor **made = vs_calloc(count, sizeof(*made));

    for (uint32_t i = 0; i < count; i++)
        made[i] = outs[i];
    for (uint32_t i = 0; i < count; i++) {
        const struct eng_tensor *x = element(&c->a[ARG_foreach_tensors], i);

        outs[i] = eng_numel(x) ? made[used++] : eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);
    }
    while (used < count)
        eng_unref(made[used++]);
    vs_free(made);
}

static void foreach (struct eng_op_call *c, struct operands operands)
{
    uint32_t count = c->a[ARG_foreach_tensors].count;
    struct foreach_row row = row_of(c->id);
    bool in_one = row.shape == NORM && is_one_kernel(&c->a[ARG_foreach_tensors]);
    struct eng_tensor **outs, *workspaces[2] = {0};

    for (int a = 0; a < c->e->signatures[c->id].count; a++) {
        if ((c->a[a].kind == ENG_A_TENSORS || c->a[a].kind == ENG_A_FLOATS) &&
            c->a[a].count != count) {
            eng_fail(c->e, VS_E_VALUE, "%s: the lists must have the same length, got %u and %u",
                     eng_op_get(c->id)->name, count, c->a[a].count);
            return;
        }
    }
    outs = vs_calloc(count + 1, sizeof(*outs));
    if (in_one)
        take_norm_workspaces(c, workspaces);
    for (uint32_t i = 0; i < count && !c->e->failed; i++) {
        struct eng_tensor *x = element(&c->a[ARG_foreach_tensors], i);

        if (c->is_inplace)
            outs[i] = eng_ref(x);
        else if (row.shape == NORM)
            outs[i] = new_norm(c, x, in_one);
        else
            outs[i] = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    }
    if (in_one && !c->e->failed)
        pass_over_empty(c, outs);
    compute(c, row, operands, count, outs);
    eng_unref(workspaces[1]);
    eng_unref(workspaces[0]);
    eng_c_give_list(c, outs, count);
    vs_free(outs);
}

/* Ops on the list alone: neg, sqrt, zero, norm. */
void eng_f_foreach(struct eng_op_call *c)
{
    foreach (c, (struct operands){NULL, NULL, NULL})
        ;
}

/* mul, div, maximum; add without a factor */
void eng_f_foreach_binary(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_binary_other]})
        ;
}

void eng_f_foreach_add(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_add_other],
                                  .number = &c->a[ARG_foreach_add_alpha]})
        ;
}

void eng_f_foreach_copy(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_copy_src]})
        ;
}

void eng_f_foreach_lerp(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_lerp_end],
                                  .number = &c->a[ARG_foreach_lerp_weight]})
        ;
}

/* addcmul, addcdiv */
void eng_f_foreach_ternary(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_ternary_tensor1],
                                  .b = &c->a[ARG_foreach_ternary_tensor2],
                                  .number = &c->a[ARG_foreach_ternary_value]})
        ;
}

void eng_f_foreach_addcdiv_scalars(struct eng_op_call *c)
{
    foreach (c, (struct operands){.a = &c->a[ARG_foreach_addcdiv_scalars_tensor1],
                                  .b = &c->a[ARG_foreach_addcdiv_scalars_tensor2],
                                  .number = &c->a[ARG_foreach_addcdiv_scalars_values]})
        ;
}

/* Multiplies every gradient by inv_scale in place; sets found_inf if any of them is not finite. */
void eng_f_amp_unscale(struct eng_op_call *c)
{
    struct eng_tensor *found = eng_c_tensor(c, ARG_amp_unscale_found_inf),
                      *scale = eng_c_tensor(c, ARG_amp_unscale_inv_scale);

    uint32_t count = c->a[ARG_amp_unscale_tensors].count;

    for (uint32_t i = 0; i < count && eng_c_computes(c); i += ENG_MANY_MAX) {
        struct eng_many_item items[ENG_MANY_MAX];
        struct eng_many many = {.kind = ENG_MANY_UNSCALE, .items = items};

        for (uint32_t k = i; k < count && k < i + ENG_MANY_MAX; k++) {
            struct eng_many_item *t = &items[many.count++];

            *t = (struct eng_many_item){.x = eng_v(c->a[ARG_amp_unscale_tensors].v.tensors[k]),
                                        .a = eng_v(scale),
                                        .b = eng_v(found)};
            t->a.ndim = t->b.ndim = 0;
        }
        c->e->kernels->many(&many);
    }
    eng_c_give_list(c, NULL, 0);
}

static double read_number(struct eng_op_call *c, struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 0;
    return c->e->kernels->item(&v).f;
}

static void write_number(struct eng_op_call *c, struct eng_tensor *t, double value)
{
    struct eng_view v = eng_v(t);

    c->e->kernels->fill(&v, (struct eng_scalar){false, (int64_t)value, value});
}

/* (scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval), in place */
void eng_f_amp_update_scale(struct eng_op_call *c)
{
    struct eng_tensor *scale = eng_c_tensor(c, ARG_amp_update_scale_input),
                      *tracker = eng_c_tensor(c, ARG_amp_update_scale_growth_tracker);

    if (eng_c_computes(c)) {
        double current = read_number(c, scale);

        if (read_number(c, eng_c_tensor(c, ARG_amp_update_scale_found_inf)) != 0) {
            write_number(c, scale, current * eng_c_float(c, ARG_amp_update_scale_backoff_factor));
            write_number(c, tracker, 0);
        } else {
            double successful = read_number(c, tracker) + 1;

            if (successful == (double)eng_c_int(c, ARG_amp_update_scale_growth_interval)) {
                double grown = current * eng_c_float(c, ARG_amp_update_scale_growth_factor);

                if (isfinite((float)grown))
                    write_number(c, scale, grown);
                write_number(c, tracker, 0);
            } else {
                write_number(c, tracker, successful);
            }
        }
    }
    eng_c_give(c, eng_ref(scale));
}
