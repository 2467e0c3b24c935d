/*
 * engine/device/cuda/cuda_conv.c - convolutions and their gradients, through cuDNN.
 *
 * For:            the table.
 * Must not know:  autograd.
 * Invariant:      f32 is computed in f32 (no TF32). The algorithm is the first deterministic one that cuDNN's
 *                 heuristics name, so it depends on sizes alone, unless its workspace cannot be allocated.
 */
#include <string.h>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_internal.h"
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/workspace_sizes.h"

/* cuDNN's descriptors for a call; created and destroyed together. */
struct described {
    cudnnTensorDescriptor_t x;
    cudnnTensorDescriptor_t y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    cudnnMathType_t math;
};

static bool ok(cudnnStatus_t status, const char *what)
{
    if (status != CUDNN_STATUS_SUCCESS)
        cuda_fail(what, cuda_api_get()->cudnnGetErrorString(status));
    return status == CUDNN_STATUS_SUCCESS;
}

static cudnnDataType_t type_of(enum vs_dtype dtype)
{
    switch (dtype) {
    case VS_F64:
        return CUDNN_DATA_DOUBLE;
    case VS_F16:
        return CUDNN_DATA_HALF;
    case VS_BF16:
        return CUDNN_DATA_BFLOAT16;
    default:
        return CUDNN_DATA_FLOAT;
    }
}

static bool describe_tensor(cudnnTensorDescriptor_t desc, const struct eng_view *v)
{
    int sizes[4];
    int strides[4];

    for (int d = 0; d < 4; d++) {
        sizes[d] = (int)v->sizes[d];
        strides[d] = (int)v->strides[d];
    }
    return ok(
        cuda_api_get()->cudnnSetTensorNdDescriptor(desc, type_of(v->dtype), 4, sizes, strides),
        "cudnnSetTensorNdDescriptor");
}

static bool counts_in_32_bits(const struct eng_view *v)
{
    return eng_workspace_numel(v) <= INT32_MAX;
}

static bool describe_all(struct described *d, const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *y, const struct eng_conv2d *p)
{
    const struct cuda_api *api = cuda_api_get();
    int padding[2];
    int stride[2];
    int dilation[2];
    int sizes[4];

    if (!counts_in_32_bits(x) || !counts_in_32_bits(w) || !counts_in_32_bits(y)) {
        cuda_fail("cuDNN", "a convolution of a tensor of more than 2147483647 elements");
        return false;
    }
    d->math = x->dtype == VS_F16 || x->dtype == VS_BF16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    for (int k = 0; k < 2; k++) {
        padding[k] = (int)p->padding[k];
        stride[k] = (int)p->stride[k];
        dilation[k] = (int)p->dilation[k];
    }
    for (int k = 0; k < 4; k++)
        sizes[k] = (int)w->sizes[k];
    return ok(api->cudnnCreateTensorDescriptor(&d->x), "cudnnCreateTensorDescriptor") &&
           ok(api->cudnnCreateTensorDescriptor(&d->y), "cudnnCreateTensorDescriptor") &&
           ok(api->cudnnCreateFilterDescriptor(&d->w), "cudnnCreateFilterDescriptor") &&
           ok(api->cudnnCreateConvolutionDescriptor(&d->conv),
              "cudnnCreateConvolutionDescriptor") &&
           describe_tensor(d->x, x) && describe_tensor(d->y, y) &&
           ok(api->cudnnSetFilterNdDescriptor(d->w, type_of(w->dtype), CUDNN_TENSOR_NCHW, 4, sizes),
              "cudnnSetFilterNdDescriptor") &&
           ok(api->cudnnSetConvolutionNdDescriptor(
                  d->conv, 2, padding, stride, dilation, CUDNN_CROSS_CORRELATION,
                  x->dtype == VS_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT),
              "cudnnSetConvolutionNdDescriptor") &&
           ok(api->cudnnSetConvolutionGroupCount(d->conv, (int)p->groups),
              "cudnnSetConvolutionGroupCount") &&
           ok(api->cudnnSetConvolutionMathType(d->conv, d->math), "cudnnSetConvolutionMathType");
}

