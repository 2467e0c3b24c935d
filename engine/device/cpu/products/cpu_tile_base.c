/*
 * engine/device/cpu/products/cpu_tile_base.c - blocks of products for base (see the Makefile).
 *
 * For:            cpu_tile.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_tile.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_TILE cpu_tile_base
#define CPU_ISA "base"
#define VEC_BYTES 16
#define MR 4
#define MR_SOME 3
#define MR_FEW 2
#include "engine/device/cpu/products/cpu_tile.inc"
