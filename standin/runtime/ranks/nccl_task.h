/*
 * standin/runtime/ranks/nccl_task.h - collectives, messages and copies that have begun and whose result is not known
 * yet.
 *
 * For:            nccl_result.c, nccl_wait.c.
 * Must not know:  who waits for a result.
 * Invariant:      nothing here waits. What a task reads and puts, and in which order, follows from the order in which
 *                 tasks began, never from when others send: a result is the same however late it comes.
 *
 * A task begins with what is at its source. If an earlier task has still to put something there, it waits in the list
 * until that is known, and only then sends its data; so data that ranks pass on goes from task to task, and no thread
 * of the program has to wait for it. What other tasks or the host put at the source later does not matter to it.
 *
 * All functions but the lock's need the lock.
 */
#ifndef STANDIN_NCCL_TASK_H
#define STANDIN_NCCL_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/ranks/nccl_internal.h"

#define STI_NO_TASK SIZE_MAX

void sti_tasks_lock(void);
void sti_tasks_unlock(void);

/*
 * `what` begins. number: of the collective or the message. exchanged: of an exchange, as in sti_collective_exchange,
 * whose `from` is memory of the host. False: it is not known yet what it sends.
 */
bool sti_task_begin(struct sti_communicator *c, const struct sti_collective *what, uint64_t number,
                    char **exchanged);
/* Do what can be done now, in order: send, receive, put results. How many tasks are done for good. */
size_t sti_tasks_advance(void);
/* Something else is put at [at, at + len) now. */
void sti_tasks_drop(const char *at, size_t len);
/* The tasks of `c` are forgotten. */
void sti_tasks_forget(const struct sti_communicator *c);

/* The index of a task that puts something at [at, at + len) which the host would read now, or STI_NO_TASK. */
size_t sti_task_of_read(const char *at, size_t len);
/* Of a task of `c`, NULL: of any, that has not sent its data, or STI_NO_TASK. */
size_t sti_task_unsent(const struct sti_communicator *c);
/* Of the exchange into `exchanged`, or STI_NO_TASK. */
size_t sti_task_of_exchange(char *const *exchanged);
/* Sleep, without the lock, until there is a task that has not sent its data. */
void sti_tasks_sleep(void);

/* A rank that has not sent what is waited for: collective or message `number` of `c`. */
struct sti_missing {
    struct sti_communicator *c;
    int rank;
    const char *name;
    uint64_t number;
};

/* What a task waits for in the end, through the tasks before it; c NULL: for nothing any more. */
struct sti_missing sti_task_missing(size_t task);

#endif
