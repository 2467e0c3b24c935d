/*
 * cli/record/record_ranks.c - see record_ranks.h.
 *
 * Must not know:  how a net is run, MPI.
 */
#include "cli/record/record_ranks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/device/plugin.h"

static char *named(const char *out, int rank)
{
    const size_t len = strlen(out);
    const bool has_ending = len > 3 && strcmp(out + len - 3, ".db") == 0;
    struct vs_text name = {NULL, 0, 0};

    vs_text_add_n(&name, out, has_ending ? len - 3 : len);
    vs_text_addf(&name, ".rank%d%s", rank, has_ending ? ".db" : "");
    return vs_text_take(&name);
}

static enum vs_status number_set(struct vs_toggles *toggles, enum vs_toggle toggle, int n,
                                 struct vs_error *err)
{
    char text[24];

    snprintf(text, sizeof(text), "%d", n);
    if (vs_toggles_is_set(toggles, toggle) && !vs_toggles_is(toggles, toggle, text))
        return vs_fail(err, VS_E_USAGE,
                       "record: mpirun has started the processes, so %s is %s; leave out --%s %s",
                       vs_toggle_info(toggle)->name, text, vs_toggle_info(toggle)->name,
                       vs_toggles_get(toggles, toggle));
    return vs_toggles_set(toggles, toggle, text, err);
}

enum vs_status cli_ranks_fill(struct cli_ranks *ranks, struct vs_toggles *toggles, char **out,
                              struct vs_error *err)
{
    const bool has_shards = vs_toggles_is(toggles, VS_TOGGLE_SHARD, "fsdp") ||
                            vs_toggles_is(toggles, VS_TOGGLE_SHARD, "zero1");
    enum vs_status st;
    char *name;

    memset(ranks, 0, sizeof(*ranks));
    if (!vs_ranks_started(&ranks->rank, &ranks->count)) {
        ranks->rank = ranks->count = 0;
        return VS_OK;
    }
    if (!has_shards && !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "ddp"))
        return vs_fail(err, VS_E_USAGE,
                       "record: mpirun has started %d process%s; say how they share the training: "
                       "--shard fsdp, zero1 or ddp",
                       ranks->count, ranks->count == 1 ? "" : "es");
    st = number_set(toggles, VS_TOGGLE_WORLD, ranks->count, err);
    if (!st && has_shards)
        st = number_set(toggles, VS_TOGGLE_RANK, ranks->rank, err);
    if (st)
        return st;
    name = named(*out, ranks->rank);
    vs_free(*out);
    *out = name;
    return VS_OK;
}

enum vs_status cli_ranks_open(struct cli_ranks *ranks, bool (*goes_on)(void), struct vs_error *err)
{
    char path[PATH_MAX + 64];
    enum vs_status st;

    if (!ranks->count)
        return VS_OK;
    if (!eng_plugin_find("mpi", path, sizeof(path)))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "mpirun has started %d processes, and this vramscope was built without Open "
                       "MPI; install libopenmpi-dev and build it again, or record one rank without "
                       "mpirun: --world %d --rank %d",
                       ranks->count, ranks->count, ranks->rank);
    st = vs_ranks_open(path, goes_on, &ranks->ranks, err);
    ranks->is_open = st == VS_OK;
    return st;
}

void cli_ranks_name(const struct cli_ranks *ranks, struct vs_error *err)
{
    if (ranks->count)
        vs_error_prefix(err, "rank %d", ranks->rank);
}

void cli_ranks_leave(struct cli_ranks *ranks, bool failed)
{
    if (ranks->is_open)
        ranks->ranks.leave(failed);
    ranks->is_open = false;
}
