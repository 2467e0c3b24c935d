/*
 * import/import.h - struct imp_import: a recording while it is converted to a trace.
 *
 * For:            all files of import/, and their callers.
 * Must not know:  how it is filled (importing.h, partial.h, derive.h) and written (writing.h).
 * Invariant:      a string and a location have one id each, in the order of their first use.
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
 * How reliable the data added by import/derive.c are. has_stacks: the phases come from stacks; has_cpp: C++ frames were
 * recorded too. steps: number of steps; steps_by: how they were found; alike: how many of 1000 allocations the previous
 * step made too (valid if has_alike).
 */
struct imp_derived {
    bool has_stacks;
    bool has_cpp;
    bool has_alike;
    bool has_modules; /* the recording names the modules; they are not derived */
    uint32_t steps;
    uint32_t alike;
    const char *steps_by;
};

#define IMP_LOSSES_MAX 16

/*
 * The first range with a given name that the program annotated, except phases and steps. event: number in the import,
 * from 1; name: id of a string.
 */
struct imp_mark {
    uint64_t event;
    uint32_t name;
};

/* A frame of a call stack that events have. func: id of a string, "train.py:step"; depth: 0 is the innermost. */
struct imp_frame {
    uint32_t stack;
    uint32_t depth;
    uint32_t func;
    uint32_t line;
};

/*
 * Zero-initialised: empty. losses: counts per enum imp_loss of import/partial.h. from: for each event, the number of
 * the list's event that it was made from, from 1; 0: of the state at the start.
 */
struct imp_import {
    struct vs_event *events;
    size_t event_count, event_cap;
    uint32_t *from;
    size_t from_count, from_cap;
    struct imp_derived derived;
    struct imp_mark *marks;
    size_t mark_count, mark_cap;
    const char **strings; /* strings[i] has id i + 1 */
    size_t string_count, string_cap;
    struct vs_location *locations; /* by id - 1 */
    size_t location_count, location_cap;
    struct vs_tensor_desc *tensors; /* by id - 1 */
    size_t tensor_count, tensor_cap;
    /* once phases and steps are added: of each event its call stack in the list, or 0 */
    uint32_t *stacks;
    uint32_t *start_stacks;   /* of the first start_events events; NULL: none has one */
    struct imp_frame *frames; /* of all these stacks */
    size_t frame_count, frame_cap;
    uint64_t *recomputed; /* by step: ops that checkpoints ran again, as PyTorch counts them */
    size_t recomputed_count, recomputed_cap;
    struct trc_intern *intern;
    uint64_t blocks;        /* number of blocks; block ids are 1 … blocks */
    uint64_t blocks_before; /* pre-existing blocks */
    uint64_t start_events;  /* the first events, which create the state at the start */
    uint64_t
        capacity; /* capacity of the device for PyTorch, if an out-of-memory event contains it; else 0 */
    uint64_t end_segments;
    uint64_t end_blocks; /* including free blocks */
    char *partial;       /* why the import is incomplete; NULL: it is complete */
    uint64_t losses[IMP_LOSSES_MAX];
};

void imp_release(struct imp_import *import);

/* Return the id of a string, adding it if it is new; 0 for "". */
uint32_t imp_string(struct imp_import *import, const char *text);
/* Return the id of a module path, which may be "". */
uint32_t imp_path_string(struct imp_import *import, const char *path);
/* The string of the module path that the recording names for a stack; 0: it names none. */
uint32_t imp_module_reported(struct imp_import *import, const struct vs_memlist *list,
                             uint32_t stack);

#endif
