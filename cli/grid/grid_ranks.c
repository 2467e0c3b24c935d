/*
 * cli/grid/grid_ranks.c - see grid_ranks.h.
 *
 * Must not know:  MPI, how a configuration is run.
 */
#include "cli/grid/grid_ranks.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "engine/device/plugin.h"

/* What is sent; all processes are of one build. */
struct message {
    uint64_t config;
    struct sto_result result;
};

enum vs_status cli_grid_ranks_open(struct cli_grid_ranks *ranks, bool (*goes_on)(void),
                                   struct vs_error *err)
{
    char path[PATH_MAX + 64];
    enum vs_status st;

    if (!vs_ranks_started(&ranks->rank, &ranks->count) || ranks->count == 1) {
        ranks->rank = 0;
        ranks->count = 1;
        return VS_OK;
    }
    if (!eng_plugin_find("mpi", path, sizeof(path)))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "mpirun has started %d processes, and this vramscope was built without Open "
                       "MPI; install libopenmpi-dev and build it again, or leave out mpirun",
                       ranks->count);
    st = vs_ranks_open(path, goes_on, &ranks->ranks, err);
    ranks->is_open = st == VS_OK;
    return st;
}

enum vs_status cli_grid_ranks_agree(struct cli_grid_ranks *ranks, bool *known, size_t count,
                                    struct vs_error *err)
{
    return ranks->is_open ? ranks->ranks.broadcast(known, count * sizeof(*known), 0, err) : VS_OK;
}

size_t cli_grid_share(size_t *items, size_t count, int rank, int processes)
{
    uint64_t random = 1;
    size_t own = 0;

    if (processes == 1)
        return count;
    for (size_t i = count; i > 1; i--) {
        size_t at, item = items[i - 1];

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at = (size_t)((random >> 33) % i);
        items[i - 1] = items[at];
        items[at] = item;
    }
    for (size_t i = (size_t)rank; i < count; i += (size_t)processes)
        items[own++] = items[i];
    return own;
}

enum vs_status cli_grid_ranks_post(struct cli_grid_ranks *ranks, size_t config,
                                   const struct sto_result *result, struct vs_error *err)
{
    struct message message;

    memset(&message, 0, sizeof(message));
    message.config = config;
    message.result = *result;
    return ranks->ranks.post(&message, sizeof(message), err);
}

enum vs_status cli_grid_ranks_take(struct cli_grid_ranks *ranks, size_t *config,
                                   struct sto_result *result, bool *taken, struct vs_error *err)
{
    struct message message;
    enum vs_status st = VS_OK;

    *taken = false;
    if (ranks->is_open)
        st = ranks->ranks.take(&message, sizeof(message), taken, err);
    if (st || !*taken)
        return st;
    *config = (size_t)message.config;
    *result = message.result;
    return VS_OK;
}

enum vs_status cli_grid_ranks_end(struct cli_grid_ranks *ranks, struct vs_error *err)
{
    bool is_done = true;

    return cli_grid_ranks_agree(ranks, &is_done, 1, err);
}

void cli_grid_ranks_name(const struct cli_grid_ranks *ranks, struct vs_error *err)
{
    if (ranks->count > 1)
        vs_error_prefix(err, "rank %d", ranks->rank);
}

void cli_grid_ranks_leave(struct cli_grid_ranks *ranks, bool failed)
{
    if (ranks->is_open)
        ranks->ranks.leave(failed);
    ranks->is_open = false;
}
