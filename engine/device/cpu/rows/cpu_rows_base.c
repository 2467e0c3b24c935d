/*
 * engine/device/cpu/rows/cpu_rows_base.c - the row functions, compiled with the flags of every other file (see the
 * Makefile).
 *
 * For:            cpu_rows.c, which picks a table at run time.
 * Must not know:  anything: all code is in cpu_rows.inc.
 * Invariant:      only called on processors that support these instructions.
 */
#define CPU_ROWS cpu_rows_base
#define CPU_ISA "base"
#include "engine/device/cpu/rows/cpu_rows.inc"
