/*
 * lang/starts.h - what the set-up of one net came to, kept: runs that set up alike begin where it ends.
 *
 * For:            who runs a net more than once with toggles (what-ifs).
 * Must not know:  traces.
 * Invariant:      a run that begins so is told, and comes to, what it would be from its beginning: the set-up sees the net, the seed, the device and
 *                 the toggles that are part of the key, and nothing else.
 */
#ifndef LANG_STARTS_H
#define LANG_STARTS_H

#include <stddef.h>

#include "base/attr.h"

struct lang_starts;

/*
 * For runs with the same library, trials, text, file name, seed and workspaces, one after the other. What the set-up prints and warns of is heard of the first
 * run alone.
 */
struct lang_starts *lang_starts_new(void) VS_MUST_USE;
void lang_starts_free(struct lang_starts *starts);

/* How many runs began with what another had set up. */
size_t lang_starts_used(const struct lang_starts *starts);

#endif
