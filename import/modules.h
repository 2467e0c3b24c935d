/*
 * import/modules.h - which module was running at each event of a recording, as a path, from the Python frames.
 *
 * For:            import/derive.c; steps.c needs to know when the model is called again.
 * Must not know:  blocks, the trace.
 * Invariant:      a path is that of the stack at this event alone, but for the numbers of calls.
 *
 * A frame has neither class nor attribute: only function, file, line. So a part of a path is the file of the called forward and the
 * line that called it: "transformer_block:47". Where a line calls more than once during one run of its function (a loop over layers), the
 * number of the call follows, from 0: "transformer_block:47.2". A call is a new one where its forward is back at the first line it was seen at, or
 * another module's is called from that line. Two calls that never differ in a line are taken for one.
 */
#ifndef IMP_MODULES_H
#define IMP_MODULES_H

#include <stdbool.h>

#include "import/import.h"
#include "import/roles.h"

/*
 * paths: of each event of the list, a string of the import; 0: no module. are_told: the stacks name them, as those of an exported trace do; none is
 * derived then. calls: see imp_steps_fill.
 */
struct imp_modules {
    uint32_t *paths;
    bool are_told;
    bool *calls;
};

/* has_free_stacks: see struct imp_phases. Release it. O(frames of all stacks + events * depth). */
void imp_modules_fill(struct imp_modules *out, struct imp_import *import,
                      const struct vs_memlist *list, const struct imp_roles *roles,
                      bool has_free_stacks);
void imp_modules_release(struct imp_modules *modules);

#endif
