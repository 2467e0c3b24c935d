/*
 * engine/device/kernels.h - the arithmetic that a device can do: one table of functions over strided views.
 *
 * For:            engine/ops/, which decides shapes, dtypes and allocations and then calls the functions for the
 *                 values;
 *                 engine/device/cpu/ and engine/device/cuda/ implement the table; `meta` has none.
 * Must not know:  tensors, autograd, the allocator, events. A kernel never allocates device memory. Scratch on the
 *                 host belongs to the kernel, is bounded and not part of any figure; scratch on a GPU is passed in
 *                 (engine/workspace/workspace.h).
 * Invariant:      kernels are deterministic: equal inputs give equal bits in the same build, so that the re-run of a
 *                 checkpointed function reproduces its first run exactly.
 *
 * Rules for all kernels:
 * - Views may have any strides (0 in broadcast inputs, never in outputs) and any dtype of base/dtype.def, unless the
 *   comment says otherwise.
 * - f64 is computed in double. f32 is computed in float; its sums are blocked, pairwise or in double, so that they
 *   agree with PyTorch to a relative 1e-5. f16 and bf16 are converted to float, computed in float and rounded once,
 *   to nearest even, when they are stored. i32, i64 and u8 are computed in int64_t. bool is 0 or 1.
 * - Input and output of a call may be the same view (in place) if the comment says so; else they do not overlap.
 * - The caller has checked all sizes; a kernel asserts and does not report errors.
 * - Empty views (with a size of 0) are legal; the kernel then does nothing.
 */
#ifndef ENG_DEVICE_KERNELS_H
#define ENG_DEVICE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/event.h" /* VS_MAX_DIMS */

