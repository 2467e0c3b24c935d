/*
 * engine/device/cpu/rows/cpu_rows.h - the tables of row functions, one for each instruction set.
 *
 * For:            cpu_rows.c, and the files that define them.
 * Must not know:  anything else.
 * Invariant:      on processors other than x86-64 all three are compiled in the same way and only the first is used.
 */
#ifndef ENG_DEVICE_CPU_ROWS_H
#define ENG_DEVICE_CPU_ROWS_H

#include "engine/device/cpu/cpu_internal.h"

extern const struct cpu_rows cpu_rows_base;
extern const struct cpu_rows cpu_rows_v3;
extern const struct cpu_rows cpu_rows_v4;

#endif
