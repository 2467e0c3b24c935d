/*
 * engine/moment.h - what the tensors, their memory and their history are like at a moment, so that two moments can be compared; and the
 * events between two like moments told once more.
 *
 * For:            lang/moment.c: a training step that begins as the one before it began runs as that one ran.
 * Must not know:  the net language.
 * Invariant:      where two moments are equal, whatever the engine is asked to do after the one has the same effects after the other, but for
 *                 numbers of blocks, tensors and nodes, addresses, and values that nobody can look at.
 */
#ifndef ENG_MOMENT_H
#define ENG_MOMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/engine.h"
#include "engine/tensor.h"

/*
 * Events and tensors that the observer was told so far, in order; *count is of either. Strings and places by their ids, NULL where there are not so many; these
 * two may be missing. All borrowed until it is told the next.
 *
 * room   where the next `count` events may be written, instead of being told; none of them is a step. Until an event is told, or asked for again
 * add    so many of them have been written
 */
struct eng_told {
    void *user;
    struct vs_event *(*room)(void *user, uint64_t count);
    void (*add)(void *user, uint64_t count);
    const struct vs_event *(*events)(void *user, uint64_t *count);
    const struct vs_tensor_desc *(*tensors)(void *user, uint64_t *count);
    const char *(*string)(void *user, uint32_t id);
    const struct vs_place *(*place)(void *user, uint32_t id);
};

struct eng_moment;

/* Of a context that runs nothing just now. NULL: it is in the midst of something, or has what cannot be compared. */
struct eng_moment *eng_moment_new(struct eng *e, const struct eng_told *told) VS_MUST_USE;
void eng_moment_free(struct eng_moment *m);

/* One word more that belongs to it. What a moment begins with is here so that this costs nothing; there are tens of thousands. */
struct eng_words {
    uint64_t *of;
    size_t count;
    size_t cap;
};
void eng_moment_put_more(struct eng_moment *m, uint64_t word);
static inline void eng_moment_put(struct eng_moment *m, uint64_t word)
{
    struct eng_words *words = (struct eng_words *)(void *)m;

    if (words->count < words->cap)
        words->of[words->count++] = word;
    else
        eng_moment_put_more(m, word);
}
/* The number of a thing by its address, from 1 in the order in which they are met. *is_new: it had none. */
uint32_t eng_moment_number(struct eng_moment *m, const void *thing, bool *is_new);
/* The number of a tensor; what it is like belongs to the moment, too. NULL: 0. */
uint32_t eng_moment_tensor(struct eng_moment *m, struct eng_tensor *t);
/* All tensors have been named. False: there is one that cannot be compared. */
VS_MUST_USE bool eng_moment_close(struct eng_moment *m);

VS_MUST_USE bool eng_moment_equal(const struct eng_moment *a, const struct eng_moment *b);

/* How many events had been told; and what was counted. */
uint64_t eng_moment_events(const struct eng_moment *m);

/*
 * The events between two equal moments, `from` and the later `to`, once more: the allocator is asked for the same, everything else has other
 * numbers. Possible: nothing among them is of another kind than that.
 *
 * eng_repeat_begin   from now on nothing else may be asked of the context than this, and to be freed
 * eng_repeat_events  those after the first `first` up to the first `last` of them; a `step` event gets the number `step`
 * eng_repeat_end     all have been told: *from is the moment that *to was, *to the one that would be now
 */
VS_MUST_USE bool eng_repeat_possible(const struct eng_moment *from, const struct eng_moment *to);
void eng_repeat_begin(struct eng_moment *from, struct eng_moment *to);
void eng_repeat_events(struct eng_moment *from, struct eng_moment *to, int64_t step, uint64_t first,
                       uint64_t last);
void eng_repeat_end(struct eng_moment *from, struct eng_moment *to);

#endif
