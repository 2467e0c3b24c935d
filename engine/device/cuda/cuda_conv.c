/*
 * engine/device/cuda/cuda_conv.c - convolutions and their gradients, through cuDNN.
 *
 * For:            the table.
 * Must not know:  autograd.
 * Invariant:      f32 is computed in f32 (no TF32). The algorithm is the first that cuDNN's heuristics name that repeats its bits, so it
 *                 follows from sizes alone; it works in scratch.
 */
#include <string.h>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_internal.h"
#include "engine/device/cuda/cuda_kernels.h"

#define ALGORITHMS 8

/* Which of the three is computed from the other two. */
enum conv { CONV_FORWARD, CONV_INPUT, CONV_WEIGHT };

/* What a call is described by; made and unmade together. */
struct described {
    cudnnTensorDescriptor_t x;
    cudnnTensorDescriptor_t y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    bool is_whole;
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

static bool describe_all(struct described *d, const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *y, const struct eng_conv2d *p)
{
    const struct cuda_api *api = cuda_api_get();
    bool is_half = x->dtype == VS_F16 || x->dtype == VS_BF16;
    int padding[2];
    int stride[2];
    int dilation[2];
    int sizes[4];

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
           ok(api->cudnnSetConvolutionMathType(d->conv,
                                               is_half ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH),
              "cudnnSetConvolutionMathType");
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

/* A contiguous view of the same four sizes in scratch. */
static struct eng_view scratch_like(const struct eng_view *v)
{
    struct eng_view s = *v;
    int64_t n = 1;

    for (int d = 3; d >= 0; d--) {
        s.strides[d] = n;
        n *= v->sizes[d];
    }
    s.data = cuda_scratch((uint64_t)n * vs_dtype_bytes(v->dtype));
    return s;
}

static bool is_plain(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 3; d >= 0; d--) {
        if (v->sizes[d] != 1 && v->strides[d] != n)
            return false;
        n *= v->sizes[d];
    }
    return true;
}

/* cuDNN wants plain operands: v itself, or a copy. Strides of size-1 dims are set, for they count there. */
static struct eng_view plain(const struct eng_view *v, bool is_read)
{
    struct eng_view s = *v;
    int64_t n = 1;

    if (!is_plain(v)) {
        s = scratch_like(v);
        if (is_read)
            cuda_copy(v, &s);
        return s;
    }
    for (int d = 3; d >= 0; d--) {
        s.strides[d] = n;
        n *= v->sizes[d];
    }
    return s;
}

/* The first algorithm of the list that repeats its bits and whose memory is to be had. */
#define PICK(list, found)                                                                          \
    for (int i = 0; i < (found); i++) {                                                            \
        if ((list)[i].status == CUDNN_STATUS_SUCCESS &&                                            \
            (list)[i].determinism == CUDNN_DETERMINISTIC) {                                        \
            *algorithm = (int)(list)[i].algo;                                                      \
            *bytes = (list)[i].memory;                                                             \
            return true;                                                                           \
        }                                                                                          \
    }                                                                                              \
    cuda_fail("cuDNN's heuristics", "no deterministic algorithm for this convolution");            \
    return false

static bool pick(enum conv kind, const struct described *d, int *algorithm, size_t *bytes)
{
    const struct cuda_api *api = cuda_api_get();
    cudnnConvolutionFwdAlgoPerf_t forward[ALGORITHMS];
    cudnnConvolutionBwdDataAlgoPerf_t data[ALGORITHMS];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[ALGORITHMS];
    int found = 0;

    switch (kind) {
    case CONV_FORWARD:
        if (!ok(api->cudnnGetConvolutionForwardAlgorithm_v7(cuda_dnn(), d->x, d->w, d->conv, d->y,
                                                            ALGORITHMS, &found, forward),
                "cudnnGetConvolutionForwardAlgorithm_v7"))
            return false;
        PICK(forward, found);
    case CONV_INPUT:
        if (!ok(api->cudnnGetConvolutionBackwardDataAlgorithm_v7(cuda_dnn(), d->w, d->y, d->conv,
                                                                 d->x, ALGORITHMS, &found, data),
                "cudnnGetConvolutionBackwardDataAlgorithm_v7"))
            return false;
        PICK(data, found);
    case CONV_WEIGHT:
        if (!ok(api->cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                    cuda_dnn(), d->x, d->y, d->conv, d->w, ALGORITHMS, &found, filter),
                "cudnnGetConvolutionBackwardFilterAlgorithm_v7"))
            return false;
        PICK(filter, found);
    }
    return false;
}

