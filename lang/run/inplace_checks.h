/*
 * lang/run/inplace_checks.h - results of the in-place checks of one net, shared by several runs of it.
 *
 * For:            what-if analysis, which runs a net many times with different toggles.
 * Must not know:  lang_vm.
 * Invariant:      a stored result equals the one that a new check would give: it depends only on the net, the seed and
 *                 the toggles that a check is given.
 *
 * A check runs the net once on meta with some modules set to work in place, and finds out whether PyTorch would accept
 * that (toggle `inplace`).
 */
#ifndef LANG_INPLACE_CHECKS_H
#define LANG_INPLACE_CHECKS_H

#include <stddef.h>

#include "base/attr.h"

struct lang_inplace_checks;

/*
 * An empty set of results, for runs with the same text, file name and seed. Not thread-safe. The caller frees it.
 */
struct lang_inplace_checks *lang_inplace_checks_new(void) VS_MUST_USE;
void lang_inplace_checks_free(struct lang_inplace_checks *checks);

/* The number of results it holds, which is the number of checks that were run. */
size_t lang_inplace_checks_count(const struct lang_inplace_checks *checks);

#endif
