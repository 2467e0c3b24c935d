/*
 * engine/device/cpu/cpu_kernels.h - the kernels of the CPU device, which cpu.c puts into the table.
 *
 * For:            cpu.c, and kernels that use each other.
 * Must not know:  more than kernels.h.
 * Invariant:      each kernel does what kernels.h says about the entry of the same name.
 */
#ifndef ENG_DEVICE_CPU_KERNELS_H
#define ENG_DEVICE_CPU_KERNELS_H

#include "engine/device/kernels.h"

void cpu_copy(const struct eng_view *src, const struct eng_view *dst);
void cpu_fill(const struct eng_view *dst, struct eng_scalar value);
struct eng_scalar cpu_item(const struct eng_view *x);
void cpu_unary(enum eng_unary op, const struct eng_view *x, const struct eng_view *out,
               const double *p);
void cpu_binary(enum eng_binary op, enum vs_dtype compute, const struct eng_view *a,
                const struct eng_view *b, const struct eng_view *out, const double *p);
void cpu_ternary(enum eng_ternary op, enum vs_dtype compute, const struct eng_view *a,
                 const struct eng_view *b, const struct eng_view *c, const struct eng_view *out,
                 const double *p);
void cpu_unscale(const struct eng_view *g, const struct eng_view *inv_scale,
                 const struct eng_view *found_inf);

void cpu_reduce(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                uint32_t dims, const double *p);
void cpu_max_dim(const struct eng_view *x, int dim, bool is_max, const struct eng_view *values,
                 const struct eng_view *indices);
void cpu_cumsum(const struct eng_view *x, int dim, const struct eng_view *out);
void cpu_sort(const struct eng_view *x, int dim, bool descending, const struct eng_view *values,
              const struct eng_view *indices);
void cpu_softmax(const struct eng_view *x, int dim, bool is_log, const struct eng_view *out);
void cpu_softmax_backward(const struct eng_view *g, const struct eng_view *y, int dim, bool is_log,
                          const struct eng_view *gx);

void cpu_matmul(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                double alpha, double beta);
void cpu_conv2d(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                const struct eng_view *out, const struct eng_conv2d *p);
void cpu_conv2d_backward_input(const struct eng_view *g, const struct eng_view *w,
                               const struct eng_view *gx, const struct eng_conv2d *p);
void cpu_conv2d_backward_weight(const struct eng_view *g, const struct eng_view *x,
                                const struct eng_view *gw, const struct eng_conv2d *p);

void cpu_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                    const struct eng_view *indices, const struct eng_pool2d *p);
void cpu_max_pool2d_backward(const struct eng_view *g, const struct eng_view *indices,
                             const struct eng_view *gx, const struct eng_pool2d *p);
void cpu_avg_pool2d(const struct eng_view *x, const struct eng_view *out,
                    const struct eng_pool2d *p);
void cpu_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx,
                             const struct eng_pool2d *p);
void cpu_adaptive_avg_pool2d(const struct eng_view *x, const struct eng_view *out);
void cpu_adaptive_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx);
void cpu_adaptive_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                             const struct eng_view *indices);
void cpu_upsample_nearest2d(const struct eng_view *x, const struct eng_view *out);
void cpu_upsample_nearest2d_backward(const struct eng_view *g, const struct eng_view *gx);
void cpu_upsample_bilinear2d(const struct eng_view *x, const struct eng_view *out,
                             bool align_corners, double scale_h, double scale_w);
void cpu_upsample_bilinear2d_backward(const struct eng_view *g, const struct eng_view *gx,
                                      bool align_corners, double scale_h, double scale_w);

void cpu_batch_norm_train(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *b, const struct eng_view *running_mean,
                          const struct eng_view *running_var, double momentum, double eps,
                          const struct eng_view *out, const struct eng_view *save_mean,
                          const struct eng_view *save_invstd);
