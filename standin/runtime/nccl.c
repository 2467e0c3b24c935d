/*
 * standin/runtime/nccl.c - NCCL: a communicator is a handle, and nobody is on the other side.
 *
 * What the others would say is what this process said: a broadcast by rank 0 is what this process gave as one.
 */
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/enter.h"
#include "standin/runtime/runtime.h"

#define SHARED_BYTES_MAX 65536u
#define PENDING_MAX 4096u

/*
 * given    to its last broadcast of its own; NULL: nothing
 * pending  where broadcasts of others since then went: a gather may be a broadcast by each rank in turn, and what the
 *          others give is what this one gives
 */
struct communicator {
    int ranks;
    int rank;
    char *given;
    size_t given_len;
    void **pending;
    size_t pending_count, pending_cap;
};

static size_t element_bytes(int type)
{
    static const unsigned char SIZES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

    return type >= 0 && type < (int)sizeof(SIZES) ? SIZES[type] : 1;
}

static int ncclGetVersion(int *version)
{
    *version = sti_versions()->nccl;
    return STI_SUCCESS;
}

static const char *ncclGetErrorString(int status)
{
    return status ? "refused by vramscope's stand-in for a GPU" : "no error";
}

static const char *ncclGetLastError(void *c)
{
    return "";
}

struct id {
    char bytes[128];
};

static int ncclGetUniqueId(struct id *out)
{
    memset(out, 0x56, sizeof(*out));
    return STI_SUCCESS;
}

/* A communicator of `ranks`; from now on what processes tell each other is kept. */
static int communicator_new(struct communicator **out, int ranks, int rank)
{
    *out = vs_calloc(1, sizeof(**out));
    (*out)->ranks = ranks;
    (*out)->rank = rank;
    sti_values_share(ranks);
    return STI_SUCCESS;
}

static int ncclCommInitRank(struct communicator **out, int ranks, struct id id, int rank)
{
    return communicator_new(out, ranks, rank);
}

static int ncclCommInitRankConfig(struct communicator **out, int ranks, struct id id, int rank,
                                  void *config)
{
    return communicator_new(out, ranks, rank);
}

static int ncclCommInitRankScalable(struct communicator **out, int ranks, int rank, int id_count,
                                    void *ids, void *config)
{
    return communicator_new(out, ranks, rank);
}

static int ncclCommInitAll(struct communicator **out, int ranks, const int *devices)
{
    for (int i = 0; i < ranks; i++)
        (void)communicator_new(&out[i], ranks, i);
    return STI_SUCCESS;
}

/* How many ranks the next part has; 0: not known. */
static int split_size;

void sti_next_split(int size)
{
    __atomic_store_n(&split_size, size, __ATOMIC_RELAXED);
}

/* color -1: this rank is in none of the parts. How many others have the color is what was said, or all. */
static int ncclCommSplit(const struct communicator *of, int color, int key,
                         struct communicator **out, void *config)
{
    const int size = __atomic_exchange_n(&split_size, 0, __ATOMIC_RELAXED);

    *out = NULL;
    return color < 0 ? STI_SUCCESS : communicator_new(out, size > 0 ? size : of->ranks, key);
}

static int ncclCommDestroy(struct communicator *c)
{
    vs_free(c->given);
    vs_free(c->pending);
    vs_free(c);
    return STI_SUCCESS;
}

static int ncclCommCount(const struct communicator *c, int *ranks)
{
    *ranks = c->ranks;
    return STI_SUCCESS;
}

static int ncclCommUserRank(const struct communicator *c, int *rank)
{
    *rank = c->rank;
    return STI_SUCCESS;
}

static int ncclCommCuDevice(const struct communicator *c, int *device)
{
    *device = sti_device();
    return STI_SUCCESS;
}

static int ncclCommGetAsyncError(const struct communicator *c, int *error)
{
    *error = STI_SUCCESS;
    return STI_SUCCESS;
}

