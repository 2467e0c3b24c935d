/*
 * standin/runtime/calls.h - the tables of simulated functions, one for each file, and what those files share.
 *
 * For:            standin/runtime/calls.c, which searches them.
 * Must not know:  the callers.
 * Invariant:      a name is in one table, or in standin/runtime/simple.def.
 */
#ifndef STANDIN_CALLS_H
#define STANDIN_CALLS_H

#include "standin/runtime/runtime.h"

extern const struct sti_call sti_calls_device[];
extern const struct sti_call sti_calls_copy[];
extern const struct sti_call sti_calls_pool[];
extern const struct sti_call sti_calls_stream[];
extern const struct sti_call sti_calls_graph[];
extern const struct sti_call sti_calls_kernel[];
extern const struct sti_call sti_calls_driver[];
extern const struct sti_call sti_calls_driver_memory[];
extern const struct sti_call sti_calls_blas[];
extern const struct sti_call sti_calls_cudnn[];
extern const struct sti_call sti_calls_nccl[];
extern const struct sti_call sti_calls_nvml[];
extern const struct sti_call sti_calls_nvrtc[];

/* The function of standin/runtime/sizes.def with this name, or NULL. */
sti_function *sti_size_find(const char *name);
/* The name or the text of a status of the runtime or the driver. */
const char *sti_error_text(int error, bool is_name);
/* Counts bytes that a device's stream-ordered pool allocated; negative: that were freed. */
void sti_pool_count(int device, int64_t bytes);
/*
 * The function of the driver that a lookup of `name` returns: the function itself, or its later version (cuMemAlloc
 * gives cuMemAlloc_v2). NULL: not simulated.
 */
sti_function *sti_driver_find(const char *name);
/* Call `function` now, or, while `stream` is captured, at each launch of its graph: as never, because nothing runs. */
void sti_stream_run(void *stream, void (*function)(void *), void *user);

#endif
