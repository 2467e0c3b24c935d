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

#include <stdbool.h>

#include "base/memlist.h"
#include "store/writer.h"

/*
 * How sure one may be of what import/derive.h added. has_stacks: something said what was running; has_cpp: C++ frames did, too.
 * steps: how many; steps_by: what told them apart; alike: of a thousand allocations, how many the step before made, too (has_alike).
 */
struct imp_derived {
    bool has_stacks;
    bool has_cpp;
    bool has_alike;
    bool has_modules; /* they are told, not derived */
    uint32_t steps;
    uint32_t alike;
    const char *steps_by;
};

#define IMP_LOSSES_MAX 16

/* A range that the program noted, and that is no phase or step: where the first of this name began. event: number in the import, from 1; name: string. */
struct imp_mark {
    uint64_t event;
    uint32_t name;
};

/* Zero-initialised: nothing. losses: import/partial.h. from: of each event the number of the list's event it tells of, and one; 0: of the start. */
struct imp_import {
    struct vs_event *events;
    size_t event_count, event_cap;
    uint32_t *from;
    size_t from_count, from_cap;
    struct imp_derived derived;
    struct imp_mark *marks;
    size_t mark_count, mark_cap;
    const char **strings; /* number i has id i + 1 */
    size_t string_count, string_cap;
    struct vs_location *locations; /* likewise */
    size_t location_count, location_cap;
    struct trc_intern *intern;
    uint64_t blocks;        /* they are numbered from 1 */
    uint64_t blocks_before; /* alive when the recording began */
    uint64_t start_events;  /* the first so many events make that state */
    uint64_t capacity;      /* what could be reserved, where an out-of-memory tells; else 0 */
    uint64_t end_segments;
    uint64_t end_blocks; /* those that are free included */
    char *partial;       /* why it is not the whole; NULL: it is */
    uint64_t losses[IMP_LOSSES_MAX];
};

/*
 * Fill `out` from a list with addresses and the state at its end. Release it, also after a failure. O(events).
 *
 * VS_E_VALUE, VS_E_DAMAGED: the recording cannot have come about like this; `err` names the event.
 */
VS_MUST_USE enum vs_status imp_make(const struct vs_memlist *list, struct imp_import *out,
                                    struct vs_error *err);
void imp_release(struct imp_import *import);

/* The id of a string of the import; 0 of "". */
uint32_t imp_string(struct imp_import *import, const char *text);
/* The string of the path of a module that the recording names; 0: it names none. */
uint32_t imp_module_reported(struct imp_import *import, const struct vs_memlist *list,
                             uint32_t stack);

/*
 * Everything into a new trace, device by device (those without events are left out, unless none has any); `name` is where the lists came
 * from. The imports are of no use afterwards than to be released. Errors as those of store/writer.h.
 */
VS_MUST_USE enum vs_status imp_write(struct imp_import *imports, const struct vs_memlist *lists,
                                     size_t count, const char *name, struct sto_writer *writer,
                                     struct vs_error *err);

#endif
