/*
 * import/steps.h - where the training steps of a recording begin.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      steps lie end to end; what is before the first is the setup, -1.
 */
#ifndef IMP_STEPS_H
#define IMP_STEPS_H

#include "base/recorded/memlist.h"
#include "import/phases.h"

/* What tells one step from the next; the first that applies is taken. */
enum imp_steps_by {
    IMP_STEPS_NOT_FOUND,
    IMP_STEPS_PROFILER,  /* the program noted them: ProfilerStep#N */
    IMP_STEPS_OPTIMIZER, /* a step of the optimizer ended */
    IMP_STEPS_BACKWARD,  /* gradients were computed, and no optimizer was seen */
    IMP_STEPS_CALLS,     /* the same line calls the model again */
    IMP_STEPS_REPETITION /* the same requests come again */
};

/* "not found", "profiler", … */
const char *imp_steps_by_name(enum imp_steps_by by);

/*
 * steps  of each event of the list, -1 the setup
 * count  of steps, without the setup
 * alike  of a thousand allocations of the steps after the first, how many the step before made, too, from the same stack;
 *        only where there are two steps
 */
struct imp_steps {
    int32_t *steps;
    uint32_t count;
    enum imp_steps_by by;
    bool has_alike;
    uint32_t alike;
};

/*
 * calls: of each event, whether the line that called the outermost module first calls it again there (import/modules.h). Release it.
 * O(n log n) in the events.
 */
void imp_steps_fill(struct imp_steps *out, const struct vs_memlist *list,
                    const struct imp_phases *phases, const bool *calls);
void imp_steps_release(struct imp_steps *steps);

#endif
