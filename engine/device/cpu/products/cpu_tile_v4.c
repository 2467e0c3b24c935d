/*
 * engine/device/cpu/products/cpu_tile_v4.c - blocks of products for avx512 (see the Makefile).
 *
 * For:            cpu_tile.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_tile.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_TILE cpu_tile_v4
#define CPU_ISA "avx512"
#define VEC_BYTES 64
#define MR 12
#define MR_SOME 8
#define MR_FEW 4
#include "engine/device/cpu/products/cpu_tile.inc"
