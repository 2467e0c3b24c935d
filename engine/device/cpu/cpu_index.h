/*
 * engine/device/cpu/cpu_index.h - what the indexing kernels share.
 *
 * For:            cpu_index.c, cpu_index_adv.c, cpu_embedding.c.
 * Must not know:  which kernel.
 * Invariant:      neither writes where it is not told to.
 */
#ifndef ENG_DEVICE_CPU_INDEX_H
#define ENG_DEVICE_CPU_INDEX_H

#include "engine/device/cpu/cpu_internal.h"

/* Are all elements of index in [low, high)? */
bool cpu_index_check(const struct eng_view *index, int64_t low, int64_t high);
/* *dst += *src, computed in num, rounded once. */
void cpu_element_add(const struct cpu_num *num, enum vs_dtype to, char *dst, enum vs_dtype from,
                     const char *src);

#endif
