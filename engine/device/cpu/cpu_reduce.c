/*
 * engine/device/cpu/cpu_reduce.c - reductions over any set of dims.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  how a row is folded: rows_fold.inc.
 * Invariant:      the order of additions is fixed by shapes and strides alone: long reductions are cut into pieces of
 *                 PIECE elements whose partial results are joined in order.
 *
 * There are two loop orders, chosen by which dims have the smaller strides: along the reduced dims, where a row gives
 * one number ("across"), or along the kept dims, where a row is folded into a row of accumulators ("down").
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

#define PIECE 32768 /* elements folded by one task, about */
#define COLS 256    /* accumulators of a task that goes down */
#define BLOCK 16384 /* outputs finished at a time: bounds the scratch */

union acc { /* double for floating dtypes, int64_t for the others */
    double f;
    int64_t i;
};

struct job {
    const struct cpu_num *num;
    enum vs_dtype dtype;
    struct cpu_iter kept; /* operand 0 the output, 1 the input */
    struct cpu_iter gone; /* operand 0 the input, reduced dims only */
    bool down;
    enum cpu_fold fold;
    int64_t first; /* outputs of this block */
    int64_t count;
    int64_t pieces; /* parts of a reduction across */
    int64_t group;  /* units of work in a task */
    const union acc *param;
    union acc *result;
    union acc *partial; /* [count][pieces], where pieces > 1 */
};

static union acc identity(const struct job *j)
{
    bool is_int = j->num->dtype == VS_I64;
    union acc a;

    if (is_int)
        a.i = 0;
    else
        a.f = 0.0;
    switch (j->fold) {
    case CPU_FOLD_PROD:
    case CPU_FOLD_ALL:
        if (is_int)
            a.i = 1;
        else
            a.f = 1.0;
        break;
    case CPU_FOLD_MAX:
        if (is_int)
            a.i = INT64_MIN;
        else
            a.f = (double)-INFINITY;
        break;
    case CPU_FOLD_MIN:
        if (is_int)
            a.i = INT64_MAX;
        else
            a.f = (double)INFINITY;
        break;
    case CPU_FOLD_SUM:
    case CPU_FOLD_ANY:
    case CPU_FOLD_SQDEV:
    case CPU_FOLD_SUMEXP:
        break;
    }
    return a;
}

/* Joins two partial results. */
static union acc join(const struct job *j, union acc a, union acc b)
{
    const struct cpu_num *n = j->num->dtype == VS_I64 ? j->num : cpu_rows()->f64;
    enum cpu_fold fold =
        j->fold == CPU_FOLD_SQDEV || j->fold == CPU_FOLD_SUMEXP ? CPU_FOLD_SUM : j->fold;

    n->fold_row(fold, 1, &b, NULL, &a);
    return a;
}

/* Byte offset of element `index` of an operand. */
static int64_t offset_of(const struct cpu_iter *it, int operand, int64_t index)
{
    int64_t off = 0;

    for (int d = 0; d < it->ndim; d++) {
        off += index % it->sizes[d] * it->strides[operand][d];
        index /= it->sizes[d];
    }
    return off;
}

struct fold_ctx {
    const struct job *j;
    const union acc *param;
    union acc *acc;
    int64_t cols; /* going down: columns and their stride in the input */
    int64_t col_stride;
};

static void fold_across(void *ctx, int64_t index, int64_t n, char *const *data,
                        const int64_t *strides)
{
    struct fold_ctx *f = ctx;
    int64_t buf[CPU_CHUNK];

    (void)index;
    for (int64_t at = 0; at < n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, n - at);
        const void *x =
            cpu_read(f->j->num, f->j->dtype, data[0] + at * strides[0], strides[0], c, buf);

        f->j->num->fold_row(f->j->fold, c, x, f->param, f->acc);
    }
}

static void fold_down(void *ctx, int64_t index, int64_t n, char *const *data,
                      const int64_t *strides)
{
    struct fold_ctx *f = ctx;
    int64_t buf[COLS];

    (void)index;
    for (int64_t r = 0; r < n; r++) {
        const void *x =
            cpu_read(f->j->num, f->j->dtype, data[0] + r * strides[0], f->col_stride, f->cols, buf);

        f->j->num->fold_cols(f->j->fold, f->cols, x, f->param, f->acc);
    }
}

