/*
 * import/import.h - struct imp_import: a recording on its way to becoming a trace.
 *
 * For:            all files of import/, and who calls them.
 * Must not know:  how it is filled (importing.h, partial.h, derive.h) and written (writing.h).
 * Invariant:      a string and a place have one id each, in the order in which they were first needed.
 */
#ifndef IMP_IMPORT_H
#define IMP_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/recorded/memlist.h"

struct trc_intern;

/*
 * How sure one may be of what import/derive.h added. has_stacks: stacks said what was running; has_cpp: C++ frames did,
 * too. steps: how many; steps_by: what separates them; alike: of a thousand allocations, how many the step before made,
 * too (has_alike).
 */
struct imp_derived {
    bool has_stacks;
    bool has_cpp;
    bool has_alike;
    bool has_modules; /* the recording names them; they are not derived */
    uint32_t steps;
    uint32_t alike;
    const char *steps_by;
};

#define IMP_LOSSES_MAX 16

/*
 * A range that the program noted, and that is no phase or step: where the first of this name began. event: number in the
 * import, from 1; name: string.
 */
struct imp_mark {
    uint64_t event;
    uint32_t name;
};

/*
 * Zero-initialised: empty. losses: how many of each enum imp_loss of import/partial.h. from: of each event the number of
 * the list's event that it was made of, from 1; 0: of the state at the start.
 */
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
    uint64_t capacity;      /* what could be reserved, where an out-of-memory says so; else 0 */
    uint64_t end_segments;
    uint64_t end_blocks; /* those that are free included */
    char *partial;       /* why it is not the whole; NULL: it is */
    uint64_t losses[IMP_LOSSES_MAX];
};

void imp_release(struct imp_import *import);

/* The id of a string of the import; 0 of "". */
uint32_t imp_string(struct imp_import *import, const char *text);
/* The string of the path of a module that the recording names; 0: it names none. */
uint32_t imp_module_reported(struct imp_import *import, const struct vs_memlist *list,
                             uint32_t stack);

#endif
