/*
 * engine/device/cpu/cpu_level.h - which instruction set the kernels of the CPU device use.
 *
 * For:            the tables of row functions and of tiles; the command line, which reports a wrong value of
 *                 VRAMSCOPE_CPU.
 * Must not know:  kernels.
 * Invariant:      an instruction set that this processor cannot run is never returned.
 */
#ifndef ENGINE_DEVICE_CPU_CPU_LEVEL_H
#define ENGINE_DEVICE_CPU_CPU_LEVEL_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * The baseline is what the compiler assumes by default (SSE2 on x86-64); AVX2 includes FMA; AVX512 means F, BW, DQ
 * and VL.
 */
enum cpu_level { CPU_BASELINE, CPU_AVX2, CPU_AVX512, CPU_LEVEL_COUNT };

const char *cpu_level_name(enum cpu_level level);

/* Whether this processor can run it. */
bool cpu_level_runs(enum cpu_level level);

/*
 * The level in use, decided at the first call in a process: the one that VRAMSCOPE_CPU names, or the next lower one
 * that this processor can run; if the variable is not set or names no level, the highest one. OpenBLAS chooses its
 * kernels itself (OPENBLAS_CORETYPE).
 */
enum cpu_level cpu_level(void);

/*
 * Parses a value of VRAMSCOPE_CPU. *out is the level it names, or the next lower one that this processor can run.
 * VS_E_USAGE: it names no level; the text lists the names.
 */
VS_MUST_USE enum vs_status cpu_level_read(const char *text, enum cpu_level *out,
                                          struct vs_error *err);

#endif
