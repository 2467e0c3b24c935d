/*
 * import/modules.h - determines from the Python frames which module was running at each event of a recording, as a
 * path.
 *
 * For:            import/derive.c; steps.c uses the calls of the model.
 * Must not know:  blocks, the trace.
 * Invariant:      a path depends only on the stack of its event, except for call numbers.
 *
 * A frame contains neither class nor attribute, only function, file and line. So a component of a path is the file of
 * the called forward and the line that called it: "transformer_block:47". If a line calls several times during one run
 * of its function (a loop over layers), the number of the call is appended, from 0: "transformer_block:47.2". A call is
 * considered new if its forward is back at the first line at which it was seen, or if that line calls another module.
 * Two consecutive calls with identical lines cannot be distinguished.
 */
#ifndef IMP_MODULES_H
#define IMP_MODULES_H

#include <stdbool.h>

#include "import/import.h"
#include "import/roles.h"

/*
 * paths: for each event of the list, a string id of the import; 0: no module. is_recorded: the stacks name the modules,
 * as in an exported trace, and none are derived. calls: see imp_steps_fill().
 */
struct imp_modules {
    uint32_t *paths;
    bool is_recorded;
    bool *calls;
};

/* has_free_stacks: see struct imp_phases. The caller releases `out`. O(frames of all stacks + events * depth). */
void imp_modules_fill(struct imp_modules *out, struct imp_import *import,
                      const struct vs_memlist *list, const struct imp_roles *roles,
                      bool has_free_stacks);
void imp_modules_release(struct imp_modules *modules);

#endif