/* A strided array. data points at the element with all indices 0; strides are in elements. */
struct eng_view {
    void *data;
    enum vs_dtype dtype;
    int ndim;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

/* A Python number. An int or bool keeps all its 64 bits. */
struct eng_scalar {
    bool is_int;
    int64_t i;
    double f; /* always set */
};

/*
 * out = f(x); equal sizes. In place allowed. p[] holds the parameters named beside each function.
 */
enum eng_unary {
    ENG_U_NEG,
    ENG_U_ABS,
    ENG_U_SIGN,
    ENG_U_EXP,
    ENG_U_LOG,
    ENG_U_SQRT,
    ENG_U_RSQRT,
    ENG_U_RECIPROCAL,
    ENG_U_SIN,
    ENG_U_COS,
    ENG_U_TANH,
    ENG_U_SIGMOID,
    ENG_U_RELU,
    ENG_U_ERF,
    ENG_U_FLOOR,
    ENG_U_CEIL,
    ENG_U_ROUND,
    ENG_U_LOG1P,
    ENG_U_EXPM1,
    ENG_U_LOG2,
    ENG_U_LEAKY_RELU, /* p0 negative_slope */
    /* p0 alpha, p1 scale, p2 input_scale: x > 0 ? scale*x : scale*alpha*(exp(input_scale*x)-1) */
    ENG_U_ELU,
    ENG_U_GELU, /* erf form */
    ENG_U_GELU_TANH,
    ENG_U_SILU,
    ENG_U_MISH,
    ENG_U_HARDSWISH,
    ENG_U_HARDSIGMOID,
    ENG_U_HARDTANH, /* p0 min, p1 max */
    ENG_U_SOFTPLUS, /* p0 beta, p1 threshold */
    ENG_U_LOG_SIGMOID,
    /* p0 exponent; 2, 3, 0.5, -1 and so on are computed exactly as in PyTorch (x*x for 2) */
    ENG_U_POW_SCALAR,
    ENG_U_SCALAR_POW, /* p0 base: base ** x */
    ENG_U_CLAMP,      /* p0 min, p1 max (-inf and +inf if not given); NaN stays NaN */
    ENG_U_LOGICAL_NOT,
    ENG_U_BITWISE_NOT, /* logical functions: out is bool */
    ENG_U_ISNAN,
    ENG_U_ISINF,
    ENG_U_ISFINITE, /* out bool */
    ENG_U_LOG10,
    ENG_U_EXP2,
    ENG_U_TAN,
    ENG_U_SINH,
    ENG_U_COSH,
    ENG_U_ASIN,
    ENG_U_ACOS,
    ENG_U_ATAN,
    ENG_U_TRUNC,
    ENG_U_FRAC,       /* x - trunc(x) */
    ENG_U_HARDSHRINK, /* p0 lambda: |x| <= p0 ? 0 : x */
    ENG_U_SOFTSHRINK, /* p0 lambda: moves x by p0 towards 0; 0 if |x| <= p0 */
    ENG_U_COUNT
};

/*
 * out = f(a, b); equal sizes (inputs are broadcast by stride 0). The operands may have other dtypes than out: each is
 * converted to `compute`, the dtype of the computation. In place (out is a or b) allowed.
 */
enum eng_binary {
    ENG_B_ADD, /* a + p0*b */
    ENG_B_SUB, /* a - p0*b */
    ENG_B_MUL,
    ENG_B_DIV,
    ENG_B_FLOOR_DIV,
    ENG_B_REMAINDER /* Python's %: the result has the sign of b */,
    ENG_B_POW,
    ENG_B_MAXIMUM,
    ENG_B_MINIMUM,
    ENG_B_ATAN2,
    ENG_B_EQ,
    ENG_B_NE,
    ENG_B_LT,
    ENG_B_LE,
    ENG_B_GT,
    ENG_B_GE, /* out bool */
    ENG_B_LOGICAL_AND,
    ENG_B_LOGICAL_OR,
    ENG_B_LOGICAL_XOR, /* out bool */
    ENG_B_BITWISE_AND,
    ENG_B_BITWISE_OR,
    ENG_B_BITWISE_XOR,
    /* backward of activations: a is the gradient of the result, b what forward saved */
    ENG_B_THRESHOLD_BACKWARD,  /* b > p0 ? a : 0 (relu: p0 = 0, b the result) */
    ENG_B_SIGMOID_BACKWARD,    /* a * b * (1-b), b the result */
    ENG_B_TANH_BACKWARD,       /* a * (1-b*b), b the result */
    ENG_B_LEAKY_RELU_BACKWARD, /* b > 0 ? a : a*p0 */
    ENG_B_ELU_BACKWARD, /* p0 alpha, p1 scale, p2 input_scale, p3 != 0: b is the result, else the input */
    ENG_B_GELU_BACKWARD,
    ENG_B_GELU_TANH_BACKWARD,
    ENG_B_SILU_BACKWARD,
    ENG_B_MISH_BACKWARD,
    ENG_B_HARDSWISH_BACKWARD,
    ENG_B_HARDSIGMOID_BACKWARD,
    ENG_B_HARDTANH_BACKWARD,     /* p0 min, p1 max: min < b && b < max ? a : 0 */
    ENG_B_SOFTPLUS_BACKWARD,     /* p0 beta, p1 threshold, b the input */
    ENG_B_LOG_SIGMOID_BACKWARD,  /* b the input */
    ENG_B_SHRINK_BACKWARD,       /* p0 lambda, b the input: |b| <= p0 ? 0 : a */
    ENG_B_MSE,                   /* (a-b)^2 */
    ENG_B_MSE_BACKWARD,          /* p0 * (a - b) */
    ENG_B_SMOOTH_L1,             /* p0 beta: d=|a-b|; d<beta ? d*d/2/beta : d-beta/2 */
    ENG_B_HUBER,                 /* p0 delta: d=|a-b|; d<=delta ? d*d/2 : delta*(d-delta/2) */
    ENG_B_BCE,                   /* -(b log a + (1-b) log(1-a)), each log at least -100 */
    ENG_B_XLOGY,                 /* a log b, 0 where a is 0; NaN where b is */
    ENG_B_GLU,                   /* a * sigmoid(b) */
    ENG_B_PRELU,                 /* a > 0 ? a : b*a */
    ENG_B_PRELU_WEIGHT_BACKWARD, /* b > 0 ? 0 : a*b: a the gradient, b the input */
    ENG_B_COUNT
};

/* out = f(a, b, c), with the rules of eng_binary. In place (out is a) allowed. */
enum eng_ternary {
    ENG_T_WHERE,   /* a (bool) ? b : c */
    ENG_T_ADDCMUL, /* a + p0*b*c */
    ENG_T_ADDCDIV, /* a + p0*b/c */
    ENG_T_LERP,    /* a + p0*(b-a); c ignored */
    /* p0 * (b - c) * a: a the gradient (broadcast), b the input, c the target */
    ENG_T_MSE_BACKWARD,
    ENG_T_L1_BACKWARD,        /* p0 * sign(b - c) * a */
    ENG_T_SMOOTH_L1_BACKWARD, /* p0 norm, p1 beta */
    ENG_T_BCE_LOGITS, /* (1-c)*b + log1p(exp(-|b|)) + max(-b,0), b the logits, c the target; a ignored */
    ENG_T_BCE_LOGITS_BACKWARD, /* p0 * a * (sigmoid(b) - c) */
    ENG_T_HUBER_BACKWARD,      /* p0 norm, p1 delta: p0 * clamp(b - c, -p1, p1) * a */
    ENG_T_BCE_BACKWARD,        /* a * (b - c) / max((1-b)*b, 1e-12): b the input, c the target */
    ENG_T_GLU_BACKWARD,        /* (1-s)*s*a*b, s = sigmoid(c): a the gradient, b and c the halves */
    ENG_T_PRELU_BACKWARD,      /* b > 0 ? a : c*a: b the input, c the weight */
    ENG_T_COUNT
};

/*
 * Reductions over the dims whose bit is set in `dims`; out has the same number of dims, with size 1 in the reduced
 * ones.
 */
enum eng_reduce {
    ENG_R_SUM,
    ENG_R_MEAN,
    ENG_R_PROD,
    ENG_R_AMAX,
    ENG_R_AMIN,
    ENG_R_ANY,
    ENG_R_ALL,
    ENG_R_VAR,   /* p0: correction (1: unbiased) */
    ENG_R_STD,   /* like VAR */
    ENG_R_NORM2, /* sqrt of the sum of squares */
    ENG_R_LOGSUMEXP,
    ENG_R_COUNT
};

/*
 * Geometry of a 2-D convolution or pooling. (1-D: height 1, kernel 1, stride 1, padding 0, dilation 1 in that dim.)
 */
struct eng_conv2d {
    int64_t stride[2];
    int64_t padding[2];
    int64_t dilation[2];
    int64_t groups;
};
struct eng_pool2d {
    int64_t kernel[2];
    int64_t stride[2];
    int64_t padding[2];
    int64_t dilation[2];
    bool count_include_pad;
    int64_t divisor_override; /* 0: none */
};

/*
 * Counter-based random numbers: number i of a call depends on (seed, offset, i) only, so a re-run draws the same
 * numbers.
 */
struct eng_rng_key {
    uint64_t seed;
    uint64_t offset;
};

/*
 * One elementwise function for each of several independent tensors; a GPU computes all of them in one launch. x, a
 * and b are the operands in their order, as many as the function takes; p is p0. The dtype of the computation is that
 * of out. In place allowed.
 */
enum { ENG_MANY_MAX = 48 }; /* most items of a call */
struct eng_many_item {
    struct eng_view x;
    struct eng_view a;
    struct eng_view b;
    struct eng_view out;
    double p;
};
enum eng_many_kind {
    ENG_MANY_UNARY,
    ENG_MANY_BINARY,
    ENG_MANY_TERNARY,
    ENG_MANY_UNSCALE /* x the gradient, a inv_scale, b found_inf; out is ignored */
};
struct eng_many {
    enum eng_many_kind kind;
    int op; /* eng_unary, eng_binary or eng_ternary */
    int count;
    const struct eng_many_item *items;
};

struct eng_kernels {
    const char *name; /* "cpu" */

