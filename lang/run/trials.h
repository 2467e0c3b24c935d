/*
 * lang/run/trials.h - what the in-place trials of one net came to: found out once, for many runs of it.
 *
 * For:            who runs a net more than once with toggles (what-ifs).
 * Must not know:  machines.
 * Invariant:      what is known is what a trial would find again: it depends on the net, the seed and the toggles that a trial is told of, and on
 *                 nothing else.
 */
#ifndef LANG_TRIALS_H
#define LANG_TRIALS_H

#include <stddef.h>

#include "base/attr.h"

struct lang_trials;

/* For runs with the same text, file name and seed, one after the other. */
struct lang_trials *lang_trials_new(void) VS_MUST_USE;
void lang_trials_free(struct lang_trials *trials);

/* How many trials were run for it. */
size_t lang_trials_count(const struct lang_trials *trials);

#endif
