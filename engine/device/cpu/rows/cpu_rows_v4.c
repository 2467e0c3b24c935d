/*
 * engine/device/cpu/rows/cpu_rows_v4.c - the row functions, compiled with AVX-512 F, BW, DQ, VL (see the Makefile).
 *
 * For:            cpu_rows.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_rows.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_ROWS cpu_rows_v4
#define CPU_ISA "avx512"
#include "engine/device/cpu/rows/cpu_rows.inc"