static void release(struct described *d)
{
    const struct cuda_api *api = cuda_api_get();

    if (d->conv)
        (void)api->cudnnDestroyConvolutionDescriptor(d->conv);
    if (d->w)
        (void)api->cudnnDestroyFilterDescriptor(d->w);
    if (d->y)
        (void)api->cudnnDestroyTensorDescriptor(d->y);
    if (d->x)
        (void)api->cudnnDestroyTensorDescriptor(d->x);
}

static bool is_empty(const struct eng_view *v)
{
    return v->sizes[0] == 0 || v->sizes[1] == 0 || v->sizes[2] == 0 || v->sizes[3] == 0;
}

static uint64_t bytes_of(const struct eng_view *v)
{
    return (uint64_t)eng_workspace_numel(v) * vs_dtype_bytes(v->dtype);
}

/*
 * v with contiguous strides. Strides of dims of size 1 are set too, because a descriptor contains them.
 */
static struct eng_view laid_plain(const struct eng_view *v)
{
    struct eng_view s = *v;
    int64_t n = 1;

    for (int d = 3; d >= 0; d--) {
        s.strides[d] = n;
        n *= v->sizes[d];
    }
    return s;
}

/* cuDNN gets contiguous operands: v itself, or a copy in scratch. */
static struct eng_view plain(const struct eng_view *v, bool is_read)
{
    struct eng_view s = laid_plain(v);

    if (eng_workspace_is_plain(v))
        return s;
    s.data = cuda_scratch(bytes_of(v));
    if (is_read)
        cuda_copy(v, &s);
    return s;
}

static uint64_t copies_bytes(const struct eng_view *x, const struct eng_view *w,
                             const struct eng_view *y)
{
    return (eng_workspace_is_plain(x) ? 0 : eng_workspace_part(bytes_of(x))) +
           (eng_workspace_is_plain(w) ? 0 : eng_workspace_part(bytes_of(w))) +
           (eng_workspace_is_plain(y) ? 0 : eng_workspace_part(bytes_of(y)));
}

/* An algorithm and its math type in one number. */
enum { WAY_MATH = 256 };

/* For f32 the default math type means TF32 on GPUs that have it; f32 is computed as f32. */
static struct eng_conv_way way_of(const struct described *d, uint64_t bytes, int algorithm,
                                  cudnnMathType_t math)
{
    int used = (int)(d->math == CUDNN_FMA_MATH ? d->math : math);

    return (struct eng_conv_way){bytes, algorithm + used * WAY_MATH};
}

static bool math_fits(const struct described *d, cudnnMathType_t math)
{
    return math == d->math || math == CUDNN_FMA_MATH || math == CUDNN_DEFAULT_MATH;
}

/*
 * Takes the deterministic algorithms of cuDNN's list in their order, without those that come after one that needs no
 * more memory.
 */
#define TAKE(list, found)                                                                          \
    for (int i = 0; i < (found) && n < ENG_CONV_WAYS; i++) {                                       \
        if ((list)[i].status == CUDNN_STATUS_SUCCESS &&                                            \
            (list)[i].determinism == CUDNN_DETERMINISTIC && math_fits(d, (list)[i].mathType) &&    \
            (n == 0 || (list)[i].memory < out[n - 1].bytes))                                       \
            out[n++] = way_of(d, (list)[i].memory, (int)(list)[i].algo, (list)[i].mathType);       \
    }                                                                                              \
    break

