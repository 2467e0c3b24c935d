/*
 * recording/snapshot_frames.h - what a stack of a snapshot says: the op, the place in Python, whose an allocation is.
 *
 * For:            recording/snapshot.c.
 * Must not know:  events.
 * Invariant:      a stack that many events share is looked at once.
 */
#ifndef REC_SNAPSHOT_FRAMES_H
#define REC_SNAPSHOT_FRAMES_H

#include "base/recorded/memlist.h"
#include "recording/pickle.h"

/* id: of the list's stacks. op, func, file: strings of the list; cls: enum vs_mem_class. */
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
 * Zero-initialise, then set pickle and list and call _begin; likewise for another list of the same pickle. words:
 * those that begin with two letters of a kind, as bits. list_items, list_frames: how many there were before the
 * list's own.
 */
struct rec_stacks {
    struct rec_pickle *pickle;
    struct vs_memlist *list;
    uint32_t key_name, key_filename, key_line;
    uint32_t forward, module; /* the strings that tell a module's forward */
    struct rec_stack *items;  /* a stack's mark is its number here and one */
    size_t count, cap, list_items;
    struct rec_frame *frames; /* likewise of a frame, which many stacks share */
    size_t frame_count, frame_cap, list_frames;
    uint32_t words[REC_WORD_KINDS];
    uint32_t *python; /* the frames of the stack that is looked at */
    size_t python_count, python_cap;
};

void rec_stacks_begin(struct rec_stacks *stacks);
void rec_stacks_release(struct rec_stacks *stacks);
/* What `frames` says, innermost first; nothing where it is no list. Borrowed until the next call. */
const struct rec_stack *rec_stacks_get(struct rec_stacks *stacks, struct rec_value frames);

#endif
