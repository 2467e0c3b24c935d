/*
 * standin/runtime/ranks/nccl_internal.h - communicators, collectives and messages.
 *
 * For:            nccl.c, nccl_result.c, nccl_task.c, nccl_wait.c, nccl_count.c.
 * Must not know:  files (exchange.h).
 * Invariant:      a collective, a message or a copy itself never waits for another rank; the host does, when it reads
 *                 a result or waits for the device.
 */
#ifndef STANDIN_NCCL_INTERNAL_H
#define STANDIN_NCCL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/ranks/exchange.h"

/*
 * A communicator.
 *
 * group     its ranks, each in a process; NULL: this rank runs alone, and receives its own data from the others
 * last      the function of its last collective; number: of that; sent, received: of its last message to and from each
 *           rank
 * waited    up to which number all ranks are known to have got
 * is_lost   one of its ranks has ended or is late: nobody waits for it any more
 * given     nobody there: what this rank gave to its last broadcast of its own; NULL: nothing
 * pending   nobody there: where broadcasts of others since then went: a gather may be a broadcast by each rank in turn,
 *           and what the others give is what this one gives
 */
struct sti_communicator {
    char id[STI_ID_BYTES];
    int ranks;
    int rank;
    struct sti_group *group;
    const char *last;
    uint64_t number;
    uint64_t *sent;
    uint64_t *received;
    bool is_lost;
    char *given;
    size_t given_len;
    void **pending;
    size_t pending_count, pending_cap;
    uint64_t waited;
    struct sti_communicator *next;
};

enum sti_result_kind {
    STI_ALL_REDUCE,
    STI_REDUCE,
    STI_BROADCAST,
    STI_ALL_GATHER,
    STI_GATHER,
    STI_REDUCE_SCATTER,
    STI_ALL_TO_ALL,
    STI_EXCHANGE, /* all get what all have, on the host */
    STI_SEND,
    STI_RECEIVE,
    STI_COPY /* within the device; it has no communicator */
};

/*
 * A collective or a message of a communicator with a group, or a copy.
 *
 * name       of NCCL's function
 * from, to   its buffers; bytes: of what one rank has in `from` (a receive: in `to`)
 * count, type, operation   elements of NCCL's types; of a reduction
 * root       the rank that gives or gets; of a message the other one
 */
struct sti_collective {
    enum sti_result_kind kind;
    const char *name;
    const void *from;
    void *to;
    size_t bytes;
    size_t count;
    int type;
    int operation;
    int root;
};

/* This rank begins it. */
void sti_collective_begin(struct sti_communicator *c, const struct sti_collective *collective);
/* A message of `bytes` at `from` to one rank. */
void sti_message_send(struct sti_communicator *c, const void *from, size_t bytes, int to);

/*
 * One more call of the collective or message `name`, a constant text, for which this rank gave (a receive: gets) so
 * many bytes. sti_collectives (enter.h) has the sums.
 */
void sti_collective_count(const char *name, size_t bytes);

/* A communicator with a group. */
void sti_communicator_add(struct sti_communicator *c);
/* It is no more: once this rank has sent all that it began to. */
void sti_communicator_remove(struct sti_communicator *c);

/*
 * Send `own` to all and receive theirs: bytes[rank] of `len` each, heap memory, NULL where it is not known. Waits.
 * Returns STI_SUCCESS, or the status of a rank that is not there.
 */
int sti_collective_exchange(struct sti_communicator *c, const char *name, const void *own,
                            size_t len, char **bytes);

/* out[i] = out[i] OPERATION more[i], elements of NCCL's `type`; false: this type or operation is not known. */
bool sti_reduce(void *out, const void *more, size_t count, int type, int operation, int ranks);

#endif
