/*
 * ranks/ranks.h - the other processes of a training that is run for real, or of a sweep, by mpirun.
 *
 * For:            `vramscope record` and `sweep`, and what runs a net.
 * Must not know:  nets, tensors, MPI: the functions come from a plug-in, ranks/mpi/.
 * Invariant:      all processes call the same functions in the same order, with the same sizes; but post and take.
 */
#ifndef VS_RANKS_H
#define VS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * rank     this process, from 0; count: of how many
 * gather   all: `bytes` of each process, in the order of ranks; this one's are there when it is called
 * reduce_scatter  all: `elems` floats for each process; own: the sums, over all processes, of those for this one
 * all_reduce      data becomes the sum over all processes
 * broadcast       data becomes that of rank `root`
 * post     of another rank: `bytes` for rank 0, which may take them later
 * take     of rank 0: what another one has posted, the same `bytes`; *taken: whether there was anything. Does not wait
 * leave    ends the connection; where this process failed, the others are ended, too, and it does not return
 *
 * Each waits for the other processes. VS_E_STOPPED: goes_on of vs_ranks_open returned false meanwhile; VS_E_IO: they
 * cannot be reached; VS_E_UNSUPPORTED: more than 2 GiB at once.
 */
struct vs_ranks {
    int rank;
    int count;
    VS_MUST_USE enum vs_status (*gather)(void *all, size_t bytes, struct vs_error *err);
    VS_MUST_USE enum vs_status (*reduce_scatter)(const float *all, float *own, size_t elems,
                                                 struct vs_error *err);
    VS_MUST_USE enum vs_status (*all_reduce)(float *data, size_t elems, struct vs_error *err);
    VS_MUST_USE enum vs_status (*broadcast)(void *data, size_t bytes, int root,
                                            struct vs_error *err);
    VS_MUST_USE enum vs_status (*post)(const void *data, size_t bytes, struct vs_error *err);
    VS_MUST_USE enum vs_status (*take)(void *data, size_t bytes, bool *taken, struct vs_error *err);
    void (*leave)(bool failed);
};

/* What a plug-in shows, as `vs_ranks_plugin`. version: VS_RANKS_VERSION of its build. */
#define VS_RANKS_VERSION 3
struct vs_ranks_plugin {
    uint32_t version;
    enum vs_status (*open)(bool (*goes_on)(void), struct vs_ranks *out, struct vs_error *err);
};

/* Whether Open MPI's mpirun has started this process; which one it is, and of how many. */
bool vs_ranks_started(int *rank, int *count);

/*
 * Meet the other processes. path: of the plug-in; goes_on: polled while this one waits. VS_E_UNSUPPORTED: the plug-in
 * cannot be used, and why. At most once in a process.
 */
VS_MUST_USE enum vs_status vs_ranks_open(const char *path, bool (*goes_on)(void),
                                         struct vs_ranks *out, struct vs_error *err);

#endif
