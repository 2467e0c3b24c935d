/*
 * engine/device/cpu/products/cpu_conv_winograd.h - 3x3 convolutions of stride 1 with less than half of the
 * multiplications.
 *
 * For:            cpu_conv.c, which decides when this is faster.
 * Must not know:  the table of kernels.
 * Invariant:      float arithmetic; errors are within a few ulp of the sum of magnitudes, as for plain sums.
 */
#ifndef ENG_DEVICE_CPU_CONV_WINOGRAD_H
#define ENG_DEVICE_CPU_CONV_WINOGRAD_H

#include "engine/device/cpu/products/cpu_conv_internal.h"

/* Whether the convolution has this shape and enough channels to pay for the transforms. */
bool cpu_winograd_fits(const struct cpu_conv *c);

/* Forward and both gradients of a convolution for which cpu_winograd_fits. */
void cpu_winograd_forward(const struct cpu_conv *c, const struct eng_view *x, struct cpu_mat w,
                          const struct eng_view *bias, const struct eng_view *y);
void cpu_winograd_input(const struct cpu_conv *c, const struct eng_view *g, struct cpu_mat w,
                        const struct eng_view *gx);
void cpu_winograd_weight(const struct cpu_conv *c, const struct eng_view *g,
                         const struct eng_view *x, const struct eng_view *gw);

#endif
