/*
 * recording/snapshot_frames.h - what a call stack of a snapshot tells: op, Python location, class of an allocation.
 *
 * For:            recording/snapshot.c.
 * Must not know:  events.
 * Invariant:      a stack shared by many events is analysed once.
 */
#ifndef REC_SNAPSHOT_FRAMES_H
#define REC_SNAPSHOT_FRAMES_H

#include "base/recorded/memlist.h"
#include "recording/pickle.h"
#include "recording/snapshot_python.h"

/* id: index in the list's stacks. op, func, file: strings of the list; cls: enum vs_mem_class. */
struct rec_stack {
    uint32_t id;
    uint32_t op;
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint8_t cls;
};

struct rec_frame;
#define REC_WORD_KINDS 256

/*
 * Zero-initialise, set pickle and list and call rec_stacks_begin(); repeat this for another list of the same pickle.
 * words: bit set of the C++ name words that begin with a given pair of letters. list_items, list_frames: numbers of
 * items and frames before those of the current list.
 */
struct rec_stacks {
    struct rec_pickle *pickle;
    struct vs_memlist *list;
    uint32_t key_name, key_filename, key_line;
    struct rec_python_names names;
    struct rec_stack *items; /* by mark - 1 of the stack's value */
    size_t count, cap, list_items;
    struct rec_frame *frames; /* by mark - 1 of the frame's value; shared by many stacks */
    size_t frame_count, frame_cap, list_frames;
    uint32_t words[REC_WORD_KINDS];
    uint32_t *python; /* frames of the current stack */
    size_t python_count, python_cap;
};

void rec_stacks_begin(struct rec_stacks *stacks);
void rec_stacks_release(struct rec_stacks *stacks);
/* Analyse `frames` (innermost first); an empty result if it is not a list. Borrowed until the next call. */
const struct rec_stack *rec_stacks_get(struct rec_stacks *stacks, struct rec_value frames);

#endif
