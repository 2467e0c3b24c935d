/*
 * tests/engine/device/cpu_views.h - random strided views, and plain access to their elements.
 *
 * For:            the tests of the CPU device.
 * Must not know:  the kernels under test: elements are converted here by arithmetic of its own.
 * Invariant:      everything follows from the seed; memory around and between the elements of a view is filled with a
 *                 pattern that tv_padding_is_intact looks for.
 */
#ifndef TESTS_ENGINE_DEVICE_CPU_VIEWS_H
#define TESTS_ENGINE_DEVICE_CPU_VIEWS_H

#include <stddef.h>

#include "engine/device/kernels.h"

enum tv_layout {
    TV_PLAIN,    /* contiguous, row-major */
    TV_PERMUTED, /* dims in another order in memory */
    TV_GAPPED    /* permuted, with gaps between elements */
};

struct tv {
    struct eng_view v;
    unsigned char *mem;
    size_t bytes;
    unsigned char *is_element; /* one a byte of mem */
};

struct tv_rng {
    uint64_t state;
};

uint64_t tv_next(struct tv_rng *r);
int64_t tv_int(struct tv_rng *r, int64_t low, int64_t high); /* low … high-1 */
double tv_real(struct tv_rng *r, double low, double high);
enum tv_layout tv_any_layout(struct tv_rng *r);

/* A view of its own memory; tv_free gives it back. */
struct tv tv_make(struct tv_rng *r, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                  enum tv_layout layout);
/* As tv_make, but dims of `mask` have stride 0 (all their elements are one). For inputs. */
struct tv tv_make_broadcast(struct tv_rng *r, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                            enum tv_layout layout, unsigned mask);
void tv_free(struct tv *t);
/* Have the bytes that are no elements kept their pattern? */
int tv_padding_is_intact(const struct tv *t);

int64_t tv_numel(const struct eng_view *v);
/* Element `index` in row-major order. */
void *tv_at(const struct eng_view *v, int64_t index);
double tv_get(const struct eng_view *v, int64_t index);
int64_t tv_get_int(const struct eng_view *v, int64_t index);
void tv_set(const struct eng_view *v, int64_t index, double value);
/* Element at indices[0 … ndim-1]. */
double tv_get_at(const struct eng_view *v, const int64_t *indices);
/* Row-major index to indices and back. */
void tv_unravel(const struct eng_view *v, int64_t index, int64_t *indices);
int64_t tv_ravel(const struct eng_view *v, const int64_t *indices);

/* Random values in [low, high), whole numbers for the integer dtypes. */
void tv_fill(struct tv_rng *r, const struct eng_view *v, double low, double high);
void tv_fill_zero(const struct eng_view *v);

/* `value` as an element of dtype would hold it: rounded to nearest even. */
double tv_rounded(enum vs_dtype dtype, double value);
/* Relative spacing of dtype: 2^-10 for f16, … 0 for integers. */
double tv_epsilon(enum vs_dtype dtype);

/*
 * Fails the test, naming `what` and the element, where v differs from `expected` (row-major doubles) by more than
 * rel*|expected| + abs, or the two are not both NaN. Integers and bool must be equal.
 */
void tv_assert_near(const char *what, const struct eng_view *v, const double *expected, double rel,
                    double abs);

#endif