    /*
     * Allocate and free host memory for a storage that has no block on a device: `bytes` > 0, 64-byte aligned, not
     * zeroed. Freed buffers may be kept for reuse.
     */
    void *(*mem_get)(uint64_t bytes);
    void (*mem_put)(void *data, uint64_t bytes);

    void (*copy)(
        const struct eng_view *src,
        const struct eng_view *dst); /* converts dtype; float to bool is != 0; to int truncates */
    void (*fill)(const struct eng_view *dst, struct eng_scalar value);
    struct eng_scalar (*item)(const struct eng_view *x); /* the only element of x */

    void (*unary)(enum eng_unary op, const struct eng_view *x, const struct eng_view *out,
                  const double *p);
    void (*binary)(enum eng_binary op, enum vs_dtype compute, const struct eng_view *a,
                   const struct eng_view *b, const struct eng_view *out, const double *p);
    void (*ternary)(enum eng_ternary op, enum vs_dtype compute, const struct eng_view *a,
                    const struct eng_view *b, const struct eng_view *c, const struct eng_view *out,
                    const double *p);
    void (*reduce)(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                   uint32_t dims, const double *p);

    /*
     * Values and i64 indices of the maximum (is_max) or minimum along dim; both outputs keep dim with size 1. Among
     * equal elements the first one counts. NaN counts as the extremum.
     */
    void (*max_dim)(const struct eng_view *x, int dim, bool is_max, const struct eng_view *values,
                    const struct eng_view *indices);
    void (*cumsum)(const struct eng_view *x, int dim, const struct eng_view *out);
    void (*sort)(const struct eng_view *x, int dim, bool descending, const struct eng_view *values,
                 const struct eng_view *indices);

