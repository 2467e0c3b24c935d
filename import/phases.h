/*
 * import/phases.h - the phase of each event of a recording, from what was running.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      every event has a phase; the order of events decides nothing that a stack says.
 *
 * What a stack leaves open (code of the user's own outside of all modules, or no frames at all) is told by the ranges the program noted
 * itself, else by what ran before and what runs next. docs/formats/import.md has the table.
 */
#ifndef IMP_PHASES_H
#define IMP_PHASES_H

#include "base/event.h"
#include "base/recorded/memlist.h"
#include "import/roles.h"

/*
 * phases      of each event of the list, an enum vs_phase
 * step_ends   an optimizer's step that the program noted ended right before this event, or before the one after the last
 * has_stacks  some event says what was running; else every phase is `setup`
 * has_free_stacks  frees say who freed; else they repeat the allocation's stack, and do not count
 * has_forward, has_backward, has_optimizer  such a phase was seen
 */
struct imp_phases {
    uint8_t *phases;
    bool *step_ends;
    bool has_stacks;
    bool has_free_stacks;
    bool has_forward, has_backward, has_optimizer;
};

/* Release it. O(events + notes). */
void imp_phases_fill(struct imp_phases *out, const struct vs_memlist *list,
                     const struct imp_roles *roles);
void imp_phases_release(struct imp_phases *phases);

/* The phase that a range of this name is; VS_PHASE_COUNT: none. is_step: it is one whole optimizer's step. */
enum vs_phase imp_phase_of_note(const char *name, bool *is_step);

#endif
