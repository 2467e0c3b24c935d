/*
 * cli/record/record_ranks.h - a recording of a net that mpirun has started as several processes.
 *
 * For:            `vramscope record`.
 * Must not know:  how a net is run, MPI.
 * Invariant:      without mpirun everything is as it was given.
 */
#ifndef CLI_RECORD_RANKS_H
#define CLI_RECORD_RANKS_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "ranks/ranks.h"

/*
 * count    processes that mpirun has started; 0: none; rank: which of them this one is
 * is_open  `ranks` can be called
 */
struct cli_ranks {
    int rank;
    int count;
    bool is_open;
    struct vs_ranks ranks;
};

/*
 * Find out whether mpirun has started this process. Then `toggles` gets the world and the rank, and *out, heap memory
 * that is replaced, the rank: trace.db becomes trace.rank2.db. VS_E_USAGE: the toggles do not say how the processes
 * share the training, or of how many.
 */
VS_MUST_USE enum vs_status cli_ranks_fill(struct cli_ranks *ranks, struct vs_toggles *toggles,
                                          char **out, struct vs_error *err);
/* Meet the others. goes_on: as of vs_ranks_open. VS_E_UNSUPPORTED: there is no plug-in, or it cannot be used. */
VS_MUST_USE enum vs_status cli_ranks_open(struct cli_ranks *ranks, bool (*goes_on)(void),
                                          struct vs_error *err);
/* Say which rank an error is of. */
void cli_ranks_name(const struct cli_ranks *ranks, struct vs_error *err);
/* Last of all: part from the others; failed: they are ended, too, and this process with them. */
void cli_ranks_leave(struct cli_ranks *ranks, bool failed);

#endif