    /*
     * out = softmax or log_softmax of x along dim. x may have another dtype than out; computed in float or double.
     */
    void (*softmax)(const struct eng_view *x, int dim, bool is_log, const struct eng_view *out);
    /* gx from g and the result y of the forward */
    void (*softmax_backward)(const struct eng_view *g, const struct eng_view *y, int dim,
                             bool is_log, const struct eng_view *gx);

    /*
     * c[b,m,n] = beta*c + alpha * a[b,m,k] x b[b,k,n]. Three dims each, any strides (batch stride 0 is allowed for
     * inputs); one floating dtype. If beta is 0 the former contents of c are ignored. f32 and f64 use CBLAS.
     */
    void (*matmul)(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                   double alpha, double beta);

    /* x [N,C,H,W], w [Co,C/groups,kh,kw], bias [Co] or NULL, out [N,Co,Ho,Wo]. */
    void (*conv2d)(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                   const struct eng_view *out, const struct eng_conv2d *p);
    void (*conv2d_backward_input)(
        const struct eng_view *g, const struct eng_view *w, const struct eng_view *gx,
        const struct eng_conv2d *p); /* conv_transpose2d's forward (without bias), too */
    void (*conv2d_backward_weight)(const struct eng_view *g, const struct eng_view *x,
                                   const struct eng_view *gw, const struct eng_conv2d *p);

    /* indices: i64, positions in the input's H*W plane. Padding counts as -inf. */
    void (*max_pool2d)(const struct eng_view *x, const struct eng_view *out,
                       const struct eng_view *indices, const struct eng_pool2d *p);
    void (*max_pool2d_backward)(const struct eng_view *g, const struct eng_view *indices,
                                const struct eng_view *gx,
                                /* sets all of gx; p NULL: adaptive pooling */
                                const struct eng_pool2d *p);
    void (*avg_pool2d)(const struct eng_view *x, const struct eng_view *out,
                       const struct eng_pool2d *p);
    void (*avg_pool2d_backward)(const struct eng_view *g, const struct eng_view *gx,
                                const struct eng_pool2d *p); /* sets all of gx */
    void (*adaptive_avg_pool2d)(const struct eng_view *x, const struct eng_view *out);
    void (*adaptive_avg_pool2d_backward)(const struct eng_view *g,
                                         const struct eng_view *gx); /* sets all of gx */
    void (*adaptive_max_pool2d)(const struct eng_view *x, const struct eng_view *out,
                                const struct eng_view *indices);