static void run(enum conv kind, const struct described *d, const struct eng_view *x,
                const struct eng_view *w, const struct eng_view *y)
{
    const struct cuda_api *api = cuda_api_get();
    const double one = 1.0;
    const double zero = 0.0;
    const float one_f = 1.0f;
    const float zero_f = 0.0f;
    bool is_double = x->dtype == VS_F64;
    const void *alpha = is_double ? (const void *)&one : (const void *)&one_f;
    const void *beta = is_double ? (const void *)&zero : (const void *)&zero_f;
    size_t bytes = 0;
    int algorithm = 0;
    void *room;

    if (!pick(kind, d, &algorithm, &bytes))
        return;
    room = bytes ? cuda_scratch(bytes) : NULL;
    switch (kind) {
    case CONV_FORWARD:
        ok(api->cudnnConvolutionForward(cuda_dnn(), alpha, d->x, x->data, d->w, w->data, d->conv,
                                        (cudnnConvolutionFwdAlgo_t)algorithm, room, bytes, beta,
                                        d->y, y->data),
           "cudnnConvolutionForward");
        break;
    case CONV_INPUT:
        ok(api->cudnnConvolutionBackwardData(cuda_dnn(), alpha, d->w, w->data, d->y, y->data,
                                             d->conv, (cudnnConvolutionBwdDataAlgo_t)algorithm,
                                             room, bytes, beta, d->x, x->data),
           "cudnnConvolutionBackwardData");
        break;
    case CONV_WEIGHT:
        ok(api->cudnnConvolutionBackwardFilter(cuda_dnn(), alpha, d->x, x->data, d->y, y->data,
                                               d->conv, (cudnnConvolutionBwdFilterAlgo_t)algorithm,
                                               room, bytes, beta, d->w, w->data),
           "cudnnConvolutionBackwardFilter");
        break;
    }
}

/* One of the three is written: the one whose view is `out`. */
static void convolve(enum conv kind, const struct eng_view *x, const struct eng_view *w,
                     const struct eng_view *y, const struct eng_conv2d *p)
{
    const struct eng_view *out = kind == CONV_FORWARD ? y : kind == CONV_INPUT ? x : w;
    struct described d = {0};
    struct eng_view px;
    struct eng_view pw;
    struct eng_view py;
    const struct eng_view *made;

    cuda_scratch_begin();
    px = plain(x, out != x);
    pw = plain(w, out != w);
    py = plain(y, out != y);
    if (describe_all(&d, &px, &pw, &py, p))
        run(kind, &d, &px, &pw, &py);
    release(&d);
    made = kind == CONV_FORWARD ? &py : kind == CONV_INPUT ? &px : &pw;
    if (made->data != out->data)
        cuda_copy(made, out);
    cuda_scratch_end();
}

static bool is_empty(const struct eng_view *v)
{
    return v->sizes[0] == 0 || v->sizes[1] == 0 || v->sizes[2] == 0 || v->sizes[3] == 0;
}

/* out += bias, which is spread over all dims but the second. */
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
        convolve(CONV_FORWARD, x, w, out, p);
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
        convolve(CONV_INPUT, gx, w, g, p);
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
        convolve(CONV_WEIGHT, x, gw, g, p);
}
