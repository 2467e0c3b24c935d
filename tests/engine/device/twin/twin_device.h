/*
 * tests/engine/device/twin/twin_device.h - the memory of the simulated GPU.
 *
 * For:            twin_plugin.c.
 * Must not know:  kernels.
 * Invariant:      twin_close checks that every segment was freed.
 */
#ifndef TESTS_ENGINE_DEVICE_TWIN_DEVICE_H
#define TESTS_ENGINE_DEVICE_TWIN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/device/plugin.h"

void twin_open(void);
void twin_close(void);

/* What the GPU is like: its compute capability, the memory kernels are brought, and what convolutions work in. */
#define TWIN_CAPABILITY 86
void twin_set_workspace(const struct eng_device_workspace *workspace);
int twin_conv_ways(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p, struct eng_conv_way *out);

/*
 * Memory at an address of the caller's choice; false where the host has something there. remove: of exactly what was
 * added.
 */
bool twin_memory_add(uint64_t address, uint64_t bytes);
void twin_memory_remove(uint64_t address, uint64_t bytes);

#endif
