/*
 * engine/device/cpu/cpu_elementwise.c - unary, binary and ternary kernels over any strides and dtypes; unscale.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  the formulas: they are in rows_*.inc.
 * Invariant:      each piece of the inputs is read before an output in the same memory is written, so an in-place call
 *                 gives exactly the same bits as the out-of-place call.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

#define PIECE 32768 /* elements of a task */

struct map {
    const struct cpu_num *num;
    int operands; /* the output is operand 0 */
    int op;
    const double *p;
    enum vs_dtype dtype[CPU_OPERANDS];
    bool rounds[CPU_OPERANDS]; /* the operand is first rounded to `round_to` */
    enum vs_dtype round_to;
};

static void apply(const struct map *m, int64_t n, const void *const *in, void *out)
{
    switch (m->operands) {
    case 2:
        m->num->unary((enum eng_unary)m->op, n, in[1], out, m->p);
        break;
    case 3:
        m->num->binary((enum eng_binary)m->op, n, in[1], in[2], out, m->p);
        break;
    default:
        m->num->ternary((enum eng_ternary)m->op, n, in[1], in[2], in[3], out, m->p);
        break;
    }
}

static void map_row(void *ctx, int64_t index, int64_t n, char *const *data, const int64_t *strides)
{
    const struct map *m = ctx;
    const struct cpu_num *num = m->num;
    int64_t buf[CPU_OPERANDS][CPU_CHUNK];
    bool aliased = false;

    (void)index;
    for (int k = 1; k < m->operands; k++)
        aliased = aliased || data[k] == data[0];
    for (int64_t at = 0; at < n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, n - at);
        char *dst = data[0] + at * strides[0];
        void *out = cpu_write(num, m->dtype[0], dst, strides[0], buf[0]);
        const void *in[CPU_OPERANDS] = {NULL};

        for (int k = 1; k < m->operands; k++) {
            const char *src = data[k] + at * strides[k];

            in[k] = m->rounds[k] ? buf[k] : cpu_read(num, m->dtype[k], src, strides[k], c, buf[k]);
            if (m->rounds[k]) {
                num->load(m->dtype[k], src, strides[k], c, buf[k]);
                num->round_to(m->round_to, c, buf[k]);
            }
        }
        if (out == buf[0] || !aliased) {
            apply(m, c, in, out);
            cpu_write_end(num, m->dtype[0], dst, strides[0], c, out);
        } else { /* row functions want rows that do not overlap */
            apply(m, c, in, buf[0]);
            memcpy(dst, buf[0], (size_t)c * num->size);
        }
    }
}

/* views[0] is the output. Operands of another dtype than f16 or bf16 arithmetic are rounded to it first. */
static void map(struct map *m, enum vs_dtype compute, const struct eng_view *const *views)
{
    struct cpu_iter it;

    m->num = cpu_num_of(compute);
    m->round_to = compute;
    for (int k = 0; k < m->operands; k++) {
        m->dtype[k] = views[k]->dtype;
        m->rounds[k] = k > 0 && (compute == VS_F16 || compute == VS_BF16) &&
                       views[k]->dtype != compute && views[k]->dtype != VS_BOOL;
    }
    cpu_iter_init(&it, m->operands, views, CPU_ORDER_ANY);
    cpu_iter_run(&it, PIECE, map_row, m);
}

void cpu_unary(enum eng_unary op, const struct eng_view *x, const struct eng_view *out,
               const double *p)
{
    const struct eng_view *views[] = {out, x};
    enum vs_dtype compute = x->dtype;
    struct map m = {.operands = 2, .op = (int)op, .p = p};

    VS_ASSERT(op < ENG_U_COUNT);
    if (!vs_dtype_is_floating(compute) && vs_dtype_is_floating(out->dtype))
        compute = out->dtype;
    if (op == ENG_U_BITWISE_NOT && x->dtype == VS_BOOL)
        m.op = (int)ENG_U_LOGICAL_NOT;
    map(&m, compute, views);
}

void cpu_binary(enum eng_binary op, enum vs_dtype compute, const struct eng_view *a,
                const struct eng_view *b, const struct eng_view *out, const double *p)
{
    const struct eng_view *views[] = {out, a, b};
    struct map m = {.operands = 3, .op = (int)op, .p = p};

    VS_ASSERT(op < ENG_B_COUNT);
    map(&m, compute, views);
}

void cpu_ternary(enum eng_ternary op, enum vs_dtype compute, const struct eng_view *a,
                 const struct eng_view *b, const struct eng_view *c, const struct eng_view *out,
                 const double *p)
{
    const struct eng_view *views[] = {out, a, b, c};
    struct map m = {.operands = 4, .op = (int)op, .p = p};

    VS_ASSERT(op < ENG_T_COUNT);
    map(&m, compute, views);
}

struct unscale {
    const struct cpu_num *num;
    enum vs_dtype dtype;
    double inv_scale;
    unsigned char *bad; /* one flag a task-sized piece */
};

static void unscale_row(void *ctx, int64_t index, int64_t n, char *const *data,
                        const int64_t *strides)
{
    const struct unscale *u = ctx;
    int64_t buf[2][CPU_CHUNK];
    double sums[1] = {0.0};

    for (int64_t at = 0; at < n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, n - at);
        char *p = data[0] + at * strides[0];
        const void *in = cpu_read(u->num, u->dtype, p, strides[0], c, buf[0]);

        u->num->scale(c, in, 0.0, buf[1]); /* 0 for a finite number, NaN for the others */
        sums[0] += u->num->sum(c, buf[1]);
        u->num->scale(c, in, u->inv_scale, buf[1]);
        u->num->store(buf[1], c, u->dtype, p, strides[0]);
    }
    if (sums[0] != 0.0)
        u->bad[index / PIECE] = 1;
}

void cpu_unscale(const struct eng_view *g, const struct eng_view *inv_scale,
                 const struct eng_view *found_inf)
{
    const struct eng_view *views[] = {g};
    struct unscale u = {.num = cpu_num_of(g->dtype), .dtype = g->dtype};
    struct cpu_iter it;
    size_t pieces;

    VS_ASSERT(vs_dtype_is_floating(g->dtype));
    cpu_iter_init(&it, 1, views, CPU_ORDER_ANY);
    if (it.total == 0)
        return;
    pieces = (size_t)((it.total + PIECE - 1) / PIECE);
    u.inv_scale = cpu_get_f64(inv_scale->dtype, inv_scale->data);
    u.bad = cpu_mem_get(pieces);
    memset(u.bad, 0, pieces);
    cpu_iter_run(&it, PIECE, unscale_row, &u);
    for (size_t i = 0; i < pieces; i++) {
        if (u.bad[i])
            cpu_set_f64(found_inf->dtype, found_inf->data, 1.0);
    }
    cpu_mem_put(u.bad, pieces);
}