    /*
     * x [N,C,L] (L may be 1), w and b [C] or NULL, statistics per channel. running_* are NULL if they are not
     * tracked, else they are updated with momentum and the unbiased variance. save_mean, save_invstd [C]: f32 (f64 if
     * x is f64).
     */
    void (*batch_norm_train)(const struct eng_view *x, const struct eng_view *w,
                             const struct eng_view *b, const struct eng_view *running_mean,
                             const struct eng_view *running_var, double momentum, double eps,
                             const struct eng_view *out, const struct eng_view *save_mean,
                             const struct eng_view *save_invstd);
    void (*batch_norm_eval)(const struct eng_view *x, const struct eng_view *w,
                            const struct eng_view *b, const struct eng_view *running_mean,
                            const struct eng_view *running_var, double eps,
                            const struct eng_view *out);
    /*
     * train: mean and invstd are the saved statistics of the batch; else they are the running ones, which are
     * constants. Any of gx, gw, gb may be NULL.
     */
    void (*batch_norm_backward)(const struct eng_view *g, const struct eng_view *x,
                                const struct eng_view *w, const struct eng_view *mean,
                                const struct eng_view *invstd, bool train,
                                const struct eng_view *gx, const struct eng_view *gw,
                                const struct eng_view *gb);
    /* x [M,N] is normalised along N; w, b [N] or NULL; mean, rstd [M]: f32 (f64 if x is f64). */
    void (*layer_norm)(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                       double eps, const struct eng_view *out, const struct eng_view *mean,
                       const struct eng_view *rstd);
    void (*layer_norm_backward)(const struct eng_view *g, const struct eng_view *x,
                                const struct eng_view *w, const struct eng_view *mean,
                                const struct eng_view *rstd, const struct eng_view *gx,
                                const struct eng_view *gw, const struct eng_view *gb);
    /* x [N,C,L], statistics per (n, group): mean, rstd [N,groups]; w, b [C] or NULL. */
    void (*group_norm)(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                       int64_t groups, double eps, const struct eng_view *out,
                       const struct eng_view *mean, const struct eng_view *rstd);
    void (*group_norm_backward)(const struct eng_view *g, const struct eng_view *x,
                                const struct eng_view *w, const struct eng_view *mean,
                                const struct eng_view *rstd, int64_t groups,
                                const struct eng_view *gx, const struct eng_view *gw,
                                const struct eng_view *gb);
    /* RMS norm: x [M,N], w [N] or NULL, rstd [M] = 1/sqrt(mean(x^2)+eps), f32 (f64 if x is f64). */
    void (*rms_norm)(const struct eng_view *x, const struct eng_view *w, double eps,
                     const struct eng_view *out, const struct eng_view *rstd);
    void (*rms_norm_backward)(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *rstd,
                              const struct eng_view *gx, const struct eng_view *gw);

    /*
     * out[i,:] = table[idx[i],:]. The caller has flattened idx (i64 or i32) to one dim. Returns false if an index is
     * out of range.
     */
    bool (*embedding)(const struct eng_view *table, const struct eng_view *idx,
                      const struct eng_view *out);
    /*
     * gtable[idx[i],:] += g[i,:], except for indices equal to padding_idx (-1: none). The caller has zeroed gtable.
     */
    void (*embedding_backward)(const struct eng_view *g, const struct eng_view *idx,
                               int64_t padding_idx, const struct eng_view *gtable);
    /*
     * out[i][j][k] = x[i][index[i][j][k]][k] for dim 1, and so on. Returns false if an index is out of range.
     */
    bool (*gather)(const struct eng_view *x, int dim, const struct eng_view *index,
                   const struct eng_view *out);
    /*
     * out[…index…] = src, or += src; if src is NULL, `value`. Returns false if an index is out of range.
     */
    bool (*scatter)(const struct eng_view *out, int dim, const struct eng_view *index,
                    const struct eng_view *src, struct eng_scalar value, bool accumulate);
    bool (*index_select)(const struct eng_view *x, int dim, const struct eng_view *index,
                         const struct eng_view *out);
    bool (*index_add)(const struct eng_view *out, int dim, const struct eng_view *index,
                      const struct eng_view *src);
    /*
     * Advanced indexing x[i0, i1, …] on the first n dims of x. All idx have the same sizes (broadcast by strides);
     * out has the dims of idx followed by the remaining dims of x. Negative indices count from the end. Return false
     * if an index is out of range.
     */
    bool (*index_get)(const struct eng_view *x, const struct eng_view *idx, int n,
                      const struct eng_view *out);
    bool (*index_put)(const struct eng_view *x, const struct eng_view *idx, int n,
                      const struct eng_view *src, bool accumulate);

