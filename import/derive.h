/*
 * import/derive.h - derives from the stacks what a recording does not contain: phases, steps, categories, modules,
 * locations.
 *
 * For:            import/importing.c.
 * Must not know:  files; the allocator.
 * Invariant:      only phases, steps and what was observed between events are added; allocations, frees and segments
 *                 keep their bytes, addresses, times and order. Byte counts never depend on derived data.
 */
#ifndef IMP_DERIVE_H
#define IMP_DERIVE_H

#include "import/import.h"

/* Add derived data to an import whose events have been made from `list` and refer to its events. O(n log n). */
void imp_derive(struct imp_import *import, const struct vs_memlist *list);

/* The location where a block of the state at the end was allocated; 0: not recorded. */
uint32_t imp_block_location(struct imp_import *import, const struct vs_memlist *list,
                            const struct vs_mem_block *block);

#endif
