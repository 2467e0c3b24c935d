/*
 * engine/device/cuda/cuda_call.cu - copies operands of a call to the device, and results back.
 *
 * For:            cuda_views.cuh.
 * Must not know:  kernels.
 * Invariant:      host memory is read and written before the call returns, never later.
 */
#include "engine/device/cuda/cuda_views.cuh"

/*
 * Number of elements from data to the end of the view: what a copy must contain. Our views have no negative strides.
 */
static int64_t span(const struct eng_view *v)
{
    int64_t last = 0;

    for (int d = 0; d < v->ndim; d++)
        last += (v->sizes[d] - 1) * v->strides[d];
    return last + 1;
}

static cuda_view describe(const struct eng_view *v, bool keep_dims)
{
    cuda_view out;
    int64_t expected = 1;

    memset(&out, 0, sizeof(out));
    out.data = (char *)v->data;
    out.dtype = (uint8_t)v->dtype;
    out.is_plain = true;
    /* dims of size 1 are ignored, and dims that are contiguous with each other are merged */
    for (int d = 0; d < v->ndim; d++) {
        if (!keep_dims && v->sizes[d] == 1)
            continue;
        if (!keep_dims && out.ndim > 0 && out.strides[out.ndim - 1] == v->sizes[d] * v->strides[d]) {
            out.sizes[out.ndim - 1] *= v->sizes[d];
            out.strides[out.ndim - 1] = v->strides[d];
            continue;
        }
        out.sizes[out.ndim] = v->sizes[d];
        out.strides[out.ndim] = v->strides[d];
        out.ndim++;
    }
    for (int d = out.ndim - 1; d >= 0; d--) {
        out.is_plain = out.is_plain && (out.sizes[d] == 1 || out.strides[d] == expected);
        expected *= out.sizes[d];
    }
    return out;
}

/* Takes the single number of a broadcast view on the host. */
static void take_number(const struct eng_view *v, cuda_view *out)
{
    struct eng_view one = *v;
    struct eng_scalar s;

    one.ndim = 0;
    s = cuda_host()->item(&one);
    out->dtype = s.is_int ? VS_I64 : VS_F64;
    out->value_f = s.f;
    out->value_i = s.is_int ? s.i : 0;
    out->data = NULL;
}

cuda_view cuda_call::in(const struct eng_view *v, bool keep_dims)
{
    cuda_view out;
    int64_t elems;
    uint64_t bytes;

    if (!v || !v->data || cuda_numel(v) == 0) {
        memset(&out, 0, sizeof(out));
        out.ndim = -1;
        if (v) {
            out = describe(v, keep_dims);
            out.data = NULL;
        }
        return out;
    }
    out = describe(v, keep_dims);
    if (cuda_is_device(v->data))
        return out;
    elems = span(v);
    if (elems == 1) {
        take_number(v, &out);
        return out;
    }
    bytes = (uint64_t)elems * vs_dtype_bytes(v->dtype);
    out.data = (char *)cuda_stage(bytes);
    cuda_copy_in(out.data, v->data, bytes);
    return out;
}

cuda_view cuda_call::out(const struct eng_view *v, bool keep_dims)
{
    cuda_view out;

    if (!v || !v->data || cuda_numel(v) == 0)
        return in(NULL);
    out = describe(v, keep_dims);
    if (cuda_is_device(v->data))
        return out;
    list[backs].bytes = (uint64_t)span(v) * vs_dtype_bytes(v->dtype);
    list[backs].host = v->data;
    out.data = (char *)cuda_stage(list[backs].bytes);
    /* the elements in between must be preserved */
    cuda_copy_in(out.data, v->data, list[backs].bytes);
    list[backs++].device = out.data;
    return out;
}

cuda_call::~cuda_call()
{
    for (int i = 0; i < backs; i++)
        cuda_copy_out(list[i].host, list[i].device, list[i].bytes);
    cuda_scratch_end();
}
