/*
 * engine/device/cuda/cuda_matmul.c - batched matrix products, through cuBLAS.
 *
 * For:            the table.
 * Must not know:  who multiplies.
 * Invariant:      f32 is multiplied in f32 (no TF32), f16 and bf16 with sums in f32, as PyTorch does by default.
 *
 * cuBLAS counts by columns: a row-major c = a b is asked for as the transposed product of what it then sees as b and a.
 */
#include <string.h>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_internal.h"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/workspace_sizes.h"

/* One operand as cuBLAS takes it: rows of `lead` elements; is_across where it is the columns that are contiguous. */
struct matrix {
    void *data;
    int lead;
    long long batch_stride;
    bool is_across;
};

/* As it lies, where rows or columns are contiguous. */
static bool as_it_is(const struct eng_view *v, struct matrix *out)
{
    int64_t lead;

    if (!eng_workspace_lies(v, &lead, &out->is_across))
        return false;
    out->data = v->data;
    out->lead = (int)lead;
    out->batch_stride = v->sizes[0] == 1 ? 0 : v->strides[0];
    return true;
}

/* A contiguous view of the same sizes in scratch. */
static struct eng_view scratch_like(const struct eng_view *v)
{
    struct eng_view s = *v;

    s.strides[2] = 1;
    s.strides[1] = v->sizes[2];
    s.strides[0] = v->sizes[1] * v->sizes[2];
    s.data = cuda_scratch((uint64_t)(v->sizes[0] * s.strides[0]) * vs_dtype_bytes(v->dtype));
    return s;
}

static void take(const struct eng_view *v, struct matrix *out)
{
    struct eng_view s;

    if (as_it_is(v, out))
        return;
    s = scratch_like(v);
    cuda_copy(v, &s);
    VS_ASSERT(as_it_is(&s, out));
}

static cudaDataType type_of(enum vs_dtype dtype)
{
    switch (dtype) {
    case VS_F64:
        return CUDA_R_64F;
    case VS_F16:
        return CUDA_R_16F;
    case VS_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

static cublasOperation_t transposed_if(bool is)
{
    return is ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* c (row-major) = alpha a b + beta c */
static void product(const struct matrix *a, const struct matrix *b, const struct matrix *c,
                    const int64_t *size, enum vs_dtype dtype, enum vs_dtype c_dtype, double alpha,
                    double beta)
{
    float alpha_f = (float)alpha;
    float beta_f = (float)beta;
    bool is_double = dtype == VS_F64;
    cudaDataType type = type_of(dtype);
    cublasStatus_t st;

    if (size[0] > INT32_MAX || size[1] > INT32_MAX || size[2] > INT32_MAX || size[3] > INT32_MAX) {
        cuda_fail("cuBLAS", "a product with more than 2147483647 rows, columns or matrices");
        return;
    }
    if (!cuda_library_workspace())
        return;
    st = cuda_api_get()->cublasGemmStridedBatchedEx(
        cuda_blas(), transposed_if(b->is_across), transposed_if(a->is_across), (int)size[2],
        (int)size[1], (int)size[3], is_double ? (void *)&alpha : (void *)&alpha_f, b->data, type,
        b->lead, b->batch_stride, a->data, type, a->lead, a->batch_stride,
        is_double ? (void *)&beta : (void *)&beta_f, c->data, type_of(c_dtype), c->lead,
        c->batch_stride, (int)size[0], is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);

    if (st != CUBLAS_STATUS_SUCCESS)
        cuda_fail("cublasGemmStridedBatchedEx", "the product was refused");
}

void cuda_product(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                  double alpha, double beta)
{
    int64_t size[] = {c->sizes[0], c->sizes[1], c->sizes[2], a->sizes[2]};
    struct matrix ma;
    struct matrix mb;
    struct matrix mc;

    if (cuda_failed())
        return;
    VS_ASSERT(as_it_is(a, &ma) && as_it_is(b, &mb) && as_it_is(c, &mc) && !mc.is_across);
    product(&ma, &mb, &mc, size, a->dtype, c->dtype, alpha, beta);
}

/* The transpose of a view's last two dims. */
static struct eng_view turned(const struct eng_view *v)
{
    struct eng_view t = *v;

    t.sizes[1] = v->sizes[2];
    t.sizes[2] = v->sizes[1];
    t.strides[1] = v->strides[2];
    t.strides[2] = v->strides[1];
    return t;
}

static void multiply(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                     double alpha, double beta)
{
    int64_t size[] = {c->sizes[0], c->sizes[1], c->sizes[2], a->sizes[2]};
    struct eng_view in_scratch;
    struct matrix ma;
    struct matrix mb;
    struct matrix mc;
    bool is_direct = as_it_is(c, &mc);

    if (is_direct && mc.is_across) { /* c^T = b^T a^T has contiguous rows */
        struct eng_view ta = turned(a);
        struct eng_view tb = turned(b);
        struct eng_view tc = turned(c);

        multiply(&tb, &ta, &tc, alpha, beta);
        return;
    }
    take(a, &ma);
    take(b, &mb);
    if (is_direct) {
        product(&ma, &mb, &mc, size, c->dtype, c->dtype, alpha, beta);
        return;
    }
    in_scratch = scratch_like(c);
    if (beta != 0.0)
        cuda_copy(c, &in_scratch);
    VS_ASSERT(as_it_is(&in_scratch, &mc));
    product(&ma, &mb, &mc, size, c->dtype, c->dtype, alpha, beta);
    cuda_copy(&in_scratch, c);
}

/* Bytes from the first element to one past the last. */
static uint64_t span(const struct eng_view *v)
{
    int64_t last = 0;

    for (int d = 0; d < v->ndim; d++)
        last += (v->sizes[d] - 1) * v->strides[d];
    return (uint64_t)(last + 1) * vs_dtype_bytes(v->dtype);
}

/* v on the device: itself, or a copy. */
static struct eng_view brought(const struct eng_view *v)
{
    struct eng_view s = *v;

    if (cuda_is_device(v->data))
        return s;
    s.data = cuda_stage(span(v));
    cuda_copy_in(s.data, v->data, span(v));
    return s;
}

/* Of three operands, one at least of which lies on the device. */
static void multiply_anywhere(const struct eng_view *a, const struct eng_view *b,
                              const struct eng_view *c, double alpha, double beta)
{
    struct eng_view there_a, there_b, there_c;

    if (cuda_failed())
        return;
    cuda_scratch_begin();
    there_a = brought(a);
    there_b = brought(b);
    there_c = brought(c);
    multiply(&there_a, &there_b, &there_c, alpha, beta);
    if (there_c.data != c->data)
        cuda_copy_out(c->data, there_c.data, span(c));
    cuda_scratch_end();
}

void cuda_matmul(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                 double alpha, double beta)
{
    struct eng_scalar factor = {false, 0, beta};
    struct eng_view factors = *c;

    if (c->sizes[0] == 0 || c->sizes[1] == 0 || c->sizes[2] == 0)
        return;
    if (!cuda_is_device(c->data) && !cuda_is_device(a->data) && !cuda_is_device(b->data)) {
        cuda_host()->matmul(a, b, c, alpha, beta);
        return;
    }
    if (a->sizes[2] == 0) { /* nothing is added */
        factors.data = &factor.f;
        factors.dtype = VS_F64;
        memset(factors.strides, 0, sizeof(factors.strides));
        if (beta == 0.0)
            cuda_fill(c, factor);
        else
            cuda_binary(ENG_B_MUL, c->dtype, c, &factors, c, NULL);
        return;
    }
    multiply_anywhere(a, b, c, alpha, beta);
}