    void (*upsample_nearest2d)(const struct eng_view *x, const struct eng_view *out);
    void (*upsample_nearest2d_backward)(const struct eng_view *g,
                                        const struct eng_view *gx); /* sets all of gx */
    /* scale_h, scale_w: 0 if no scale_factor was given and the sizes decide */
    void (*upsample_bilinear2d)(const struct eng_view *x, const struct eng_view *out,
                                bool align_corners, double scale_h, double scale_w);
    void (*upsample_bilinear2d_backward)(const struct eng_view *g, const struct eng_view *gx,
                                         bool align_corners, double scale_h,
                                         double scale_w); /* sets all of gx */

    /*
     * x [N,C,L] log-probabilities, target [N,L] i64, weight [C] or NULL. reduction: 0 none (out [N,L]), 1 mean, 2 sum
     * (out has one element); total_weight has one element. Returns false if a target other than ignore_index is out
     * of range.
     */
    bool (*nll_loss)(const struct eng_view *x, const struct eng_view *target,
                     const struct eng_view *weight, int reduction, int64_t ignore_index,
                     const struct eng_view *out, const struct eng_view *total_weight);
    void (*nll_loss_backward)(const struct eng_view *g, const struct eng_view *target,
                              const struct eng_view *weight, int reduction, int64_t ignore_index,
                              const struct eng_view *total_weight,
                              const struct eng_view *gx); /* sets all of gx */

    /*
     * softmax(q k^T * scale + mask, or causal) v. q [B,H,L,D]; k, v [B,Hk,S,D]. mask: NULL, bool (true: take part) or
     * floating, broadcast to [B,H,L,S]. lse: [B,H,L] f32, or NULL. dropout_p with key; 0: no dropout. Computed in
     * tiles: host scratch is bounded by a few rows.
     */
    void (*sdpa)(const struct eng_view *q, const struct eng_view *k, const struct eng_view *v,
                 const struct eng_view *mask, bool causal, double scale, double dropout_p,
                 struct eng_rng_key key, const struct eng_view *out, const struct eng_view *lse);
    void (*sdpa_backward)(const struct eng_view *g, const struct eng_view *q,
                          const struct eng_view *k, const struct eng_view *v,
                          const struct eng_view *mask, bool causal, double scale, double dropout_p,
                          struct eng_rng_key key, const struct eng_view *out,
                          const struct eng_view *lse, const struct eng_view *gq,
                          const struct eng_view *gk, const struct eng_view *gv);

    /*
     * out = the lower triangle (upper, if is_upper) of the last two dims of x, all other elements 0
     */
    void (*triangle)(const struct eng_view *x, const struct eng_view *out, int64_t diagonal,
                     bool is_upper);
    void (*arange)(const struct eng_view *out, double start,
                   double step); /* exact for integers below 2^53 */

    void (*random_uniform)(const struct eng_view *out, double low, double high,
                           struct eng_rng_key key);
    void (*random_normal)(const struct eng_view *out, double mean, double std,
                          struct eng_rng_key key);
    void (*random_int)(const struct eng_view *out, int64_t low, int64_t high,
                       struct eng_rng_key key);
    void (*random_bernoulli)(const struct eng_view *out, double p,
                             /* each element is 1 with probability p, else 0 */
                             struct eng_rng_key key);
    /*
     * The weights of tests/oracle (see its README): element i (row-major) is offset + scale*v(key, i), v a hash.
     */
    void (*fill_formula)(const struct eng_view *out, uint32_t key, double offset, double scale);
    /* Integers from the same generator: low + (h >> 8) mod (high - low). */
    void (*fill_formula_int)(const struct eng_view *out, uint32_t key, int64_t low, int64_t high);

    /*
     * g *= inv_scale (f32, one element). Sets *found_inf (f32, one element) to 1 if g has an inf or NaN; else leaves
     * it.
     */
    void (*unscale)(const struct eng_view *g, const struct eng_view *inv_scale,
                    const struct eng_view *found_inf);
    /* Many elementwise calls; at most ENG_MANY_MAX items. */
    void (*many)(const struct eng_many *m);
};

/* The tables of the devices. */
const struct eng_kernels *eng_kernels_cpu(void);

#endif
