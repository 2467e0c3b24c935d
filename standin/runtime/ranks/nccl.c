/*
 * standin/runtime/ranks/nccl.c - NCCL: communicators, and the small values that their collectives exchange.
 *
 * Where the ranks are processes of one recorded program, each receives what the others send (nccl_result.c). A rank
 * that runs alone receives its own data in place of the others': a broadcast by rank 0 gives what this process passed
 * to one.
 */
#include <pthread.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/enter.h"
#include "standin/runtime/ranks/nccl_internal.h"
#include "standin/runtime/runtime.h"

#define PENDING_MAX 4096u
#define NCCL_REMOTE_ERROR 6

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
    char bytes[STI_ID_BYTES];
};

static int ncclGetUniqueId(struct id *out)
{
    sti_exchange_id(out->bytes);
    return STI_SUCCESS;
}

/* ---- communicators ---- */

/* A communicator of `ranks`; from now on values that processes exchange are kept. id NULL: this rank runs alone. */
static int communicator_new(struct sti_communicator **out, const char *id, int ranks, int rank)
{
    struct sti_communicator *c = vs_calloc(1, sizeof(*c));

    *out = c;
    c->ranks = ranks;
    c->rank = rank;
    sti_values_share(ranks);
    if (!id)
        return STI_SUCCESS;
    memcpy(c->id, id, sizeof(c->id));
    c->group = sti_group_join(id, ranks, rank);
    if (c->group) {
        c->sent = vs_calloc((size_t)ranks, sizeof(*c->sent));
        c->received = vs_calloc((size_t)ranks, sizeof(*c->received));
        sti_communicator_add(c);
    }
    return STI_SUCCESS;
}

static int ncclCommInitRank(struct sti_communicator **out, int ranks, struct id id, int rank)
{
    return communicator_new(out, id.bytes, ranks, rank);
}

static int ncclCommInitRankConfig(struct sti_communicator **out, int ranks, struct id id, int rank,
                                  void *config)
{
    return communicator_new(out, id.bytes, ranks, rank);
}

static int ncclCommInitRankScalable(struct sti_communicator **out, int ranks, int rank,
                                    int id_count, const struct id *ids, void *config)
{
    return communicator_new(out, id_count > 0 ? ids[0].bytes : NULL, ranks, rank);
}

static int ncclCommInitAll(struct sti_communicator **out, int ranks, const int *devices)
{
    for (int i = 0; i < ranks; i++)
        (void)communicator_new(&out[i], NULL, ranks, i);
    return STI_SUCCESS;
}

/* How many ranks the next part has; 0: not known. */
static int split_size;

void sti_next_split(int size)
{
    __atomic_store_n(&split_size, size, __ATOMIC_RELAXED);
}

/* What each rank sends for a split: its arguments. */
struct part {
    int color;
    int key;
};

/* Among the ranks of this one's color: how many there are, and how many come before it by key and rank. */
static void part_count(const struct sti_communicator *of, char *const *data, int *ranks, int *rank)
{
    struct part own;

    memcpy(&own, data[of->rank], sizeof(own));
    *ranks = *rank = 0;
    for (int i = 0; i < of->ranks; i++) {
        struct part part;

        if (!data[i])
            continue;
        memcpy(&part, data[i], sizeof(part));
        if (part.color != own.color)
            continue;
        *ranks += 1;
        *rank += part.key < own.key || (part.key == own.key && i < of->rank);
    }
}

/* The id of a part follows from that of the whole, the number of the split and the color. */
static void part_id(const struct sti_communicator *of, int color, char out[STI_ID_BYTES])
{
    const uint64_t words[2] = {vs_hash_mix(vs_hash_bytes(of->id, STI_ID_BYTES), of->number),
                               vs_hash_mix(of->number, (uint64_t)color)};

    memcpy(out, of->id, STI_ID_BYTES);
    memcpy(out, words, sizeof(words));
    for (int i = 0; i < 8; i++)
        out[8 + i] ^= of->id[i];
}

static int group_split(struct sti_communicator *of, int color, int key,
                       struct sti_communicator **out)
{
    const struct part own = {color, key};
    char **data = vs_calloc((size_t)of->ranks, sizeof(*data));
    char id[STI_ID_BYTES];
    int ranks = 0;
    int rank = 0;
    const int status = sti_collective_exchange(of, "ncclCommSplit", &own, sizeof(own), data);

    if (!status && color >= 0) {
        part_count(of, data, &ranks, &rank);
        part_id(of, color, id);
        (void)communicator_new(out, id, ranks, rank);
    }
    for (int i = 0; i < of->ranks; i++)
        vs_free(data[i]);
    vs_free(data);
    return status ? NCCL_REMOTE_ERROR : STI_SUCCESS;
}

