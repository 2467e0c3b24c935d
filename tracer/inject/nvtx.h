/*
 * tracer/inject/nvtx.h - receives the program's NVTX calls.
 *
 * For:            inject.c.
 * Must not know:  traces, CUPTI.
 * Invariant:      NVTX calls return what they would return without this library, except for the values of numbers and
 *                 handles.
 */
#ifndef TRC_INJECT_NVTX_H
#define TRC_INJECT_NVTX_H

#include <stdint.h>

/*
 * `export_table`: the argument of InitializeInjectionNvtx2(). Returns 1 on success; 0: an incompatible version, nothing
 * was changed.
 */
int inj_nvtx_attach(const void *(*export_table)(uint32_t id));

#endif
