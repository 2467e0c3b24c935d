/*
 * cli/grid/grid_ranks.h - a sweep that mpirun has started as several processes: each runs its share, rank 0 keeps the
 * results.
 *
 * For:            cli/grid/cmd_sweep.c.
 * Must not know:  MPI, how a configuration is run.
 * Invariant:      without mpirun there is one process, rank 0 of 1, and nothing is sent.
 */
#ifndef CLI_GRID_RANKS_H
#define CLI_GRID_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "ranks/ranks.h"
#include "store/sweep/results.h"

/* Zero-initialise. */
struct cli_grid_ranks {
    int rank;
    int count;
    bool is_open;
    struct vs_ranks ranks;
};

/* Find out whether mpirun has started this process. goes_on: polled while this one waits. VS_E_UNSUPPORTED: no MPI. */
VS_MUST_USE enum vs_status cli_grid_ranks_open(struct cli_grid_ranks *ranks, bool (*goes_on)(void),
                                               struct vs_error *err);
/* known[0] to known[count - 1] become those of rank 0. */
VS_MUST_USE enum vs_status cli_grid_ranks_agree(struct cli_grid_ranks *ranks, bool *known,
                                                size_t count, struct vs_error *err);
/*
 * Put the items that process `rank` of `processes` runs first, and return how many. All processes call it with the same
 * items, each of which is one process's; they are mixed, because those beside each other take different times.
 */
size_t cli_grid_share(size_t *items, size_t count, int rank, int processes);
/* Send a result to rank 0. */
VS_MUST_USE enum vs_status cli_grid_ranks_post(struct cli_grid_ranks *ranks, size_t config,
                                               const struct sto_result *result,
                                               struct vs_error *err);
/* In rank 0: a result that another one has sent; *taken: whether there is one. Does not wait. */
VS_MUST_USE enum vs_status cli_grid_ranks_take(struct cli_grid_ranks *ranks, size_t *config,
                                               struct sto_result *result, bool *taken,
                                               struct vs_error *err);
/* Wait until rank 0 has all results. */
VS_MUST_USE enum vs_status cli_grid_ranks_end(struct cli_grid_ranks *ranks, struct vs_error *err);
/* Where mpirun has started several processes, put the rank of this one before the text. */
void cli_grid_ranks_name(const struct cli_grid_ranks *ranks, struct vs_error *err);
/* As vs_ranks.leave. */
void cli_grid_ranks_leave(struct cli_grid_ranks *ranks, bool failed);

#endif
