/*
 * engine/device/cpu/cpu.c - the table of the CPU device.
 *
 * For:            engine/, through eng_kernels_cpu.
 * Must not know:  how any kernel works.
 * Invariant:      no entry is NULL.
 */
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/many.h"

static void cpu_many(const struct eng_many *m)
{
    eng_many_run(eng_kernels_cpu(), m);
}

static const struct eng_kernels cpu_kernels = {
    .name = "cpu",
    .mem_get = cpu_mem_get,
    .mem_put = cpu_mem_put,
    .copy = cpu_copy,
    .fill = cpu_fill,
    .item = cpu_item,
    .unary = cpu_unary,
    .binary = cpu_binary,
    .ternary = cpu_ternary,
    .reduce = cpu_reduce,
    .max_dim = cpu_max_dim,
    .cumsum = cpu_cumsum,
    .sort = cpu_sort,
    .softmax = cpu_softmax,
    .softmax_backward = cpu_softmax_backward,
    .matmul = cpu_matmul,
    .conv2d = cpu_conv2d,
    .conv2d_backward_input = cpu_conv2d_backward_input,
    .conv2d_backward_weight = cpu_conv2d_backward_weight,
    .max_pool2d = cpu_max_pool2d,
    .max_pool2d_backward = cpu_max_pool2d_backward,
    .avg_pool2d = cpu_avg_pool2d,
    .avg_pool2d_backward = cpu_avg_pool2d_backward,
    .adaptive_avg_pool2d = cpu_adaptive_avg_pool2d,
    .adaptive_avg_pool2d_backward = cpu_adaptive_avg_pool2d_backward,
    .adaptive_max_pool2d = cpu_adaptive_max_pool2d,
    .batch_norm_train = cpu_batch_norm_train,
    .batch_norm_eval = cpu_batch_norm_eval,
    .batch_norm_backward = cpu_batch_norm_backward,
    .layer_norm = cpu_layer_norm,
    .layer_norm_backward = cpu_layer_norm_backward,
    .group_norm = cpu_group_norm,
    .group_norm_backward = cpu_group_norm_backward,
    .rms_norm = cpu_rms_norm,
    .rms_norm_backward = cpu_rms_norm_backward,
    .embedding = cpu_embedding,
    .embedding_backward = cpu_embedding_backward,
    .gather = cpu_gather,
    .scatter = cpu_scatter,
    .index_select = cpu_index_select,
    .index_add = cpu_index_add,
    .index_get = cpu_index_get,
    .index_put = cpu_index_put,
    .upsample_nearest2d = cpu_upsample_nearest2d,
    .upsample_nearest2d_backward = cpu_upsample_nearest2d_backward,
    .upsample_bilinear2d = cpu_upsample_bilinear2d,
    .upsample_bilinear2d_backward = cpu_upsample_bilinear2d_backward,
    .nll_loss = cpu_nll_loss,
    .nll_loss_backward = cpu_nll_loss_backward,
    .sdpa = cpu_sdpa,
    .sdpa_backward = cpu_sdpa_backward,
    .triangle = cpu_triangle,
    .arange = cpu_arange,
    .random_uniform = cpu_random_uniform,
    .random_normal = cpu_random_normal,
    .random_int = cpu_random_int,
    .random_bernoulli = cpu_random_bernoulli,
    .fill_formula = cpu_fill_formula,
    .fill_formula_int = cpu_fill_formula_int,
    .unscale = cpu_unscale,
    .many = cpu_many,
};

const struct eng_kernels *eng_kernels_cpu(void)
{
    return &cpu_kernels;
}
