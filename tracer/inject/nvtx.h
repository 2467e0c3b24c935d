/*
 * tracer/inject/nvtx.h - listens to NVTX.
 *
 * For:            inject.c.
 * Must not know:  traces, CUPTI.
 * Invariant:      the program gets from NVTX what it would get without us, but for the numbers and handles, which are ours.
 */
#ifndef TRC_INJECT_NVTX_H
#define TRC_INJECT_NVTX_H

#include <stdint.h>

/* `export_table`: what NVTX hands to InitializeInjectionNvtx2. 1: listening; 0: of another make, nothing was changed. */
int inj_nvtx_attach(const void *(*export_table)(uint32_t id));

#endif