/* Bytes: cuDNN's workspace alone. */
static int ways_of(enum eng_conv_kind kind, const struct described *d, struct eng_conv_way *out)
{
    const struct cuda_api *api = cuda_api_get();
    cudnnConvolutionFwdAlgoPerf_t forward[ENG_CONV_WAYS];
    cudnnConvolutionBwdDataAlgoPerf_t data[ENG_CONV_WAYS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[ENG_CONV_WAYS];
    int found = 0;
    int n = 0;

    switch (kind) {
    case ENG_CONV_FORWARD:
        if (!ok(api->cudnnGetConvolutionForwardAlgorithm_v7(cuda_dnn(), d->x, d->w, d->conv, d->y,
                                                            ENG_CONV_WAYS, &found, forward),
                "cudnnGetConvolutionForwardAlgorithm_v7"))
            return 0;
        TAKE(forward, found);
    case ENG_CONV_INPUT:
        if (!ok(api->cudnnGetConvolutionBackwardDataAlgorithm_v7(cuda_dnn(), d->w, d->y, d->conv,
                                                                 d->x, ENG_CONV_WAYS, &found, data),
                "cudnnGetConvolutionBackwardDataAlgorithm_v7"))
            return 0;
        TAKE(data, found);
    case ENG_CONV_WEIGHT:
        if (!ok(api->cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                    cuda_dnn(), d->x, d->y, d->conv, d->w, ENG_CONV_WAYS, &found, filter),
                "cudnnGetConvolutionBackwardFilterAlgorithm_v7"))
            return 0;
        TAKE(filter, found);
    }
    if (n == 0)
        cuda_fail("cuDNN's heuristics", "no deterministic algorithm for this convolution");
    return n;
}

int cuda_conv_ways(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p, struct eng_conv_way *out)
{
    struct eng_view px = laid_plain(x);
    struct eng_view pw = laid_plain(w);
    struct eng_view py = laid_plain(y);
    uint64_t copies = copies_bytes(x, w, y);
    struct described d = {0};
    int n = 0;

    if (cuda_failed() || is_empty(x) || is_empty(w) || is_empty(y))
        return 0;
    if (describe_all(&d, &px, &pw, &py, p))
        n = ways_of(kind, &d, out);
    release(&d);
    for (int i = 0; i < n; i++)
        out[i].bytes += copies;
    return n;
}

/*
 * The algorithm that the engine has set, less the bytes of our copies; or else the first whose workspace can be
 * allocated. Returns false if a call failed or there is none.
 */
static bool choose(enum eng_conv_kind kind, const struct described *d, uint64_t copies,
                   struct eng_conv_way *out, void **workspace)
{
    const struct eng_conv_way *given = cuda_workspace_way();
    struct eng_conv_way ways[ENG_CONV_WAYS];
    int n;

    *workspace = NULL;
    if (given) {
        *out = (struct eng_conv_way){given->bytes - copies, given->number};
        *workspace = out->bytes ? cuda_scratch(out->bytes) : NULL;
        return !cuda_failed();
    }
    n = ways_of(kind, d, ways);
    for (int i = 0; i < n; i++) {
        *out = ways[i];
        *workspace = out->bytes ? cuda_stage_try(out->bytes) : NULL;
        if (*workspace || !out->bytes)
            return true;
    }
    if (n)
        cuda_fail("cudaMalloc", "out of memory for what a convolution works in");
    return false;
}

static void run(enum eng_conv_kind kind, const struct described *d, const struct eng_view *x,
                const struct eng_view *w, const struct eng_view *y, uint64_t copies)
{
    const struct cuda_api *api = cuda_api_get();
    const double one = 1.0;
    const double zero = 0.0;
    const float one_f = 1.0f;
    const float zero_f = 0.0f;
    bool is_double = x->dtype == VS_F64;
    const void *alpha = is_double ? (const void *)&one : (const void *)&one_f;
    const void *beta = is_double ? (const void *)&zero : (const void *)&zero_f;
    struct eng_conv_way way;
    void *workspace;

    if (!choose(kind, d, copies, &way, &workspace) ||
        !ok(api->cudnnSetConvolutionMathType(d->conv, (cudnnMathType_t)(way.number / WAY_MATH)),
            "cudnnSetConvolutionMathType"))
        return;
    switch (kind) {
    case ENG_CONV_FORWARD:
        ok(api->cudnnConvolutionForward(cuda_dnn(), alpha, d->x, x->data, d->w, w->data, d->conv,
                                        (cudnnConvolutionFwdAlgo_t)(way.number % WAY_MATH),
                                        workspace, way.bytes, beta, d->y, y->data),
           "cudnnConvolutionForward");
        break;
    case ENG_CONV_INPUT:
        ok(api->cudnnConvolutionBackwardData(cuda_dnn(), alpha, d->w, w->data, d->y, y->data,
                                             d->conv,
                                             (cudnnConvolutionBwdDataAlgo_t)(way.number % WAY_MATH),
                                             workspace, way.bytes, beta, d->x, x->data),
           "cudnnConvolutionBackwardData");
        break;
    case ENG_CONV_WEIGHT:
        ok(api->cudnnConvolutionBackwardFilter(
               cuda_dnn(), alpha, d->x, x->data, d->y, y->data, d->conv,
               (cudnnConvolutionBwdFilterAlgo_t)(way.number % WAY_MATH), workspace, way.bytes, beta,
               d->w, w->data),
           "cudnnConvolutionBackwardFilter");
        break;
    }
}

