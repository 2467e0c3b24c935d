/*
 * engine/ops/norm/batch_norm_dtypes.c - see batch_norm_dtypes.h.
 *
 * Must not know:  sizes.
 * Invariant:      a tensor that is not given always passes the check.
 */
#include "engine/ops/norm/batch_norm_dtypes.h"

#include <string.h>

/* The names in PyTorch's messages. */
static const char *scalar_name(const struct eng_tensor *t)
{
    switch (t->dtype) {
    case VS_F64:
        return "Double";
    case VS_F32:
        return "Float";
    case VS_F16:
        return "Half";
    case VS_BF16:
        return "BFloat16";
    default:
        return vs_dtype_name((enum vs_dtype)t->dtype);
    }
}

static bool is_of(struct eng *e, const struct eng_tensor *t, const char *name, const char *expected)
{
    if (!t || !strcmp(scalar_name(t), expected))
        return true;
    eng_fail(e, VS_E_TYPE, "batch_norm: Expected %s to have type %s but got %s", name, expected,
             scalar_name(t));
    return false;
}

/*
 * What all numbers of a channel must be, for PyTorch's own kernels: of the input's dtype; for a half input float32
 * instead, where `first` is not of its dtype.
 */
static const char *channel_dtype(const struct eng_tensor *x, const struct eng_tensor *first)
{
    bool half = x->dtype == VS_F16 || x->dtype == VS_BF16;

    return half && first && first->dtype != x->dtype ? "Float" : scalar_name(x);
}

static bool same(struct eng *e, const struct eng_tensor *a, const char *a_name,
                 const struct eng_tensor *z, const char *z_name)
{
    if (!a || !z || a->dtype == z->dtype)
        return true;
    eng_fail(e, VS_E_TYPE,
             "batch_norm: Expected tensor for argument '%s' to have the same type as tensor for "
             "argument '%s'; but type %s does not equal %s",
             a_name, z_name, scalar_name(a), scalar_name(z));
    return false;
}

bool eng_batch_norm_dtypes(struct eng_op_call *c, bool cudnn)
{
    const struct eng_tensor *x = eng_c_tensor(c, ARG_batch_norm_input),
                            *w = eng_c_tensor(c, ARG_batch_norm_weight),
                            *b = eng_c_tensor(c, ARG_batch_norm_bias);
    const char *expected;

    if (x->storage->on_host)
        return true;
    if (cudnn) /* a half input has float32 weights there */
        return (x->dtype == VS_F16 || same(c->e, x, "input", w, "weight")) &&
               same(c->e, w, "weight", b, "bias") &&
               same(c->e, w, "weight", eng_c_tensor(c, ARG_batch_norm_running_mean),
                    "running_mean") &&
               same(c->e, w, "weight", eng_c_tensor(c, ARG_batch_norm_running_var), "running_var");
    if (!w)
        return true;
    expected = channel_dtype(x, w);
    return is_of(c->e, w, "weight", expected) && is_of(c->e, b, "bias", expected);
}

bool eng_batch_norm_backward_dtypes(struct eng *e, const struct eng_tensor *x,
                                    const struct eng_tensor *w, const struct eng_tensor *mean,
                                    const struct eng_tensor *var)
{
    const char *expected = channel_dtype(x, w ? w : mean);

    return is_of(e, mean, "running_mean", expected) && is_of(e, var, "running_var", expected);
}