/* color -1: this rank is in none of the parts. How many others have the same color: as they send it, as Python
 * set it, or all. */
static int ncclCommSplit(struct sti_communicator *of, int color, int key,
                         struct sti_communicator **out, void *config)
{
    const int size = __atomic_exchange_n(&split_size, 0, __ATOMIC_RELAXED);

    *out = NULL;
    if (of->group)
        return group_split(of, color, key, out);
    return color < 0 ? STI_SUCCESS : communicator_new(out, NULL, size > 0 ? size : of->ranks, key);
}

static int ncclCommDestroy(struct sti_communicator *c)
{
    if (c->group) {
        sti_communicator_remove(c);
        return STI_SUCCESS; /* a thread may wait for its ranks still: it stays */
    }
    vs_free(c->given);
    vs_free(c->pending);
    vs_free(c);
    return STI_SUCCESS;
}

static int ncclCommCount(const struct sti_communicator *c, int *ranks)
{
    *ranks = c->ranks;
    return STI_SUCCESS;
}

static int ncclCommUserRank(const struct sti_communicator *c, int *rank)
{
    *rank = c->rank;
    return STI_SUCCESS;
}

static int ncclCommCuDevice(const struct sti_communicator *c, int *device)
{
    *device = sti_device();
    return STI_SUCCESS;
}

static int ncclCommGetAsyncError(const struct sti_communicator *c, int *error)
{
    *error = STI_SUCCESS;
    return STI_SUCCESS;
}

/* ---- a rank that runs alone ---- */

/* Data of sti_send_for_others that has not been received yet. */
struct sent_data {
    char *bytes;
    size_t len;
    int is_message;
};

static struct {
    pthread_mutex_t lock;
    struct sent_data *sent;
    size_t count, cap;
} others = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sti_send_for_others(const void *bytes, size_t len, int is_message)
{
    pthread_mutex_lock(&others.lock);
    if (bytes) {
        others.sent = vs_grow(others.sent, others.count, &others.cap, sizeof(*others.sent));
        others.sent[others.count++] = (struct sent_data){vs_strndup(bytes, len), len, is_message};
    }
    while (!bytes && others.count)
        vs_free(others.sent[--others.count].bytes);
    pthread_mutex_unlock(&others.lock);
}

/* Copy the next data of another rank to `to`, at most `bytes`; false: there is none. */
static bool others_put(void *to, size_t bytes, int is_message)
{
    struct sent_data sent = {NULL, 0, 0};
    bool is_there;
    size_t i = 0;

    pthread_mutex_lock(&others.lock);
    while (i < others.count && others.sent[i].is_message != is_message)
        i++;
    if (i < others.count) {
        sent = others.sent[i];
        others.count--;
        memmove(others.sent + i, others.sent + i + 1, (others.count - i) * sizeof(*others.sent));
    }
    pthread_mutex_unlock(&others.lock);
    if (sent.bytes)
        sti_values_put(to, sent.bytes, sent.len < bytes ? sent.len : bytes);
    is_there = sent.bytes != NULL;
    vs_free(sent.bytes);
    return is_there;
}

static void given_set(struct sti_communicator *c, char *given, size_t bytes)
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

static int alone_broadcast(struct sti_communicator *c, const void *from, void *to, size_t bytes,
                           int root)
{
    char *given;

    if (!bytes || bytes > sti_values_limit() || (root != c->rank && others_put(to, bytes, 0)))
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
    } else if (is_known(to, bytes)) {
        return STI_SUCCESS;
    }
    if (c->given && c->given_len == bytes)
        sti_values_put(to, c->given, bytes);
    return STI_SUCCESS;
}

/* The others have what this one has. */
static int alone_gather(struct sti_communicator *c, const void *from, void *to, size_t bytes)
{
    const size_t ranks = (size_t)c->ranks;
    const size_t limit = sti_values_limit();
    char *all;

    if (!bytes || bytes > limit || ranks > limit / bytes)
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

/* ---- collectives ---- */

static int begin(struct sti_communicator *c, struct sti_collective what)
{
    sti_collective_begin(c, &what);
    return STI_SUCCESS;
}

static int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
                         struct sti_communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type);

    sti_collective_count("ncclBroadcast", root == c->rank ? bytes : 0);
    return c->group ? begin(c, (struct sti_collective){.kind = STI_BROADCAST,
                                                       .name = "ncclBroadcast",
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = bytes,
                                                       .root = root})
                    : alone_broadcast(c, from, to, bytes, root);
}

static int ncclBcast(void *buffer, size_t count, int type, int root, struct sti_communicator *c,
                     void *stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, c, stream);
}

