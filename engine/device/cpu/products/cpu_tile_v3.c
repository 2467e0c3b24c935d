/*
 * engine/device/cpu/products/cpu_tile_v3.c - blocks of products for avx2 (see the Makefile).
 *
 * For:            cpu_tile.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_tile.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_TILE cpu_tile_v3
#define CPU_ISA "avx2"
#define VEC_BYTES 32
#define MR 6
#define MR_SOME 4
#define MR_FEW 2
#include "engine/device/cpu/products/cpu_tile.inc"
