/*
 * standin/runtime/ranks/nccl_wait.h - the host waits for other ranks.
 *
 * For:            nccl_result.c.
 * Must not know:  what is waited for.
 * Invariant:      nobody waits longer than the limit of exchange.h, nor for a process that has ended.
 */
#ifndef STANDIN_NCCL_WAIT_H
#define STANDIN_NCCL_WAIT_H

#include "standin/runtime/ranks/nccl_task.h"

/* Is what is waited for there? If not, who is missing. Called with the lock of the tasks. */
typedef bool sti_done_fn(void *user, struct sti_missing *missing);

/*
 * Work on all tasks until it is there. A rank that is not is reported, and nobody waits for its communicator any more.
 * Returns STI_SUCCESS, or STI_LAUNCH_TIMEOUT if that was so. Without the lock.
 */
int sti_wait(sti_done_fn *is_done, void *user);

/*
 * From now on a thread works on the tasks that have not sent their data, so that other ranks get it whatever this
 * rank's own threads do meanwhile. Without the lock.
 */
void sti_wait_in_thread(void);

#endif
