/*
 * tests/gpu/gpu_kernels.c - the kernel table that replaces eng_kernels_cpu when the tests of the CPU's kernels are
 * compiled for a device with its own memory.
 *
 * Each call copies its operands to the device, runs the kernel there, and copies them back (gpu_move.h). The device is
 * the plug-in in the folder of VRAMSCOPE_PLUGINS, otherwise the simulated one in host memory.
 *
 * For:            the Makefile, which compiles the tests with -Deng_kernels_cpu=gpu_kernels.
 * Must not know:  the tests.
 * Invariant:      a kernel that is missing from gpu_kernels.def is NULL in the table, which ends the program at its
 *                 first call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/gpu.h"
#include "tests/gpu/gpu_move.h"

typedef const struct eng_view *VIEW;

static struct eng_device gpu;

#define WITHOUT_PARENTHESES(...) __VA_ARGS__
#define M(i) (in_[i] ? &at_[i] : NULL)
#define MOVE_IN(views)                                                                             \
    VIEW in_[] = {WITHOUT_PARENTHESES views};                                                      \
    struct eng_view at_[GPU_MOVE_MOST];                                                            \
                                                                                                   \
    gpu_move_in(&gpu, in_, (int)(sizeof(in_) / sizeof(in_[0])), at_)

/* clang-format off */
#define MOVED(name, params, views, args)                                                           \
    static void moved_##name params                                                                \
    {                                                                                              \
        MOVE_IN(views);                                                                            \
        gpu.kernels->name args;                                                                    \
        gpu_move_out(&gpu);                                                                        \
    }
#define MOVED_RESULT(type, name, params, views, args)                                                 \
    static type moved_##name params                                                                \
    {                                                                                              \
        type answer_;                                                                              \
        MOVE_IN(views);                                                                            \
        answer_ = gpu.kernels->name args;                                                          \
        gpu_move_out(&gpu);                                                                        \
        return answer_;                                                                            \
    }
#include "tests/gpu/gpu_kernels.def"
#undef MOVED
#undef MOVED_RESULT
/* clang-format on */

/* Their indices are `n` views in a row. */
static void list_of(VIEW x, VIEW idx, int n, VIEW last, VIEW *out)
{
    VS_ASSERT(n + 2 <= GPU_MOVE_MOST);
    for (int i = 0; i < n; i++)
        out[i] = &idx[i];
    out[n] = x;
    out[n + 1] = last;
}

static bool moved_index_get(VIEW x, VIEW idx, int n, VIEW out)
{
    VIEW in[GPU_MOVE_MOST];
    struct eng_view at[GPU_MOVE_MOST];
    bool answer;

    list_of(x, idx, n, out, in);
    gpu_move_in(&gpu, in, n + 2, at);
    answer = gpu.kernels->index_get(&at[n], at, n, &at[n + 1]);
    gpu_move_out(&gpu);
    return answer;
}

static bool moved_index_put(VIEW x, VIEW idx, int n, VIEW src, bool accumulate)
{
    VIEW in[GPU_MOVE_MOST];
    struct eng_view at[GPU_MOVE_MOST];
    bool answer;

    list_of(x, idx, n, src, in);
    gpu_move_in(&gpu, in, n + 2, at);
    answer = gpu.kernels->index_put(&at[n], at, n, &at[n + 1], accumulate);
    gpu_move_out(&gpu);
    return answer;
}

static void *moved_mem_get(uint64_t bytes)
{
    return gpu.kernels->mem_get(bytes);
}

static void moved_mem_put(void *data, uint64_t bytes)
{
    gpu.kernels->mem_put(data, bytes);
}

/* Lists of as many items as can be moved at a time. */
static void moved_many(const struct eng_many *m)
{
    for (int i = 0; i < m->count; i += GPU_MOVE_MOST / 4) {
        struct eng_many_item items[GPU_MOVE_MOST / 4];
        struct eng_view at[GPU_MOVE_MOST];
        VIEW in[GPU_MOVE_MOST];
        struct eng_many some = *m;
        int n = m->count - i < GPU_MOVE_MOST / 4 ? m->count - i : GPU_MOVE_MOST / 4;

        for (int k = 0; k < n; k++) {
            const struct eng_many_item *t = &m->items[i + k];

            in[4 * k] = &t->x;
            in[4 * k + 1] = m->kind != ENG_MANY_UNARY ? &t->a : NULL;
            in[4 * k + 2] = m->kind > ENG_MANY_BINARY ? &t->b : NULL;
            in[4 * k + 3] = m->kind != ENG_MANY_UNSCALE ? &t->out : NULL;
        }
        gpu_move_in(&gpu, in, 4 * n, at);
        for (int k = 0; k < n; k++)
            items[k] = (struct eng_many_item){at[4 * k], at[4 * k + 1], at[4 * k + 2],
                                              at[4 * k + 3], m->items[i + k].p};
        some.items = items;
        some.count = n;
        gpu.kernels->many(&some);
        gpu_move_out(&gpu);
    }
}

static const struct eng_kernels MOVED_TABLE = {
    .name = "moved",
    .mem_get = moved_mem_get,
    .mem_put = moved_mem_put,
    .index_get = moved_index_get,
    .index_put = moved_index_put,
    .many = moved_many,
/* clang-format off */
#define MOVED(name, params, views, args) .name = moved_##name,
#define MOVED_RESULT(type, name, params, views, args) .name = moved_##name,
#include "tests/gpu/gpu_kernels.def"
    /* clang-format on */
};

const struct eng_kernels *gpu_kernels(void);

const struct eng_kernels *gpu_kernels(void)
{
    if (gpu.kernels)
        return &MOVED_TABLE;
    gpu_open(&gpu);
    for (size_t at = 0; at < sizeof(MOVED_TABLE); at += sizeof(void *)) {
        void *entry;

        memcpy(&entry, (const char *)&MOVED_TABLE + at, sizeof(entry));
        if (!entry)
            vs_die("tests/gpu/gpu_kernels.def lacks kernel %zu of struct eng_kernels",
                   at / sizeof(void *));
    }
    return &MOVED_TABLE;
}
