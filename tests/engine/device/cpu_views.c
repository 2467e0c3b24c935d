/*
 * tests/engine/device/cpu_views.c - random strided views, and plain access to their elements.
 */
#include "tests/engine/device/cpu_views.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define PATTERN 0xa5

uint64_t tv_next(struct tv_rng *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

int64_t tv_int(struct tv_rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)((tv_next(r) >> 11) % (uint64_t)(high - low));
}

double tv_real(struct tv_rng *r, double low, double high)
{
    return low + (high - low) * (double)(int64_t)(tv_next(r) >> 11) * 0x1p-53;
}

enum tv_layout tv_any_layout(struct tv_rng *r)
{
    return (enum tv_layout)tv_int(r, 0, TV_GAPPED + 1);
}

int64_t tv_numel(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->sizes[d];
    return n;
}

void tv_unravel(const struct eng_view *v, int64_t index, int64_t *indices)
{
    for (int d = v->ndim - 1; d >= 0; d--) {
        indices[d] = index % v->sizes[d];
        index /= v->sizes[d];
    }
}

int64_t tv_ravel(const struct eng_view *v, const int64_t *indices)
{
    int64_t index = 0;

    for (int d = 0; d < v->ndim; d++)
        index = index * v->sizes[d] + indices[d];
    return index;
}

static char *address(const struct eng_view *v, const int64_t *indices)
{
    int64_t at = 0;

    for (int d = 0; d < v->ndim; d++)
        at += indices[d] * v->strides[d];
    return (char *)v->data + at * (int64_t)vs_dtype_bytes(v->dtype);
}

void *tv_at(const struct eng_view *v, int64_t index)
{
    int64_t indices[VS_MAX_DIMS];

    tv_unravel(v, index, indices);
    return address(v, indices);
}

struct tv tv_make_broadcast(struct tv_rng *r, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                            enum tv_layout layout, unsigned mask)
{
    struct tv t = {.v = {.dtype = dtype, .ndim = ndim}};
    size_t size = (size_t)vs_dtype_bytes(dtype);
    int order[VS_MAX_DIMS];
    int64_t stride = layout == TV_GAPPED ? tv_int(r, 1, 4) : 1;
    int64_t lead = layout == TV_GAPPED ? tv_int(r, 0, 5) : 0;

    for (int d = 0; d < ndim; d++) {
        t.v.sizes[d] = sizes[d];
        order[d] = ndim - 1 - d;
    }
    for (int d = ndim - 1; d > 0 && layout != TV_PLAIN; d--) {
        int other = (int)tv_int(r, 0, d + 1);
        int swap = order[d];

        order[d] = order[other];
        order[other] = swap;
    }
    for (int k = 0; k < ndim; k++) {
        int d = order[k];

        if (mask >> d & 1u)
            continue;
        t.v.strides[d] = stride;
        stride *= sizes[d] > 0 ? sizes[d] : 1;
        if (layout == TV_GAPPED)
            stride += tv_int(r, 0, 3);
    }
    t.bytes = (size_t)(lead + stride + 4) * size;
    t.mem = vs_alloc(t.bytes);
    t.is_element = vs_calloc(t.bytes, 1);
    memset(t.mem, PATTERN, t.bytes);
    t.v.data = t.mem + (size_t)lead * size;
    for (int64_t i = 0; i < tv_numel(&t.v); i++) {
        unsigned char *p = tv_at(&t.v, i);

        memset(t.is_element + (p - t.mem), 1, size);
    }
    tv_fill_zero(&t.v);
    return t;
}

struct tv tv_make(struct tv_rng *r, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                  enum tv_layout layout)
{
    return tv_make_broadcast(r, dtype, ndim, sizes, layout, 0);
}

void tv_free(struct tv *t)
{
    vs_free(t->mem);
    vs_free(t->is_element);
    memset(t, 0, sizeof(*t));
}

int tv_padding_is_intact(const struct tv *t)
{
    for (size_t i = 0; i < t->bytes; i++) {
        if (!t->is_element[i] && t->mem[i] != PATTERN)
            return 0;
    }
    return 1;
}

/* A float of `exponent_bits` and `mantissa_bits`, from its bits, by its definition. */
static double from_bits(uint32_t bits, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    int e = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    double m = (double)(bits & ((1u << mantissa_bits) - 1));
    double sign = bits >> (mantissa_bits + exponent_bits) ? -1.0 : 1.0;

    if (e == (1 << exponent_bits) - 1)
        return m == 0.0 ? sign * (double)INFINITY : (double)NAN;
    if (e == 0)
        return sign * ldexp(m, 1 - bias - mantissa_bits);
    return sign * ldexp(m + ldexp(1.0, mantissa_bits), e - bias - mantissa_bits);
}

/* The nearest value with `mantissa_bits`, exponents from min_exponent; beyond `max` is infinity. */
static double round_to(double v, int mantissa_bits, int min_exponent, double max)
{
    int e;
    double unit;
    double r;

    if (v != v || isinf(v) || v == 0.0)
        return v;
    frexp(v, &e);
    e -= 1;
    unit = ldexp(1.0, (e < min_exponent ? min_exponent : e) - mantissa_bits);
    r = nearbyint(v / unit) * unit;
    if (fabs(r) > max)
        return r < 0 ? -(double)INFINITY : (double)INFINITY;
    return r;
}

