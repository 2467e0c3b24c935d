/*
 * engine/device/cpu/cpu_index.h - helpers of the indexing kernels.
 *
 * For:            cpu_index.c, cpu_index_adv.c, cpu_embedding.c.
 * Must not know:  which kernel.
 * Invariant:      no function here writes outside of its output.
 */
#ifndef ENG_DEVICE_CPU_INDEX_H
#define ENG_DEVICE_CPU_INDEX_H

#include "engine/device/cpu/cpu_internal.h"

/* Whether all elements of index are in [low, high). */
bool cpu_index_check(const struct eng_view *index, int64_t low, int64_t high);
/* dst += *src, computed in the type of num and rounded once. */
void cpu_element_add(const struct cpu_num *num, enum vs_dtype to, char *dst, enum vs_dtype from,
                     const char *src);

#endif
