/*
 * engine/device/cpu/cpu_embedding.c - rows of a table by index, and the gradient of the table.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  anything but rows.
 * Invariant:      the gradients of one row are added in order of their position and, in a table of f16 or bf16, rounded
 *                 once.
 */
#include <stdlib.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_index.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

bool cpu_embedding(const struct eng_view *table, const struct eng_view *idx,
                   const struct eng_view *out)
{
    VS_ASSERT(table->ndim == 2 && out->ndim == 2 && idx->ndim == 1);
    if (!cpu_index_check(idx, 0, table->sizes[0]))
        return false;
    return cpu_index_get(table, idx, 1, out);
}

struct use { /* the i-th row of g goes to row `row` */
    int64_t row;
    int64_t i;
};

static int by_row(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

struct emb_job {
    const struct eng_view *g;
    const struct eng_view *table;
    const struct use *uses;
    int64_t count;
    int64_t group;
};

/* All uses of the row that uses[first] refers to. */
static void add_row(const struct emb_job *j, int64_t first, char *buf)
{
    const struct cpu_num *num = cpu_num_of(j->table->dtype);
    int64_t width = j->table->sizes[1];
    size_t row_bytes = (size_t)width * num->size;
    int64_t row = j->uses[first].row;
    char *dst = (char *)j->table->data + row * cpu_stride(j->table, 0);

    num->load(j->table->dtype, dst, cpu_stride(j->table, 1), width, buf);
    for (int64_t k = first; k < j->count && j->uses[k].row == row; k++) {
        const char *src = (const char *)j->g->data + j->uses[k].i * cpu_stride(j->g, 0);

        num->axpy(width,
                  cpu_read(num, j->g->dtype, src, cpu_stride(j->g, 1), width, buf + row_bytes), 1.0,
                  buf);
    }
    num->store(buf, width, j->table->dtype, dst, cpu_stride(j->table, 1));
}

static void uses_task(void *ctx, int64_t task)
{
    const struct emb_job *j = ctx;
    int64_t end = cpu_min((task + 1) * j->group, j->count);
    size_t bytes = 2 * (size_t)j->table->sizes[1] * 8;
    char *buf = cpu_mem_get(bytes);

    for (int64_t i = task * j->group; i < end; i++) {
        if (i == 0 || j->uses[i - 1].row != j->uses[i].row)
            add_row(j, i, buf);
    }
    cpu_mem_put(buf, bytes);
}

void cpu_embedding_backward(const struct eng_view *g, const struct eng_view *idx,
                            int64_t padding_idx, const struct eng_view *gtable)
{
    int64_t n = idx->sizes[0];
    size_t bytes = (size_t)cpu_max(1, n) * sizeof(struct use);
    struct use *uses;
    struct emb_job j = {.g = g, .table = gtable};

    VS_ASSERT(g->ndim == 2 && idx->ndim == 1 && gtable->ndim == 2 &&
              g->sizes[1] == gtable->sizes[1]);
    VS_ASSERT(cpu_index_check(idx, 0, gtable->sizes[0]));
    if (cpu_numel(g) == 0)
        return;
    uses = cpu_mem_get(bytes);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = cpu_get_i64(idx->dtype, (const char *)idx->data + i * cpu_stride(idx, 0));

        if (row != padding_idx)
            uses[j.count++] = (struct use){row, i};
    }
    qsort(uses, (size_t)j.count, sizeof(*uses), by_row);
    j.uses = uses;
    j.group = cpu_max(1, 16384 / gtable->sizes[1]);
    cpu_parallel((j.count + j.group - 1) / j.group, uses_task, &j);
    cpu_mem_put(uses, bytes);
}
