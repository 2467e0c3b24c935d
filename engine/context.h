/*
 * engine/context.h - creating and releasing the context of one training run.
 *
 * For:            lang/run, tests. What is done with a context is in engine/core/engine.h.
 * Must not know:  the net language.
 */
#ifndef ENG_CONTEXT_H
#define ENG_CONTEXT_H

#include "engine/core/engine.h"

struct eng_device;
struct eng_kernels;

/*
 * kernels    arithmetic of the device (eng_kernels_cpu()), or NULL for `meta`: shapes and lifetimes only
 * device     a device of its own (engine/device/plugin.h): its kernels, and memory from its driver. NULL: memory is only counted. Borrowed,
 *            and must outlive the context
 * observer   told of everything, or NULL; must outlive the context. An `oom` event is the last one it hears
 * capacity   bytes of the device; 0: as much as is asked for
 * alloc_conf PyTorch's syntax ("expandable_segments:True"), or NULL
 * seed       of all random numbers
 * segment_addresses   where the driver puts the first segments (segment_count of them), as a recorded run had them; then as it likes. An
 *                     address decides between free blocks of equal size, so a recording can only be met with its own. Borrowed by eng_new
 * stop       asked every so many nodes of a backward that stands in no other; true: it fails with VS_E_STOPPED. NULL: nobody stops it
 * stop_user  given to it
 * workspaces what a device of its own was measured to work in, for a run without data that repeats it (engine/workspace/workspace.h); NULL: none. Borrowed
 *            by eng_new
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

VS_MUST_USE enum vs_status eng_new(const struct eng_options *options, struct eng **out,
                                   struct vs_error *err);
/* Nobody holds a tensor any more; what holds itself goes with it, unheard (eng_cycles_break). */
void eng_free(struct eng *e);

#endif
