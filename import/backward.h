/*
 * import/backward.h - assigns backward events to modules, if C++ frames name the autograd nodes.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      only events of autograd's engine that have no module get one: the module of the forward op that
 *                 created the node.
 *
 * Autograd runs nodes in the opposite order of the ops that created them. So the forward ops are recorded on a tape,
 * and a node belongs to the op nearest to the tape's current end whose name fits; the tape then ends there. A node
 * whose op is not found (because it allocated nothing) is assigned to the op at the current end of the tape.
 */
#ifndef IMP_BACKWARD_H
#define IMP_BACKWARD_H

#include "import/modules.h"
#include "import/phases.h"

/* Fill modules->paths. O(events * TAPE_SEARCH_MAX). */
void imp_backward_fill(struct imp_modules *modules, const struct vs_memlist *list,
                       const struct imp_roles *roles, const struct imp_phases *phases);

/* Whether the node `node` (such as "AddmmBackward0") can belong to the op `op` (such as "linear"). */
bool imp_backward_fits(const char *node, const char *op);

#endif
