/*
 * engine/device/cuda/cuda_kernels.h - the kernels of the CUDA device, which cuda_table.c puts into the table.
 *
 * For:            cuda_table.c, and kernels that use each other.
 * Must not know:  more than kernels.h.
 * Invariant:      each kernel does what kernels.h says about the entry of the same name.
 */
#ifndef ENG_DEVICE_CUDA_KERNELS_H
#define ENG_DEVICE_CUDA_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "engine/device/kernels.h"

void cuda_copy(const struct eng_view *src, const struct eng_view *dst);
void cuda_fill(const struct eng_view *dst, struct eng_scalar value);
struct eng_scalar cuda_item(const struct eng_view *x);
void cuda_unary(enum eng_unary op, const struct eng_view *x, const struct eng_view *out,
                const double *p);
void cuda_binary(enum eng_binary op, enum vs_dtype compute, const struct eng_view *a,
                 const struct eng_view *b, const struct eng_view *out, const double *p);
void cuda_ternary(enum eng_ternary op, enum vs_dtype compute, const struct eng_view *a,
                  const struct eng_view *b, const struct eng_view *c, const struct eng_view *out,
                  const double *p);
void cuda_unscale(const struct eng_view *g, const struct eng_view *inv_scale,
                  const struct eng_view *found_inf);
void cuda_many(const struct eng_many *m);

void cuda_reduce(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                 uint32_t dims, const double *p);
void cuda_max_dim(const struct eng_view *x, int dim, bool is_max, const struct eng_view *values,
                  const struct eng_view *indices);
void cuda_cumsum(const struct eng_view *x, int dim, const struct eng_view *out);
void cuda_sort(const struct eng_view *x, int dim, bool descending, const struct eng_view *values,
               const struct eng_view *indices);
void cuda_softmax(const struct eng_view *x, int dim, bool is_log, const struct eng_view *out);
void cuda_softmax_backward(const struct eng_view *g, const struct eng_view *y, int dim, bool is_log,
                           const struct eng_view *gx);

void cuda_matmul(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                 double alpha, double beta);
void cuda_conv2d(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                 const struct eng_view *out, const struct eng_conv2d *p);
void cuda_conv2d_backward_input(const struct eng_view *g, const struct eng_view *w,
                                const struct eng_view *gx, const struct eng_conv2d *p);
void cuda_conv2d_backward_weight(const struct eng_view *g, const struct eng_view *x,
                                 const struct eng_view *gw, const struct eng_conv2d *p);

void cuda_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                     const struct eng_view *indices, const struct eng_pool2d *p);
void cuda_max_pool2d_backward(const struct eng_view *g, const struct eng_view *indices,
                              const struct eng_view *gx, const struct eng_pool2d *p);
void cuda_avg_pool2d(const struct eng_view *x, const struct eng_view *out,
                     const struct eng_pool2d *p);
void cuda_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx,
                              const struct eng_pool2d *p);
void cuda_adaptive_avg_pool2d(const struct eng_view *x, const struct eng_view *out);
void cuda_adaptive_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx);
void cuda_adaptive_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                              const struct eng_view *indices);
void cuda_upsample_nearest2d(const struct eng_view *x, const struct eng_view *out);
void cuda_upsample_nearest2d_backward(const struct eng_view *g, const struct eng_view *gx);
void cuda_upsample_bilinear2d(const struct eng_view *x, const struct eng_view *out,
                              bool align_corners, double scale_h, double scale_w);
void cuda_upsample_bilinear2d_backward(const struct eng_view *g, const struct eng_view *gx,
                                       bool align_corners, double scale_h, double scale_w);

void cuda_batch_norm_train(const struct eng_view *x, const struct eng_view *w,
                           const struct eng_view *b, const struct eng_view *running_mean,
                           const struct eng_view *running_var, double momentum, double eps,
                           const struct eng_view *out, const struct eng_view *save_mean,
                           const struct eng_view *save_invstd);
void cuda_batch_norm_eval(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *b, const struct eng_view *running_mean,
                          const struct eng_view *running_var, double eps,
                          const struct eng_view *out);
