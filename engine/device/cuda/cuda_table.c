/*
 * engine/device/cuda/cuda_table.c - the table of the CUDA device.
 *
 * For:            engine/, through the device that the plug-in opens.
 * Must not know:  how any kernel works.
 * Invariant:      no entry is NULL.
 */
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/cuda_kernels.h"

static const struct eng_kernels cuda_kernels = {
    .name = "cuda",
    .mem_get = cuda_mem_get,
    .mem_put = cuda_mem_put,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .item = cuda_item,
    .unary = cuda_unary,
    .binary = cuda_binary,
    .ternary = cuda_ternary,
    .reduce = cuda_reduce,
    .max_dim = cuda_max_dim,
    .cumsum = cuda_cumsum,
    .sort = cuda_sort,
    .softmax = cuda_softmax,
    .softmax_backward = cuda_softmax_backward,
    .matmul = cuda_matmul,
    .conv2d = cuda_conv2d,
    .conv2d_backward_input = cuda_conv2d_backward_input,
    .conv2d_backward_weight = cuda_conv2d_backward_weight,
    .max_pool2d = cuda_max_pool2d,
    .max_pool2d_backward = cuda_max_pool2d_backward,
    .avg_pool2d = cuda_avg_pool2d,
    .avg_pool2d_backward = cuda_avg_pool2d_backward,
    .adaptive_avg_pool2d = cuda_adaptive_avg_pool2d,
    .adaptive_avg_pool2d_backward = cuda_adaptive_avg_pool2d_backward,
    .adaptive_max_pool2d = cuda_adaptive_max_pool2d,
    .batch_norm_train = cuda_batch_norm_train,
    .batch_norm_eval = cuda_batch_norm_eval,
    .batch_norm_backward = cuda_batch_norm_backward,
    .layer_norm = cuda_layer_norm,
    .layer_norm_backward = cuda_layer_norm_backward,
    .group_norm = cuda_group_norm,
    .group_norm_backward = cuda_group_norm_backward,
    .rms_norm = cuda_rms_norm,
    .rms_norm_backward = cuda_rms_norm_backward,
    .embedding = cuda_embedding,
    .embedding_backward = cuda_embedding_backward,
    .gather = cuda_gather,
    .scatter = cuda_scatter,
    .index_select = cuda_index_select,
    .index_add = cuda_index_add,
    .index_get = cuda_index_get,
    .index_put = cuda_index_put,
    .upsample_nearest2d = cuda_upsample_nearest2d,
    .upsample_nearest2d_backward = cuda_upsample_nearest2d_backward,
    .upsample_bilinear2d = cuda_upsample_bilinear2d,
    .upsample_bilinear2d_backward = cuda_upsample_bilinear2d_backward,
    .nll_loss = cuda_nll_loss,
    .nll_loss_backward = cuda_nll_loss_backward,
    .sdpa = cuda_sdpa,
    .sdpa_backward = cuda_sdpa_backward,
    .triangle = cuda_triangle,
    .arange = cuda_arange,
    .random_uniform = cuda_random_uniform,
    .random_normal = cuda_random_normal,
    .random_int = cuda_random_int,
    .random_bernoulli = cuda_random_bernoulli,
    .fill_formula = cuda_fill_formula,
    .fill_formula_int = cuda_fill_formula_int,
    .unscale = cuda_unscale,
    .many = cuda_many,
};

const struct eng_kernels *eng_kernels_cuda(void)
{
    return &cuda_kernels;
}
