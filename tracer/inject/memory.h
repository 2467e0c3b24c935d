/*
 * tracer/inject/memory.h - tracks the live blocks of a program, and emits their events.
 *
 * For:            tracer/inject/session.c, which holds a lock around every call; tests.
 * Must not know:  CUPTI, threads, files.
 * Invariant:      a block is freed once, and no two live blocks of a device have the same address.
 *
 * An allocation is reported when the call has returned. A free is reported when the call begins and when it ends:
 * another thread may get the same address before the end is reported, and that is another block.
 */
#ifndef TRC_INJECT_MEMORY_H
#define TRC_INJECT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/core/observer.h"
#include "tracer/inject/site.h"

struct inj_memory;

/* The kinds of keys: device addresses, handles of physical memory, host addresses. */
enum inj_space { INJ_DEVICE, INJ_PHYSICAL, INJ_HOST };

/*
 * Where events are sent.
 *
 * sink  the sink of device `device`; NULL: the device is not recorded
 * host  bytes of pinned memory, current and peak
 */
struct inj_outlet {
    void *user;
    struct inj_sink *(*sink)(void *user, uint32_t device);
    void (*host)(void *user, uint64_t now, uint64_t peak);
};

/*
 * context: 0 if a block belongs to the device and survives contexts. stream: a number that identifies a stream of the
 * program.
 */
struct inj_call {
    enum inj_space space;
    uint32_t device;
    uint32_t context;
    uint64_t stream;
    const struct inj_site *site;
};

struct inj_memory *inj_memory_new(const struct inj_outlet *outlet) VS_MUST_USE;
void inj_memory_free(struct inj_memory *m);

/*
 * An allocation of `bytes` returned `key`. If a block with this key is still live, it is freed first: its free has
 * begun, or was not reported.
 */
void inj_memory_taken(struct inj_memory *m, const struct inj_call *call, uint64_t key,
                      uint64_t bytes);

/* An allocation of `bytes` failed with out of memory; the device had `device_free` bytes free. */
void inj_memory_refused(struct inj_memory *m, const struct inj_call *call, uint64_t bytes,
                        uint64_t device_free);

/*
 * A free of `key` begins. Returns a token for inj_memory_free_end(); 0: there is no such block. If the free ends
 * without success, the block stays live. For physical memory this releases a handle; the block is freed with its last
 * handle and mapping.
 */
uint64_t inj_memory_free_begin(struct inj_memory *m, const struct inj_call *call, uint64_t key);
void inj_memory_free_end(struct inj_memory *m, enum inj_space space, uint64_t key, uint64_t token,
                         bool is_done);

/* Physical memory: the block mapped at `address` got another handle, possibly with a new number. */
void inj_memory_retained(struct inj_memory *m, uint64_t handle, uint64_t address);
/* `handle` was mapped at `address`; the mappings in a range were removed. Unknown handles and ranges are ignored. */
void inj_memory_mapped(struct inj_memory *m, uint64_t handle, uint64_t address, uint64_t bytes);
void inj_memory_unmapped(struct inj_memory *m, const struct inj_call *call, uint64_t address,
                         uint64_t bytes);

/* The context call->context was destroyed, and all memory allocated in it was freed. */
void inj_memory_context_gone(struct inj_memory *m, const struct inj_call *call);

/* Whether the device's last allocation failed. */
bool inj_memory_is_refused(const struct inj_memory *m, uint32_t device);

#endif