void cuda_batch_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *invstd, bool train, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb);
void cuda_layer_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     double eps, const struct eng_view *out, const struct eng_view *mean,
                     const struct eng_view *rstd);
void cuda_layer_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, const struct eng_view *gx,
                              const struct eng_view *gw, const struct eng_view *gb);
void cuda_group_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                     int64_t groups, double eps, const struct eng_view *out,
                     const struct eng_view *mean, const struct eng_view *rstd);
void cuda_group_norm_backward(const struct eng_view *g, const struct eng_view *x,
                              const struct eng_view *w, const struct eng_view *mean,
                              const struct eng_view *rstd, int64_t groups,
                              const struct eng_view *gx, const struct eng_view *gw,
                              const struct eng_view *gb);
void cuda_rms_norm(const struct eng_view *x, const struct eng_view *w, double eps,
                   const struct eng_view *out, const struct eng_view *rstd);
void cuda_rms_norm_backward(const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *w, const struct eng_view *rstd,
                            const struct eng_view *gx, const struct eng_view *gw);

bool cuda_embedding(const struct eng_view *table, const struct eng_view *idx,
                    const struct eng_view *out);
void cuda_embedding_backward(const struct eng_view *g, const struct eng_view *idx,
                             int64_t padding_idx, const struct eng_view *gtable);
bool cuda_gather(const struct eng_view *x, int dim, const struct eng_view *index,
                 const struct eng_view *out);
bool cuda_scatter(const struct eng_view *out, int dim, const struct eng_view *index,
                  const struct eng_view *src, struct eng_scalar value, bool accumulate);
bool cuda_index_select(const struct eng_view *x, int dim, const struct eng_view *index,
                       const struct eng_view *out);
bool cuda_index_add(const struct eng_view *out, int dim, const struct eng_view *index,
                    const struct eng_view *src);
bool cuda_index_get(const struct eng_view *x, const struct eng_view *idx, int n,
                    const struct eng_view *out);
bool cuda_index_put(const struct eng_view *x, const struct eng_view *idx, int n,
                    const struct eng_view *src, bool accumulate);

bool cuda_nll_loss(const struct eng_view *x, const struct eng_view *target,
                   const struct eng_view *weight, int reduction, int64_t ignore_index,
                   const struct eng_view *out, const struct eng_view *total_weight);
void cuda_nll_loss_backward(const struct eng_view *g, const struct eng_view *target,
                            const struct eng_view *weight, int reduction, int64_t ignore_index,
                            const struct eng_view *total_weight, const struct eng_view *gx);

void cuda_sdpa(const struct eng_view *q, const struct eng_view *k, const struct eng_view *v,
               const struct eng_view *mask, bool causal, double scale, double dropout_p,
               struct eng_rng_key key, const struct eng_view *out, const struct eng_view *lse);
void cuda_sdpa_backward(const struct eng_view *g, const struct eng_view *q,
                        const struct eng_view *k, const struct eng_view *v,
                        const struct eng_view *mask, bool causal, double scale, double dropout_p,
                        struct eng_rng_key key, const struct eng_view *out,
                        const struct eng_view *lse, const struct eng_view *gq,
                        const struct eng_view *gk, const struct eng_view *gv);

void cuda_triangle(const struct eng_view *x, const struct eng_view *out, int64_t diagonal,
                   bool is_upper);
void cuda_arange(const struct eng_view *out, double start, double step);
void cuda_random_uniform(const struct eng_view *out, double low, double high,
                         struct eng_rng_key key);
void cuda_random_normal(const struct eng_view *out, double mean, double std,
                        struct eng_rng_key key);
void cuda_random_int(const struct eng_view *out, int64_t low, int64_t high, struct eng_rng_key key);
void cuda_random_bernoulli(const struct eng_view *out, double p, struct eng_rng_key key);
void cuda_fill_formula(const struct eng_view *out, uint32_t key, double offset, double scale);
void cuda_fill_formula_int(const struct eng_view *out, uint32_t key, int64_t low, int64_t high);

#ifdef __cplusplus
}
#endif

#endif
