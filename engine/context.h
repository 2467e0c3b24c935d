/*
 * engine/context.h - creating and releasing the context of one training run.
 *
 * For:            lang/run, tests. The functions that use a context are in engine/core/engine.h.
 * Must not know:  the net language.
 */
#ifndef ENG_CONTEXT_H
#define ENG_CONTEXT_H

#include "engine/core/engine.h"

struct eng_device;
struct eng_kernels;

/*
 * kernels     the device's kernels (eng_kernels_cpu()), or NULL for `meta`: shapes and lifetimes only
 * device      a real device (engine/device/plugin.h) with its kernels and its driver's memory; `kernels` is ignored.
 *             NULL: memory is simulated. Borrowed; must outlive the context
 * observer    receives all events, or NULL; must outlive the context. No event follows an `oom` event
 * capacity    bytes of the device; 0: unlimited
 * alloc_conf  PyTorch's syntax ("expandable_segments:True"), or NULL
 * seed        of all random numbers
 * segment_addresses   addresses of the first segments (segment_count of them), as in a recorded run; later ones are
 *             chosen by the simulated driver. Among free blocks of equal size the allocator takes the lowest address,
 *             so repeating a recording exactly requires its addresses. Borrowed by eng_new only
 * stop        polled at intervals during a backward that is not nested in another one; true: the backward fails with
 *             VS_E_STOPPED. NULL: never stopped
 * stop_user   passed to stop
 * workspaces  the measured workspaces of a real device, for a run without data that repeats its run
 *             (engine/workspace/workspace.h); NULL: none. Borrowed by eng_new only
 */
struct eng_options {
    const struct eng_kernels *kernels;
    const struct eng_device *device;
    const struct eng_observer *observer;
    uint64_t capacity;
    const char *alloc_conf;
    uint64_t seed;
    const uint64_t *segment_addresses;
    size_t segment_count;
    bool (*stop)(void *user);
    void *stop_user;
    const char *workspaces;
};

VS_MUST_USE enum vs_status
eng_new(const struct eng_options *options, struct eng **out,
        /* Creates a context. VS_E_VALUE: alloc_conf is not valid. The caller owns *out. */
        struct vs_error *err);
/* Frees the context. The caller must have released its tensors; reference cycles are freed, without events. */
void eng_free(struct eng *e);

#endif
