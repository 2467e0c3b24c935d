/*
 * import/derive.h - what a recording does not say, derived from its stacks: phases, steps, categories, modules, places.
 *
 * For:            import/importing.c.
 * Must not know:  files; the allocator.
 * Invariant:      only phase and step events are added; no allocation, free or segment changes its bytes, address, time or order. Figures never depend on
 *                 what is derived.
 */
#ifndef IMP_DERIVE_H
#define IMP_DERIVE_H

#include "import/import.h"

/* The import's events have been made from `list`, and say from which of its events. O(n log n). */
void imp_derive(struct imp_import *import, const struct vs_memlist *list);

/* The place where a block of the state at the end was allocated; 0: nobody knows. */
uint32_t imp_block_location(struct imp_import *import, const struct vs_memlist *list,
                            const struct vs_mem_block *block);

#endif
