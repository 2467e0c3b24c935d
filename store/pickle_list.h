/*
 * store/pickle_list.h - lists that are written the same share their items.
 *
 * For:            store/pickle*.c only.
 * Must not know:  the machine.
 * Invariant:      a list that shares has exactly as many items as there is room for.
 */
#ifndef STO_PICKLE_LIST_H
#define STO_PICKLE_LIST_H

#include "store/pickle_internal.h"
#include "store/pickle_opcode.h"

/*
 * Fill the empty list v with what its GETs say, from `b` (behind its MARK) to its APPENDS, if there is nothing else and `end` is not near; memo numbers are
 * those below memo_count. How many bytes that were, the APPENDS included; 0: nothing was done.
 */
size_t sto_list_take(struct sto_pickle *p, struct sto_value v, size_t memo_count,
                     const unsigned char *b, const unsigned char *end);

#endif