void cpu_batch_norm_eval(const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *b, const struct eng_view *running_mean,
                         const struct eng_view *running_var, double eps,
                         const struct eng_view *out);
void cpu_batch_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *invstd, bool train, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb);
void cpu_layer_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                    double eps, const struct eng_view *out, const struct eng_view *mean,
                    const struct eng_view *rstd);
void cpu_layer_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *rstd, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb);
void cpu_group_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                    int64_t groups, double eps, const struct eng_view *out,
                    const struct eng_view *mean, const struct eng_view *rstd);
void cpu_group_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *rstd, int64_t groups, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb);
void cpu_rms_norm(const struct eng_view *x, const struct eng_view *w, double eps,
                  const struct eng_view *out, const struct eng_view *rstd);
void cpu_rms_norm_backward(const struct eng_view *g, const struct eng_view *x,
                           const struct eng_view *w, const struct eng_view *rstd,
                           const struct eng_view *gx, const struct eng_view *gw);

bool cpu_embedding(const struct eng_view *table, const struct eng_view *idx,
                   const struct eng_view *out);
void cpu_embedding_backward(const struct eng_view *g, const struct eng_view *idx,
                            int64_t padding_idx, const struct eng_view *gtable);
bool cpu_gather(const struct eng_view *x, int dim, const struct eng_view *index,
                const struct eng_view *out);
bool cpu_scatter(const struct eng_view *out, int dim, const struct eng_view *index,
                 const struct eng_view *src, struct eng_scalar value, bool accumulate);
bool cpu_index_select(const struct eng_view *x, int dim, const struct eng_view *index,
                      const struct eng_view *out);
bool cpu_index_add(const struct eng_view *out, int dim, const struct eng_view *index,
                   const struct eng_view *src);
bool cpu_index_get(const struct eng_view *x, const struct eng_view *idx, int n,
                   const struct eng_view *out);
bool cpu_index_put(const struct eng_view *x, const struct eng_view *idx, int n,
                   const struct eng_view *src, bool accumulate);

bool cpu_nll_loss(const struct eng_view *x, const struct eng_view *target,
                  const struct eng_view *weight, int reduction, int64_t ignore_index,
                  const struct eng_view *out, const struct eng_view *total_weight);
void cpu_nll_loss_backward(const struct eng_view *g, const struct eng_view *target,
                           const struct eng_view *weight, int reduction, int64_t ignore_index,
                           const struct eng_view *total_weight, const struct eng_view *gx);

void cpu_sdpa(const struct eng_view *q, const struct eng_view *k, const struct eng_view *v,
              const struct eng_view *mask, bool causal, double scale, double dropout_p,
              struct eng_rng_key key, const struct eng_view *out, const struct eng_view *lse);
void cpu_sdpa_backward(const struct eng_view *g, const struct eng_view *q, const struct eng_view *k,
                       const struct eng_view *v, const struct eng_view *mask, bool causal,
                       double scale, double dropout_p, struct eng_rng_key key,
                       const struct eng_view *out, const struct eng_view *lse,
                       const struct eng_view *gq, const struct eng_view *gk,
                       const struct eng_view *gv);

void cpu_triangle(const struct eng_view *x, const struct eng_view *out, int64_t diagonal,
                  bool is_upper);
void cpu_arange(const struct eng_view *out, double start, double step);
void cpu_random_uniform(const struct eng_view *out, double low, double high,
                        struct eng_rng_key key);
void cpu_random_normal(const struct eng_view *out, double mean, double std, struct eng_rng_key key);
void cpu_random_int(const struct eng_view *out, int64_t low, int64_t high, struct eng_rng_key key);
void cpu_random_bernoulli(const struct eng_view *out, double p, struct eng_rng_key key);
void cpu_fill_formula(const struct eng_view *out, uint32_t key, double offset, double scale);
void cpu_fill_formula_int(const struct eng_view *out, uint32_t key, int64_t low, int64_t high);

#endif