/* Unit u: output u / pieces, part u % pieces of its reduction. */
static void across_unit(const struct job *j, int64_t u)
{
    int64_t o = u / j->pieces;
    int64_t q = u % j->pieces;
    union acc acc = identity(j);
    struct fold_ctx f = {.j = j, .param = j->param ? &j->param[o] : NULL, .acc = &acc};
    struct cpu_iter it = j->gone;
    int64_t begin = q * PIECE;
    int64_t end = j->pieces == 1 ? it.total : cpu_min(begin + PIECE, it.total);

    it.data[0] += offset_of(&j->kept, 1, j->first + o);
    cpu_iter_range(&it, begin, end, fold_across, &f);
    if (j->pieces == 1)
        j->result[o] = acc;
    else
        j->partial[u] = acc;
}

/* Unit u: outputs u*COLS … of the block, which may lie in several rows of the kept dims. */
static void down_unit(const struct job *j, int64_t u)
{
    int64_t o = u * COLS;
    int64_t end = cpu_min(o + COLS, j->count);

    while (o < end) {
        int64_t inner = (j->first + o) % j->kept.sizes[0];
        int64_t n = cpu_min(end - o, j->kept.sizes[0] - inner);
        struct fold_ctx f = {.j = j,
                             .param = j->param ? &j->param[o] : NULL,
                             .acc = &j->result[o],
                             .cols = n,
                             .col_stride = j->kept.strides[1][0]};
        struct cpu_iter it = j->gone;

        for (int64_t i = 0; i < n; i++)
            j->result[o + i] = identity(j);
        it.data[0] += offset_of(&j->kept, 1, j->first + o);
        cpu_iter_range(&it, 0, it.total, fold_down, &f);
        o += n;
    }
}

static void run_units(void *ctx, int64_t task)
{
    const struct job *j = ctx;
    int64_t units = j->down ? (j->count + COLS - 1) / COLS : j->count * j->pieces;
    int64_t end = cpu_min((task + 1) * j->group, units);

    for (int64_t u = task * j->group; u < end; u++) {
        if (j->down)
            down_unit(j, u);
        else
            across_unit(j, u);
    }
}

/* One pass over the input for the outputs of the block. */
static void pass(struct job *j, enum cpu_fold fold, const union acc *param, union acc *result)
{
    int64_t units = j->down ? (j->count + COLS - 1) / COLS : j->count * j->pieces;
    int64_t unit_elems = j->down ? COLS * j->gone.total : (j->pieces == 1 ? j->gone.total : PIECE);

    j->fold = fold;
    j->param = param;
    j->result = result;
    j->group = cpu_max(1, PIECE / cpu_max(1, unit_elems));
    cpu_parallel((units + j->group - 1) / j->group, run_units, j);
    if (j->down || j->pieces == 1)
        return;
    for (int64_t o = 0; o < j->count; o++) {
        union acc acc = j->partial[o * j->pieces];

        for (int64_t q = 1; q < j->pieces; q++)
            acc = join(j, acc, j->partial[o * j->pieces + q]);
        result[o] = acc;
    }
}

/* The data that the first pass passes to the second, and the passes of each reduction. */
static void reduce_block(struct job *j, enum eng_reduce op, union acc *result, union acc *param,
                         double correction)
{
    double n = (double)j->gone.total;

    switch (op) {
    case ENG_R_SUM:
    case ENG_R_MEAN:
        pass(j, CPU_FOLD_SUM, NULL, result);
        for (int64_t o = 0; op == ENG_R_MEAN && o < j->count; o++)
            result[o].f /= n;
        return;
    case ENG_R_PROD:
        pass(j, CPU_FOLD_PROD, NULL, result);
        return;
    case ENG_R_AMAX:
        pass(j, CPU_FOLD_MAX, NULL, result);
        return;
    case ENG_R_AMIN:
        pass(j, CPU_FOLD_MIN, NULL, result);
        return;
    case ENG_R_ANY:
        pass(j, CPU_FOLD_ANY, NULL, result);
        return;
    case ENG_R_ALL:
        pass(j, CPU_FOLD_ALL, NULL, result);
        return;
    case ENG_R_VAR:
    case ENG_R_STD:
        pass(j, CPU_FOLD_SUM, NULL, param);
        for (int64_t o = 0; o < j->count; o++)
            param[o].f /= n;
        pass(j, CPU_FOLD_SQDEV, param, result);
        for (int64_t o = 0; o < j->count; o++) {
            result[o].f /= fmax(n - correction, 0.0);
            result[o].f = op == ENG_R_STD ? sqrt(result[o].f) : result[o].f;
        }
        return;
    case ENG_R_NORM2:
        memset(param, 0, (size_t)j->count * sizeof(*param));
        pass(j, CPU_FOLD_SQDEV, param, result);
        for (int64_t o = 0; o < j->count; o++)
            result[o].f = sqrt(result[o].f);
        return;
    case ENG_R_LOGSUMEXP:
        pass(j, CPU_FOLD_MAX, NULL, param);
        for (int64_t o = 0; o < j->count; o++)
            param[o].f = fabs(param[o].f) == (double)INFINITY ? 0.0 : param[o].f;
        pass(j, CPU_FOLD_SUMEXP, param, result);
        for (int64_t o = 0; o < j->count; o++)
            result[o].f = log(result[o].f) + param[o].f;
        return;
    case ENG_R_COUNT:
        vs_die("cpu: no reduction %d", (int)op);
    }
}

