/*
 * engine/device/cpu/cpu_level.h - which instruction set the kernels of the CPU device use.
 *
 * For:            the tables of row functions and of blocks of products, and the command line, which says what is wrong with the choice.
 * Must not know:  kernels.
 * Invariant:      a level that this processor cannot run is never returned.
 */
#ifndef ENGINE_DEVICE_CPU_CPU_LEVEL_H
#define ENGINE_DEVICE_CPU_CPU_LEVEL_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"

/* baseline is what the compiler assumes by itself (SSE2 on x86-64); avx2 needs FMA too, avx512 the subsets F, BW, DQ and VL. */
enum cpu_level { CPU_BASELINE, CPU_AVX2, CPU_AVX512, CPU_LEVEL_COUNT };

const char *cpu_level_name(enum cpu_level level);

/* Does this processor run it? */
bool cpu_level_runs(enum cpu_level level);

/*
 * The level in use, settled at the first call in a process: what VRAMSCOPE_CPU names, or the next lower one that this processor runs;
 * without it, or where it names no level, the highest that it runs. OpenBLAS picks its own kernels (OPENBLAS_CORETYPE).
 */
enum cpu_level cpu_level(void);

/*
 * Read a value of VRAMSCOPE_CPU. *out is that level, or the next lower one that this processor runs.
 * VS_E_USAGE: it names no level; the text lists those there are.
 */
VS_MUST_USE enum vs_status cpu_level_read(const char *text, enum cpu_level *out,
                                          struct vs_error *err);

#endif
