/*
 * engine/device/cpu/products/cpu_conv_internal.h - a convolution as matrix products: its geometry, and the matrix of
 * patches (im2col).
 *
 * For:            cpu_conv*.c.
 * Must not know:  threads.
 * Invariant:      sizes are those of one group; elements of the patch matrix that lie in the padding are 0.
 */
#ifndef ENG_DEVICE_CPU_CONV_INTERNAL_H
#define ENG_DEVICE_CPU_CONV_INTERNAL_H

#include "engine/device/cpu/cpu_internal.h"

struct cpu_conv {
    const struct cpu_num *num; /* float or double */
    struct eng_conv2d p;
    int64_t batch;
    int64_t groups;
    int64_t ci; /* input channels of a group */
    int64_t co; /* output channels of a group */
    int64_t kh;
    int64_t kw;
    int64_t h;
    int64_t w;
    int64_t ho;
    int64_t wo;
    int64_t taps;      /* kh*kw */
    int64_t positions; /* ho*wo */
    bool is_pointwise; /* 1x1, stride 1, no padding: the patch matrix is the input */
};

/* x [N,C,H,W], w [Co,C/g,kh,kw], y [N,Co,Ho,Wo]. Asserts that their sizes agree. */
void cpu_conv_init(struct cpu_conv *c, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p);

/*
 * Writes patches: row (channel*taps + tap), column position: the input element that the tap is multiplied with there.
 * channel, channels   the first of the input's channels, and how many
 * first, count        output positions
 * col                 channels*taps rows of `count` numbers
 */
void cpu_conv_patches(const struct cpu_conv *c, const struct eng_view *x, int64_t n,
                      int64_t channel, int64_t channels, int64_t first, int64_t count, char *col);
/* The reverse (col2im): adds the columns to `channels` planes of h*w numbers. */
void cpu_conv_add_patches(const struct cpu_conv *c, const char *col, int64_t channels,
                          int64_t first, int64_t count, char *planes);

/* Whether each plane of v (rows x cols) is contiguous and has the type of num. */
bool cpu_conv_is_flat(const struct cpu_num *num, const struct eng_view *v);
/*
 * The weights of all groups as a matrix with co rows for each group: v itself, or a copy in *scratch, which the
 * caller frees with cpu_mem_put.
 */
struct cpu_mat cpu_conv_weights(const struct cpu_num *num, const struct eng_view *w, void **scratch,
                                uint64_t *bytes);

/*
 * Depthwise convolution: each channel is a group (f32, f16, bf16). Computed by adding shifted rows, not by matrix
 * products.
 */
bool cpu_depthwise_fits(const struct cpu_conv *c);
void cpu_depthwise_forward(const struct cpu_conv *c, const struct eng_view *x, struct cpu_mat w,
                           const struct eng_view *bias, const struct eng_view *y);
void cpu_depthwise_input(const struct cpu_conv *c, const struct eng_view *g, struct cpu_mat w,
                         const struct eng_view *gx);
void cpu_depthwise_weight(const struct cpu_conv *c, const struct eng_view *g,
                          const struct eng_view *x, const struct eng_view *gw);

#endif
