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

enum told_how { TOLD_NOT, TOLD_AGAIN };

/* What runs of one net may share. */
struct told_kept {
    struct lang_library *library;
    struct lang_trials *trials;
    struct lang_starts *starts;
};

/* Returns whether some of it was told again. Refusals are in `err`, and nothing more is said of them. `kept`: NULL, or what is shared. */
bool told_run(const struct facts_net *net, const char *pairs, enum told_how how,
              const struct told_kept *kept, struct rpl_trace *trace, struct lang_result *result,
              struct vs_error *err);

/* Fails unless two runs came to the same. */
void told_same(const char *what, const struct lang_result *a, const struct lang_result *b);

#endif
