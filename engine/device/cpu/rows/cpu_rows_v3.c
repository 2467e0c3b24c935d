/*
 * engine/device/cpu/rows/cpu_rows_v3.c - the row functions, compiled with AVX2, FMA and F16C (see the Makefile).
 *
 * For:            cpu_rows.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_rows.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_ROWS cpu_rows_v3
#define CPU_ISA "avx2"
#include "engine/device/cpu/rows/cpu_rows.inc"
