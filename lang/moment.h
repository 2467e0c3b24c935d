/*
 * lang/moment.h - everything a net's next step can depend on, as words that can be compared.
 *
 * For:            lang/run_repeat.c.
 * Must not know:  steps, events.
 * Invariant:      what is equal goes on equally. Anything that is not known for sure to be so makes a moment that is equal to none.
 */
#ifndef LANG_MOMENT_H
#define LANG_MOMENT_H

#include "engine/moment.h"
#include "lang/object.h"

struct lang_vm;

/*
 * What of the machine may differ: it is the caller's to know that nothing depends on it.
 *
 * frame       the innermost one: the loop's
 * above       values on the stack from here on, and the iterator of the loop that runs (the topmost one below)
 * counter     a name of the frame that counts
 * optimizer   an instance whose `state` has a count of steps for each tensor, under the key "step". Where anything but a frame holds it, the
 *             moment is equal to none. None: there is none
 */
struct lang_moment_ask {
    const struct lang_value *above;
    const struct lang_string *counter;
    struct lang_value optimizer;
};

/* The caller's. NULL: equal to none. */
struct eng_moment *lang_moment_new(struct lang_vm *vm, const struct eng_told *told,
                                   const struct lang_moment_ask *ask) VS_MUST_USE;

#endif
