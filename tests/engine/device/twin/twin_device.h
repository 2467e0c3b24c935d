/*
 * tests/engine/device/twin/twin_device.h - the memory of the GPU that is made of host memory.
 *
 * For:            twin_plugin.c.
 * Must not know:  kernels.
 * Invariant:      twin_close finds every segment given back.
 */
#ifndef TESTS_ENGINE_DEVICE_TWIN_DEVICE_H
#define TESTS_ENGINE_DEVICE_TWIN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

void twin_open(void);
void twin_close(void);

/* Memory at an address of the caller's choice; false where the host has something there. remove: of exactly what was added. */
bool twin_memory_add(uint64_t address, uint64_t bytes);
void twin_memory_remove(uint64_t address, uint64_t bytes);

#endif
