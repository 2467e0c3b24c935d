/*
 * standin/runtime/ranks/exchange.h - small messages between the processes of one recorded program, by communicator and
 * rank, through files in the recorder's folder.
 *
 * For:            standin/runtime/ranks/nccl_result.c, nccl_wait.c.
 * Must not know:  NCCL's functions, what a message means.
 * Invariant:      nothing here waits.
 *
 * A communicator is a group of ranks under an id that they have in common. Each rank numbers the messages that it
 * sends to all from 1 on; under each number every rank sends one, be it without data. It reaches a number when its
 * program gets there; it sends the message when it knows the data, which may be later. Messages to one rank are
 * numbered by pair of ranks.
 */
#ifndef STANDIN_EXCHANGE_H
#define STANDIN_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/enter.h"

#define STI_ID_BYTES 128

/* How long to wait for a rank unless VRAMSCOPE_RANK_WAIT is set in the environment: PyTorch's own limit for NCCL. */
#define STI_WAIT_SECONDS 600

/* Where the files are; NULL or "": nothing is exchanged, and no group can be joined. */
STI_EXPORT void sti_exchange_open(const char *folder);
bool sti_exchange_is_open(void);

/* An id that no other call has returned, in any process. */
void sti_exchange_id(char out[STI_ID_BYTES]);

struct sti_group;

/* Join the group; NULL: its files cannot be made. After sti_group_free the others still receive what was sent. */
struct sti_group *sti_group_join(const char id[STI_ID_BYTES], int ranks, int rank);
void sti_group_free(struct sti_group *group);

/* This rank has reached message `number` to all, which is one more than that before. */
void sti_group_reach(struct sti_group *group, uint64_t number);
/*
 * Send `len` bytes to all as message `number`, which was reached and is one more than that sent before. bytes NULL:
 * without data, because it is not known.
 */
void sti_group_send(struct sti_group *group, uint64_t number, const void *bytes, size_t len);
/* Send it to `rank` alone; the number counts the messages to this rank. */
void sti_group_send_to(struct sti_group *group, int rank, uint64_t number, const void *bytes,
                       size_t len);

enum sti_arrival {
    STI_ARRIVED,   /* *out is the message, heap memory of *len bytes */
    STI_NOT_KNOWN, /* that rank sent the message without data */
    STI_NOT_YET    /* that rank has not sent it */
};

/* Receive message `number` that `rank` sent to all. Numbers of a rank must not fall: those before it are forgotten. */
enum sti_arrival sti_group_receive(struct sti_group *group, int rank, uint64_t number, char **out,
                                   size_t *len);
/* Receive message `number` that `rank` sent to this rank. */
enum sti_arrival sti_group_receive_from(struct sti_group *group, int rank, uint64_t number,
                                        char **out, size_t *len);
/* The last number that `rank` has reached, and the last one that it has sent, of the messages to all; 0: none. */
uint64_t sti_group_reached(const struct sti_group *group, int rank);
uint64_t sti_group_sent(const struct sti_group *group, int rank);
/* Has that rank's process ended? One that has not joined yet has not. */
bool sti_group_has_ended(const struct sti_group *group, int rank);

/* How long to wait for a rank at most, in seconds. */
double sti_exchange_limit(void);

#endif