double tv_rounded(enum vs_dtype dtype, double value)
{
    switch (dtype) {
    case VS_F16:
        return round_to((double)(float)value, 10, -14, 65504.0);
    case VS_BF16:
        return round_to((double)(float)value, 7, -126, ldexp(255.0, 120));
    case VS_F32:
        return (double)(float)value;
    case VS_BOOL:
        return value != 0.0;
    case VS_U8:
    case VS_I32:
    case VS_I64:
        return trunc(value);
    case VS_F64:
    case VS_DTYPE_COUNT:
        break;
    }
    return value;
}

double tv_epsilon(enum vs_dtype dtype)
{
    switch (dtype) {
    case VS_F16:
        return 0x1p-10;
    case VS_BF16:
        return 0x1p-7;
    case VS_F32:
        return 0x1p-23;
    case VS_F64:
        return 0x1p-52;
    case VS_BOOL:
    case VS_U8:
    case VS_I32:
    case VS_I64:
    case VS_DTYPE_COUNT:
        break;
    }
    return 0.0;
}

static double load(enum vs_dtype dtype, const void *p)
{
    uint16_t h;
    int32_t i32;
    int64_t i64;
    float f;
    double d;

    switch (dtype) {
    case VS_BOOL:
        return *(const unsigned char *)p != 0;
    case VS_U8:
        return *(const unsigned char *)p;
    case VS_I32:
        memcpy(&i32, p, sizeof(i32));
        return i32;
    case VS_I64:
        memcpy(&i64, p, sizeof(i64));
        return (double)i64;
    case VS_F16:
        memcpy(&h, p, sizeof(h));
        return from_bits(h, 5, 10);
    case VS_BF16:
        memcpy(&h, p, sizeof(h));
        return from_bits(h, 8, 7);
    case VS_F32:
        memcpy(&f, p, sizeof(f));
        return (double)f;
    case VS_F64:
        memcpy(&d, p, sizeof(d));
        return d;
    case VS_DTYPE_COUNT:
        break;
    }
    return 0.0;
}

/* Bits of an already rounded value of a 16-bit float, by search for its exponent. */
static uint16_t to_bits(double v, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int e;
    double m;

    if (v != v)
        return 0x7fff;
    v = fabs(v);
    if (isinf(v))
        return (uint16_t)(sign | ((1u << exponent_bits) - 1) << mantissa_bits);
    if (v < ldexp(1.0, 1 - bias))
        return (uint16_t)(sign | (unsigned)ldexp(v, bias - 1 + mantissa_bits));
    m = frexp(v, &e);
    return (uint16_t)(sign | (unsigned)(e - 1 + bias) << mantissa_bits |
                      ((unsigned)ldexp(m, mantissa_bits + 1) & ((1u << mantissa_bits) - 1)));
}

static void store(enum vs_dtype dtype, void *p, double value)
{
    double v = tv_rounded(dtype, value);
    uint16_t h;
    int32_t i32;
    int64_t i64;
    float f;

    switch (dtype) {
    case VS_BOOL:
    case VS_U8:
        *(unsigned char *)p = (unsigned char)v;
        break;
    case VS_I32:
        i32 = (int32_t)v;
        memcpy(p, &i32, sizeof(i32));
        break;
    case VS_I64:
        i64 = (int64_t)v;
        memcpy(p, &i64, sizeof(i64));
        break;
    case VS_F16:
        h = to_bits(v, 5, 10);
        memcpy(p, &h, sizeof(h));
        break;
    case VS_BF16:
        h = to_bits(v, 8, 7);
        memcpy(p, &h, sizeof(h));
        break;
    case VS_F32:
        f = (float)v;
        memcpy(p, &f, sizeof(f));
        break;
    case VS_F64:
        memcpy(p, &v, sizeof(v));
        break;
    case VS_DTYPE_COUNT:
        break;
    }
}

double tv_get(const struct eng_view *v, int64_t index)
{
    return load(v->dtype, tv_at(v, index));
}

double tv_get_at(const struct eng_view *v, const int64_t *indices)
{
    return load(v->dtype, address(v, indices));
}

int64_t tv_get_int(const struct eng_view *v, int64_t index)
{
    int64_t i;

    if (v->dtype != VS_I64)
        return (int64_t)tv_get(v, index);
    memcpy(&i, tv_at(v, index), sizeof(i));
    return i;
}

void tv_set(const struct eng_view *v, int64_t index, double value)
{
    store(v->dtype, tv_at(v, index), value);
}

void tv_fill(struct tv_rng *r, const struct eng_view *v, double low, double high)
{
    for (int64_t i = 0; i < tv_numel(v); i++) {
        double x = tv_real(r, low, high);

        if (v->dtype == VS_BOOL)
            x = (double)(tv_next(r) >> 20 & 1);
        else if (!vs_dtype_is_floating(v->dtype))
            x = floor(v->dtype == VS_U8 ? fabs(x) : x);
        tv_set(v, i, x);
    }
}

void tv_fill_zero(const struct eng_view *v)
{
    for (int64_t i = 0; i < tv_numel(v); i++)
        tv_set(v, i, 0.0);
}

void tv_assert_near(const char *what, const struct eng_view *v, const double *expected, double rel,
                    double abs)
{
    for (int64_t i = 0; i < tv_numel(v); i++) {
        double got = tv_get(v, i);
        double want = expected[i];
        double allowed = vs_dtype_is_floating(v->dtype) ? rel * fabs(want) + abs : 0.0;

        if (got != got && want != want)
            continue;
        if (got == want || fabs(got - want) <= allowed)
            continue;
        fail_msg("%s: %s, element %lld: got %.17g, expected %.17g (allowed %.3g)", what,
                 vs_dtype_name(v->dtype), (long long)i, got, want, allowed);
    }
}
