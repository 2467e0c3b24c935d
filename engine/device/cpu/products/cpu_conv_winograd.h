/*
 * engine/device/cpu/products/cpu_conv_winograd.h - 3x3 convolutions of stride 1 with less than half the products.
 *
 * For:            cpu_conv.c, which decides when this pays.
 * Must not know:  the table of kernels.
 * Invariant:      float arithmetic; errors stay within a few ulp of the sum of magnitudes, as those of plain sums.
 */
#ifndef ENG_DEVICE_CPU_CONV_WINOGRAD_H
#define ENG_DEVICE_CPU_CONV_WINOGRAD_H

#include "engine/device/cpu/products/cpu_conv_internal.h"

/* Does this convolution have the shape, and enough channels to pay for the transforms? */
bool cpu_winograd_fits(const struct cpu_conv *c);

/* The three kernels, for convolutions that fit. */
void cpu_winograd_forward(const struct cpu_conv *c, const struct eng_view *x, struct cpu_mat w,
                          const struct eng_view *bias, const struct eng_view *y);
void cpu_winograd_input(const struct cpu_conv *c, const struct eng_view *g, struct cpu_mat w,
                        const struct eng_view *gx);
void cpu_winograd_weight(const struct cpu_conv *c, const struct eng_view *g,
                         const struct eng_view *x, const struct eng_view *gw);

#endif
