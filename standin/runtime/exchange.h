/*
 * standin/runtime/exchange.h - what the processes of one recorded program say to each other: small messages, by
 * communicator and rank, through files in the recorder's folder.
 *
 * For:            standin/runtime/nccl.c, nccl_result.c.
 * Must not know:  NCCL's functions, what a message means.
 * Invariant:      to say something never waits; to hear waits no longer than the limit, and not for a process that has
 *                 ended.
 *
 * A communicator is a group of ranks under an id that they have in common. Each rank numbers what it says to all from 1
 * on; every rank says something under each number, if only that it got there. What is said to one rank is numbered by
 * pair of ranks.
 */
#ifndef STANDIN_EXCHANGE_H
#define STANDIN_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/enter.h"

#define STI_ID_BYTES 128

/* How long to wait for a rank unless the environment's VRAMSCOPE_RANK_WAIT says so: PyTorch's own limit for NCCL. */
#define STI_WAIT_SECONDS 600

/* Where the files are; NULL or "": nobody is heard, and no group can be joined. */
STI_EXPORT void sti_exchange_open(const char *folder);
bool sti_exchange_is_open(void);

/* An id that no other call has returned, in any process. */
void sti_exchange_id(char out[STI_ID_BYTES]);

struct sti_group;

/* Join the group; NULL: its files cannot be made. After sti_group_free the others still hear what was said. */
struct sti_group *sti_group_join(const char id[STI_ID_BYTES], int ranks, int rank);
void sti_group_free(struct sti_group *group);

/*
 * Say `len` bytes as message `number`, which is one more than that before, to all. bytes NULL: this rank got here, and
 * what it has is not known.
 */
void sti_group_say(struct sti_group *group, uint64_t number, const void *bytes, size_t len);
/* Say it to `rank` alone; the number counts what was said to this rank. */
void sti_group_say_to(struct sti_group *group, int rank, uint64_t number, const void *bytes,
                      size_t len);

enum sti_heard {
    STI_HEARD,      /* *out is what was said, heap memory of *len bytes */
    STI_NOT_KNOWN,  /* that rank got there, and does not know */
    STI_NOT_YET,    /* that rank has not got there; only where nobody waits */
    STI_RANK_ENDED, /* that rank's process has ended */
    STI_RANK_LATE   /* that rank has not got there within the limit */
};

/* Hear message `number` of `rank` to all. With `wait`: until it is said. Numbers of a rank must not fall. */
enum sti_heard sti_group_hear(struct sti_group *group, int rank, uint64_t number, bool wait,
                              char **out, size_t *len);
/* Hear message `number` of `rank` to this rank. */
enum sti_heard sti_group_hear_from(struct sti_group *group, int rank, uint64_t number, bool wait,
                                   char **out, size_t *len);
/* Has `rank` got to message `number`? Never STI_HEARD. */
enum sti_heard sti_group_reached(struct sti_group *group, int rank, uint64_t number, bool wait);

/* What it waits at most, in seconds. */
double sti_exchange_limit(void);

#endif
