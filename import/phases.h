/*
 * import/phases.h - determines the phase of each event of a recording.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      every event has a phase; the order of events matters only where stacks are inconclusive.
 *
 * If a stack is inconclusive (user code outside of all modules, or no frames), the phase follows from the ranges that
 * the program annotated, otherwise from what ran before and after. docs/formats/import.md contains the table.
 */
#ifndef IMP_PHASES_H
#define IMP_PHASES_H

#include "base/event.h"
#include "base/recorded/memlist.h"
#include "import/roles.h"

/*
 * phases      for each event of the list, an enum vs_phase
 * step_ends   an annotated optimizer step ended before this event and after the previous one; one more element for the
 *             end
 * has_stacks  some event has a conclusive stack; otherwise every phase is `setup`
 * has_free_stacks  frees have stacks of their own; otherwise they repeat the allocation's stack and are ignored
 * has_forward, has_backward, has_optimizer  such a phase occurs
 */
struct imp_phases {
    uint8_t *phases;
    bool *step_ends;
    bool has_stacks;
    bool has_free_stacks;
    bool has_forward, has_backward, has_optimizer;
};

/* The caller releases `out`. O(events + notes). */
void imp_phases_fill(struct imp_phases *out, const struct vs_memlist *list,
                     const struct imp_roles *roles);
void imp_phases_release(struct imp_phases *phases);

/* The phase that a range of this name marks; VS_PHASE_COUNT: none. is_step: it is one whole optimizer step. */
enum vs_phase imp_phase_of_note(const char *name, bool *is_step);

#endif