static int ncclAllGather(const void *from, void *to, size_t count, int type,
                         struct sti_communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type);

    sti_collective_count("ncclAllGather", bytes);
    return c->group ? begin(c, (struct sti_collective){.kind = STI_ALL_GATHER,
                                                       .name = "ncclAllGather",
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = bytes})
                    : alone_gather(c, from, to, bytes);
}

static int ncclGather(const void *from, void *to, size_t count, int type, int root,
                      struct sti_communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type);

    sti_collective_count("ncclGather", bytes);
    if (c->group)
        return begin(c, (struct sti_collective){.kind = STI_GATHER,
                                                .name = "ncclGather",
                                                .from = from,
                                                .to = root == c->rank ? to : NULL,
                                                .bytes = bytes,
                                                .root = root});
    return root == c->rank ? alone_gather(c, from, to, bytes) : STI_SUCCESS;
}

static int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                         struct sti_communicator *c, void *stream)
{
    sti_collective_count("ncclAllReduce", count * element_bytes(type));
    return c->group ? begin(c, (struct sti_collective){.kind = STI_ALL_REDUCE,
                                                       .name = "ncclAllReduce",
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = count * element_bytes(type),
                                                       .count = count,
                                                       .type = type,
                                                       .operation = operation})
                    : STI_SUCCESS;
}

static int ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root,
                      struct sti_communicator *c, void *stream)
{
    sti_collective_count("ncclReduce", count * element_bytes(type));
    return c->group ? begin(c, (struct sti_collective){.kind = STI_REDUCE,
                                                       .name = "ncclReduce",
                                                       .from = from,
                                                       .to = root == c->rank ? to : NULL,
                                                       .bytes = count * element_bytes(type),
                                                       .count = count,
                                                       .type = type,
                                                       .operation = operation,
                                                       .root = root})
                    : STI_SUCCESS;
}

static int ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation,
                             struct sti_communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type) * (size_t)c->ranks;

    sti_collective_count("ncclReduceScatter", bytes);
    return c->group ? begin(c, (struct sti_collective){.kind = STI_REDUCE_SCATTER,
                                                       .name = "ncclReduceScatter",
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = bytes,
                                                       .count = count,
                                                       .type = type,
                                                       .operation = operation})
                    : STI_SUCCESS;
}

static int ncclAlltoAll(const void *from, void *to, size_t count, int type,
                        struct sti_communicator *c, void *stream)
{
    const size_t bytes = count * element_bytes(type) * (size_t)c->ranks;

    sti_collective_count("ncclAlltoAll", bytes);
    return c->group ? begin(c, (struct sti_collective){.kind = STI_ALL_TO_ALL,
                                                       .name = "ncclAlltoAll",
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = bytes})
                    : STI_SUCCESS;
}

static int ncclSend(const void *from, size_t count, int type, int peer, struct sti_communicator *c,
                    void *stream)
{
    sti_collective_count("ncclSend", count * element_bytes(type));
    if (c->group && peer >= 0 && peer < c->ranks)
        sti_message_send(c, from, count * element_bytes(type), peer);
    return STI_SUCCESS;
}

static int ncclRecv(void *to, size_t count, int type, int peer, struct sti_communicator *c,
                    void *stream)
{
    const size_t bytes = count * element_bytes(type);

    sti_collective_count("ncclRecv", bytes);
    if (!c->group)
        (void)others_put(to, bytes, 1);
    else if (peer >= 0 && peer < c->ranks)
        return begin(
            c,
            (struct sti_collective){
                .kind = STI_RECEIVE, .name = "ncclRecv", .to = to, .bytes = bytes, .root = peer});
    return STI_SUCCESS;
}

/* ---- what is computed on the host, too ---- */

int sti_value_at(const void *address, void *out, size_t len)
{
    sti_results_settle(address, len);
    return sti_values_get(address, out, len);
}

void sti_value_set(const void *address, const void *bytes, size_t len)
{
    sti_results_drop(address, len);
    sti_values_put(address, bytes, len);
}

/* ---- other functions ---- */

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

static int ncclCommRegister(const struct sti_communicator *c, void *buffer, size_t size,
                            void **handle)
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
    STI_CALL(ncclGather),
    STI_CALL(ncclAllReduce),
    STI_CALL(ncclReduce),
    STI_CALL(ncclReduceScatter),
    STI_CALL(ncclAlltoAll),
    STI_CALL(ncclSend),
    STI_CALL(ncclRecv),
    {"ncclCommAbort", (sti_function *)ncclCommDestroy},
    STI_CALL(ncclMemAlloc),
    STI_CALL(ncclMemFree),
    STI_CALL(ncclRedOpCreatePreMulSum),
    STI_CALL(ncclCommRegister),
    STI_CALLS_END,
};
