/*
 * lang/run/inplace_checks.h - what the in-place trials of one net came to: found out once, for many runs of it.
 *
 * For:            who runs a net more than once with toggles (what-ifs).
 * Must not know:  machines.
 * Invariant:      what is known is what a trial would find again: it depends on the net, the seed and the toggles that
 *                 a trial gets, and on nothing else.
 */
#ifndef LANG_TRIALS_H
#define LANG_TRIALS_H

#include <stddef.h>

#include "base/attr.h"

struct lang_inplace_checks;

/* For runs with the same text, file name and seed, one after the other. */
struct lang_inplace_checks *lang_inplace_checks_new(void) VS_MUST_USE;
void lang_inplace_checks_free(struct lang_inplace_checks *trials);

/* How many trials were run for it. */
size_t lang_inplace_checks_count(const struct lang_inplace_checks *trials);

#endif
