/*
 * cli/ranks.h - the traces of several ranks: those that were recorded together, and the summary over them.
 *
 * For:            the commands `report` and `record`.
 * Must not know:  what the summary says; that is replay/ranks/ranks.h.
 * Invariant:      traces of another recording are never taken for ranks of this one.
 */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include <stddef.h>

#include "base/error.h"
#include "replay/ranks/ranks.h"

/*
 * Add the trace at `path`, and those of the same recording in its folder, by `recording` of meta. Zero-initialise
 * `ranks`; release it also after a failure.
 *
 * VS_E_NOT_FOUND: it says of no recording, or is the only one of it. Other errors: those of opening it.
 */
VS_MUST_USE enum vs_status cli_ranks_find(const char *path, struct rpl_ranks *ranks,
                                          struct vs_error *err);

#endif
