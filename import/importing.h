/*
 * import/importing.h - converts a recording of PyTorch's allocator on a GPU to a trace.
 *
 * For:            `vramscope import`.
 * Must not know:  how recordings are read: see recording/memlist.h.
 * Invariant:      nothing is guessed: the recording is replayed on the reimplemented allocator and refused if the two
 *                 differ in an event or in the state at the end. import/partial.h handles refused recordings.
 *
 * A recording begins in the middle of a program. The state at its start is computed by undoing its events. This state
 * comes first in the trace, as segments and allocations of the set-up (step -1); the recorded events are step 0. A free
 * that waits for another stream counts from its request, as in torch.cuda.memory_allocated().
 */
#ifndef IMP_IMPORTING_H
#define IMP_IMPORTING_H

#include "base/error.h"
#include "import/import.h"

/*
 * Fill `out` from a list with addresses and the state at its end. The caller releases it, also after a failure.
 * O(events).
 *
 * VS_E_VALUE, VS_E_DAMAGED: the allocator cannot have produced this recording; `err` names the event.
 */
VS_MUST_USE enum vs_status imp_make(const struct vs_memlist *list, struct imp_import *out,
                                    struct vs_error *err);

#endif
