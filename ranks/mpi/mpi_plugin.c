/*
 * ranks/mpi/mpi_plugin.c - ranks/ranks.h over MPI: a library that is loaded where mpirun has started the program.
 *
 * For:            ranks/ranks.c, by its name vs_ranks_plugin.
 * Must not know:  nets, tensors.
 * Invariant:      between open and leave no call blocks in MPI: each is begun and then tested, so that a signal can end
 *                 the wait.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "ranks/ranks.h"

#define SHOWN __attribute__((visibility("default")))
#define TESTS_BEFORE_SLEEP 2000
#define SLEEP_NS 50000
#define POSTED 1 /* the tag of what is posted */

/* The plug-in is opened once, and its functions get no context, as those of CUDA's plug-in. */
static struct {
    bool (*goes_on)(void);
    int rank;
    int count;
} world;

static enum vs_status failed(int code, struct vs_error *err)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    MPI_Error_string(code, why, &len);
    return vs_fail(err, VS_E_IO, "the other processes of the training cannot be reached: %s", why);
}

/*
 * Wait until the request is done. code: what beginning it has returned. Where this is stopped the request stays open:
 * MPI can neither cancel a collective operation nor free one that is active. After that nothing of MPI is called but
 * MPI_Abort, so that nothing is written to its buffers any more.
 */
static enum vs_status finish(int code, MPI_Request *request, struct vs_error *err)
{
    const struct timespec pause = {.tv_nsec = SLEEP_NS};
    int is_done = 0;

    for (unsigned tests = 0; code == MPI_SUCCESS; tests++) {
        code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && is_done)
            return VS_OK;
        if (code == MPI_SUCCESS && !world.goes_on())
            return vs_fail(err, VS_E_STOPPED, "stopped while it waited for the other processes");
        if (tests > TESTS_BEFORE_SLEEP)
            nanosleep(&pause, NULL);
    }
    return failed(code, err);
}

static enum vs_status fits(size_t count, struct vs_error *err)
{
    if (count <= INT_MAX)
        return VS_OK;
    return vs_fail(err, VS_E_UNSUPPORTED,
                   "%zu elements cannot be sent at once; use smaller units: --shard-units", count);
}

static enum vs_status gather(void *data, size_t bytes, struct vs_error *err)
{
    MPI_Request request;
    enum vs_status st = fits(bytes, err);

    return st ? st
              : finish(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, data, (int)bytes, MPI_BYTE,
                                      MPI_COMM_WORLD, &request),
                       &request, err);
}

static enum vs_status reduce_scatter(const float *given, float *own, size_t elems,
                                     struct vs_error *err)
{
    MPI_Request request;
    enum vs_status st = fits(elems, err);

    return st ? st
              : finish(MPI_Ireduce_scatter_block(given, own, (int)elems, MPI_FLOAT, MPI_SUM,
                                                 MPI_COMM_WORLD, &request),
                       &request, err);
}

static enum vs_status all_reduce(float *data, size_t elems, struct vs_error *err)
{
    MPI_Request request;
    enum vs_status st = fits(elems, err);

    return st ? st
              : finish(MPI_Iallreduce(MPI_IN_PLACE, data, (int)elems, MPI_FLOAT, MPI_SUM,
                                      MPI_COMM_WORLD, &request),
                       &request, err);
}

static enum vs_status broadcast(void *data, size_t bytes, int root, struct vs_error *err)
{
    MPI_Request request;
    enum vs_status st = fits(bytes, err);

    return st ? st
              : finish(MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request),
                       &request, err);
}

static enum vs_status post(const void *data, size_t bytes, struct vs_error *err)
{
    MPI_Request request;
    enum vs_status st = fits(bytes, err);

    return st ? st
              : finish(MPI_Isend(data, (int)bytes, MPI_BYTE, 0, POSTED, MPI_COMM_WORLD, &request),
                       &request, err);
}

static enum vs_status take(void *data, size_t bytes, bool *taken, struct vs_error *err)
{
    MPI_Request request;
    MPI_Status from;
    int is_there = 0;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, POSTED, MPI_COMM_WORLD, &is_there, &from);

    *taken = false;
    if (code != MPI_SUCCESS)
        return failed(code, err);
    if (!is_there)
        return VS_OK;
    *taken = true;
    return finish(
        MPI_Irecv(data, (int)bytes, MPI_BYTE, from.MPI_SOURCE, POSTED, MPI_COMM_WORLD, &request),
        &request, err);
}

static void leave(bool has_failed)
{
    if (!has_failed)
        MPI_Finalize();
    else if (world.goes_on()) /* else mpirun is ending all of them already */
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static enum vs_status open(bool (*goes_on)(void), struct vs_ranks *out, struct vs_error *err)
{
    int code = MPI_Init(NULL, NULL);

    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(MPI_COMM_WORLD, &world.count);
    if (code != MPI_SUCCESS)
        return failed(code, err);
    world.goes_on = goes_on;
    *out = (struct vs_ranks){.rank = world.rank,
                             .count = world.count,
                             .gather = gather,
                             .reduce_scatter = reduce_scatter,
                             .all_reduce = all_reduce,
                             .broadcast = broadcast,
                             .post = post,
                             .take = take,
                             .leave = leave};
    return VS_OK;
}

SHOWN const struct vs_ranks_plugin vs_ranks_plugin = {.version = VS_RANKS_VERSION, .open = open};
