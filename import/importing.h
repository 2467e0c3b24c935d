/*
 * import/importing.h - makes a trace of what PyTorch recorded on a real GPU.
 *
 * For:            `vramscope import`.
 * Must not know:  how recordings are read; recording/memlist.h.
 * Invariant:      nothing is guessed: the recording is run through the allocator, and where the two differ in an event or in the state at
 *                 the end, it is refused. What can be kept then, import/partial.h says.
 *
 * A recording begins in the middle of a program. What was there already is found by undoing its events; it comes first in the trace, as
 * segments and allocations of the setup (step -1). Its own events are step 0. A free that waits for another stream counts when it is
 * requested, as in torch.cuda.memory_allocated().
 */
#ifndef IMP_IMPORTING_H
#define IMP_IMPORTING_H

#include "base/error.h"
#include "import/import.h"

/*
 * Fill `out` from a list with addresses and the state at its end. Release it, also after a failure. O(events).
 *
 * VS_E_VALUE, VS_E_DAMAGED: the recording cannot have come about like this; `err` names the event.
 */
VS_MUST_USE enum vs_status imp_make(const struct vs_memlist *list, struct imp_import *out,
                                    struct vs_error *err);

#endif
