/*
 * import/backward.h - which module's forward made the node that backward runs, where C++ frames name the nodes.
 *
 * For:            import/derive.c.
 * Must not know:  blocks, the trace.
 * Invariant:      only events of the engine that have no module of their own get one: that of an op of the forward.
 *
 * Autograd runs nodes in the opposite order of the ops that made them. So the ops of the forward are a tape, and each node's is the nearest one
 * from its end that its name fits; what lies behind that has been passed. A node whose op is not found (one that allocated nothing) belongs to
 * where the tape is.
 */
#ifndef IMP_BACKWARD_H
#define IMP_BACKWARD_H

#include "import/modules.h"
#include "import/phases.h"

/* Fills modules->paths. O(events * the 96 allocations it looks back). */
void imp_backward_fill(struct imp_modules *modules, const struct vs_memlist *list,
                       const struct imp_roles *roles, const struct imp_phases *phases);

/* May the node `node` (as "AddmmBackward0") come of the op `op` (as "linear")? */
bool imp_backward_fits(const char *node, const char *op);

#endif
