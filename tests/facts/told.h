/*
 * tests/facts/told.h - a run on `meta`, into a trace in memory, with what was told at hand or without.
 *
 * For:            test_repeat.c, test_starts.c.
 * Must not know:  which runs are compared.
 * Invariant:      nothing of it is kept, but for what `kept` keeps.
 */
#ifndef TESTS_FACTS_TOLD_H
#define TESTS_FACTS_TOLD_H

#include <stdbool.h>

#include "base/error.h"
#include "lang/run.h"
#include "replay/trace.h"
#include "tests/facts/facts.h"

/* What runs of one net may share. */
struct told_kept {
    struct lang_library *library;
    struct lang_trials *trials;
    struct lang_starts *starts;
};

/*
 * Runs a net with what was told at hand, sharing what is in `kept` (NULL: nothing), and without. Fails unless both come to the same, or are refused alike.
 * `how` names the former in what is said then. Returns whether some of it was told again.
 */
bool told_as_plain(const struct facts_net *net, const char *pairs, const struct told_kept *kept,
                   const char *how);

#endif
