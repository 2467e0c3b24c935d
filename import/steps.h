/*
 * import/steps.h - finds the training steps of a recording.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      steps are consecutive; events before the first step are the set-up, step -1.
 */
#ifndef IMP_STEPS_H
#define IMP_STEPS_H

#include "base/recorded/memlist.h"
#include "import/phases.h"

/* How steps are found; the first method that applies is used. */
enum imp_steps_by {
    IMP_STEPS_NOT_FOUND,
    IMP_STEPS_PROFILER,  /* annotations of the program: ProfilerStep#N */
    IMP_STEPS_OPTIMIZER, /* ends of optimizer steps */
    IMP_STEPS_BACKWARD,  /* gradient computations, if there is no optimizer */
    IMP_STEPS_CALLS,     /* calls of the model from the same line */
    IMP_STEPS_REPETITION /* repeated sequences of requests */
};

/* "not found", "profiler", … */
const char *imp_steps_by_name(enum imp_steps_by by);

/*
 * steps  for each event of the list; -1: the set-up
 * count  number of steps without the set-up
 * alike  how many of 1000 allocations of the steps after the first the previous step made too, from the same stack;
 *        only valid with at least two steps
 */
struct imp_steps {
    int32_t *steps;
    uint32_t count;
    enum imp_steps_by by;
    bool has_alike;
    uint32_t alike;
};

/*
 * calls: for each event, whether the line that called the outermost module first calls it again (import/modules.h). The
 * caller releases `out`. O(n log n) in the events.
 */
void imp_steps_fill(struct imp_steps *out, const struct vs_memlist *list,
                    const struct imp_phases *phases, const bool *calls);
void imp_steps_release(struct imp_steps *steps);

#endif