/* x with the dims of `keep` (or the others) reduced to size 1. */
static struct eng_view part_of(const struct eng_view *x, uint32_t dims, bool kept)
{
    struct eng_view v = *x;

    for (int d = 0; d < x->ndim; d++) {
        if (((dims >> d & 1u) != 0) == kept)
            v.sizes[d] = 1;
    }
    return v;
}

static void job_init(struct job *j, const struct eng_view *x, const struct eng_view *out,
                     uint32_t dims)
{
    struct eng_view kept = part_of(x, dims, true);
    struct eng_view gone = part_of(x, dims, false);
    const struct eng_view *outs[] = {&kept, out};
    const struct eng_view *ins[] = {&gone};

    cpu_iter_init(&j->kept, 2, outs,
                  CPU_ORDER_ANY); /* walked along the input; operands swapped below */
    for (int d = 0; d < j->kept.ndim; d++) {
        int64_t s = j->kept.strides[0][d];

        j->kept.strides[0][d] = j->kept.strides[1][d];
        j->kept.strides[1][d] = s;
    }
    j->kept.data[0] = out->data;
    j->kept.data[1] = x->data;
    cpu_iter_init(&j->gone, 1, ins, CPU_ORDER_ANY);
    j->dtype = x->dtype;
    j->down = j->kept.sizes[0] > 1 &&
              (j->gone.total <= 1 || j->kept.strides[1][0] < j->gone.strides[0][0]) &&
              j->kept.strides[1][0] > 0;
    j->pieces = !j->down && j->gone.total > 2 * PIECE && j->kept.total < 64
                    ? (j->gone.total + PIECE - 1) / PIECE
                    : 1;
}

static void write_block(const struct job *j, const struct eng_view *out, const union acc *result)
{
    const struct cpu_num *num = j->num->dtype == VS_I64 ? j->num : cpu_rows()->f64;
    int64_t stride = j->kept.strides[0][0];
    int64_t o = 0;

    while (o < j->count) {
        int64_t index = j->first + o;
        int64_t n = cpu_min(j->count - o, j->kept.sizes[0] - index % j->kept.sizes[0]);

        num->store(result + o, n, out->dtype, j->kept.data[0] + offset_of(&j->kept, 0, index),
                   stride);
        o += n;
    }
}

void cpu_reduce(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                uint32_t dims, const double *p)
{
    struct job j = {
        .num = cpu_num_of(vs_dtype_is_floating(out->dtype) && !vs_dtype_is_floating(x->dtype)
                              ? out->dtype
                              : x->dtype)};
    int64_t block;
    size_t bytes;
    union acc *scratch;

    job_init(&j, x, out, dims);
    if (j.kept.total == 0)
        return;
    block = cpu_min(j.kept.total, BLOCK);
    bytes = (size_t)(block * (j.pieces > 1 ? j.pieces + 2 : 2)) * sizeof(*scratch);
    scratch = cpu_mem_get(bytes);
    j.partial = scratch + 2 * block;
    for (j.first = 0; j.first < j.kept.total; j.first += block) {
        j.count = cpu_min(block, j.kept.total - j.first);
        reduce_block(&j, op, scratch, scratch + block, p ? p[0] : 1.0);
        write_block(&j, out, scratch);
    }
    cpu_mem_put(scratch, bytes);
}