/* The view that is `out` is written; the other two are read. */
static void convolve(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                     const struct eng_view *y, const struct eng_conv2d *p)
{
    const struct eng_view *out = kind == ENG_CONV_FORWARD ? y : kind == ENG_CONV_INPUT ? x : w;
    struct described d = {0};
    struct eng_view px;
    struct eng_view pw;
    struct eng_view py;
    const struct eng_view *made;

    if (cuda_failed())
        return;
    cuda_scratch_begin();
    px = plain(x, out != x);
    pw = plain(w, out != w);
    py = plain(y, out != y);
    if (describe_all(&d, &px, &pw, &py, p))
        run(kind, &d, &px, &pw, &py, copies_bytes(x, w, y));
    release(&d);
    made = kind == ENG_CONV_FORWARD ? &py : kind == ENG_CONV_INPUT ? &px : &pw;
    if (made->data != out->data)
        cuda_copy(made, out);
    cuda_scratch_end();
}

/* out += bias, broadcast over all dims but the second. */
static void add_bias(const struct eng_view *bias, const struct eng_view *out)
{
    struct eng_view b = *out;
    const double one[] = {1.0};

    b.data = bias->data;
    b.dtype = bias->dtype;
    memset(b.strides, 0, sizeof(b.strides));
    b.strides[1] = bias->strides[0];
    cuda_binary(ENG_B_ADD, out->dtype, out, &b, out, one);
}

void cuda_conv2d(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                 const struct eng_view *out, const struct eng_conv2d *p)
{
    struct eng_scalar zero = {false, 0, 0.0};

    if (is_empty(out))
        return;
    if (!cuda_is_device(out->data)) {
        cuda_host()->conv2d(x, w, bias, out, p);
        return;
    }
    if (is_empty(x) || is_empty(w))
        cuda_fill(out, zero);
    else
        convolve(ENG_CONV_FORWARD, x, w, out, p);
    if (bias)
        add_bias(bias, out);
}

void cuda_conv2d_backward_input(const struct eng_view *g, const struct eng_view *w,
                                const struct eng_view *gx, const struct eng_conv2d *p)
{
    struct eng_scalar zero = {false, 0, 0.0};

    if (is_empty(gx))
        return;
    if (!cuda_is_device(gx->data))
        cuda_host()->conv2d_backward_input(g, w, gx, p);
    else if (is_empty(g) || is_empty(w))
        cuda_fill(gx, zero);
    else
        convolve(ENG_CONV_INPUT, gx, w, g, p);
}

void cuda_conv2d_backward_weight(const struct eng_view *g, const struct eng_view *x,
                                 const struct eng_view *gw, const struct eng_conv2d *p)
{
    struct eng_scalar zero = {false, 0, 0.0};

    if (is_empty(gw))
        return;
    if (!cuda_is_device(gw->data))
        cuda_host()->conv2d_backward_weight(g, x, gw, p);
    else if (is_empty(g) || is_empty(x))
        cuda_fill(gw, zero);
    else
        convolve(ENG_CONV_WEIGHT, x, gw, g, p);
}
