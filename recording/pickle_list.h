/*
 * recording/pickle_list.h - lists that are written the same share their items.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  the machine.
 * Invariant:      a list that shares has exactly as many items as there is room for.
 */
#ifndef REC_PICKLE_LIST_H
#define REC_PICKLE_LIST_H

#include "recording/pickle_internal.h"
#include "recording/pickle_opcode.h"

/*
 * Fill the empty list v with what its GETs say, from `b` (behind its MARK) to its APPENDS, if there is nothing else and `end` is not near; memo numbers are
 * those below memo_count. How many bytes that were, the APPENDS included; 0: nothing was done.
 */
size_t rec_list_take(struct rec_pickle *p, struct rec_value v, size_t memo_count,
                     const unsigned char *b, const unsigned char *end);

#endif
