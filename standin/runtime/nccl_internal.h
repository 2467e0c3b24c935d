/*
 * standin/runtime/nccl_internal.h - communicators, and results of collectives that are worked out when the host looks.
 *
 * For:            nccl.c, nccl_result.c, nccl_count.c.
 * Must not know:  files (exchange.h).
 * Invariant:      a collective itself never waits for another rank.
 */
#ifndef STANDIN_NCCL_INTERNAL_H
#define STANDIN_NCCL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/exchange.h"

/*
 * A communicator.
 *
 * group     its ranks, each in a process; NULL: this rank runs alone, and receives its own data from the others
 * last      the function of its last collective; number: of that; sent, received: of its last message to and from each
 *           rank
 * waited    up to which number all ranks are known to have got; users: threads that wait for them
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
    int users;
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
    STI_RECEIVE
};

/*
 * A collective of a communicator with a group.
 *
 * name       of NCCL's function
 * from, to   its buffers; bytes: of what one rank has in `from` (a receive: in `to`)
 * count, type, operation   elements of NCCL's types; of a reduction
 * root       the rank that gives or gets; of a receive, the one that sends
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

/* Say what this rank has, and remember where the result goes. */
void sti_collective_begin(struct sti_communicator *c, const struct sti_collective *collective);
/* A message of `bytes` at `from` to one rank. */
void sti_message_send(struct sti_communicator *c, const void *from, size_t bytes, int to);

/*
 * One more call of the collective or message `name`, a constant text, for which this rank gave (a receive: gets) so
 * many bytes. sti_collectives (enter.h) has the sums.
 */
void sti_collective_count(const char *name, size_t bytes);

/* Communicators with a group, and that it is no more. */
void sti_communicator_add(struct sti_communicator *c);
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