static void given_set(struct communicator *c, char *given, size_t bytes)
{
    for (size_t i = 0; i < c->pending_count; i++)
        sti_values_put(c->pending[i], given, bytes);
    c->pending_count = 0;
    vs_free(c->given);
    c->given = given;
    c->given_len = bytes;
}

/* What this rank has there already it has from its own copy: the others have the same. */
static bool is_known(const void *address, size_t bytes)
{
    char *copy = vs_alloc(bytes + 1);
    const bool is_known = sti_values_get(address, copy, bytes);

    vs_free(copy);
    return is_known;
}

static int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                         struct communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type);
    char *given;

    if (bytes > SHARED_BYTES_MAX)
        return STI_SUCCESS;
    if (root != c->rank && c->pending_count < PENDING_MAX) {
        c->pending = vs_grow(c->pending, c->pending_count, &c->pending_cap, sizeof(*c->pending));
        c->pending[c->pending_count++] = to;
    }
    if (root == c->rank) {
        given = vs_alloc(bytes + 1);
        if (sti_values_get(from, given, bytes))
            given_set(c, given, bytes);
        else
            vs_free(given);
    } else if (is_known(to, bytes))
        return STI_SUCCESS;
    if (c->given && c->given_len == bytes)
        sti_values_put(to, c->given, bytes);
    return STI_SUCCESS;
}

static int ncclBcast(void *buffer, size_t count, int type, int root, struct communicator *c,
                     void *stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, c, stream);
}

/* The others have what this one has. */
static int ncclAllGather(const void *from, void *to, size_t count, int type, struct communicator *c,
                         void *stream)
{
    const size_t bytes = count * element_bytes(type);
    const size_t ranks = (size_t)c->ranks;
    char *all;

    if (!bytes || bytes > SHARED_BYTES_MAX || ranks > SHARED_BYTES_MAX / bytes)
        return STI_SUCCESS;
    all = vs_alloc(bytes * ranks);
    if (sti_values_get(from, all, bytes)) {
        for (size_t i = 1; i < ranks; i++)
            memcpy(all + i * bytes, all, bytes);
        sti_values_put(to, all, bytes * ranks);
    }
    vs_free(all);
    return STI_SUCCESS;
}

static int ncclMemAlloc(void **out, size_t size)
{
    return sti_memory_take(sti_device(), size, out) ? 1 : STI_SUCCESS;
}

static int ncclMemFree(void *address)
{
    return sti_memory_give(address) ? 1 : STI_SUCCESS;
}

static int ncclRedOpCreatePreMulSum(int *operation, void *scalar, int type, int residence, void *c)
{
    *operation = 5;
    return STI_SUCCESS;
}

static int ncclCommRegister(const struct communicator *c, void *buffer, size_t size, void **handle)
{
    *handle = sti_handle();
    return STI_SUCCESS;
}

const struct sti_call sti_calls_nccl[] = {
    STI_CALL(ncclGetVersion),
    STI_CALL(ncclGetErrorString),
    STI_CALL(ncclGetLastError),
    STI_CALL(ncclGetUniqueId),
    STI_CALL(ncclCommInitRank),
    STI_CALL(ncclCommInitRankConfig),
    STI_CALL(ncclCommInitRankScalable),
    STI_CALL(ncclCommInitAll),
    STI_CALL(ncclCommSplit),
    STI_CALL(ncclCommDestroy),
    STI_CALL(ncclCommCount),
    STI_CALL(ncclCommUserRank),
    STI_CALL(ncclCommCuDevice),
    STI_CALL(ncclCommGetAsyncError),
    STI_CALL(ncclBroadcast),
    STI_CALL(ncclBcast),
    STI_CALL(ncclAllGather),
    STI_CALL(ncclMemAlloc),
    STI_CALL(ncclMemFree),
    STI_CALL(ncclRedOpCreatePreMulSum),
    STI_CALL(ncclCommRegister),
    STI_CALLS_END,
};
