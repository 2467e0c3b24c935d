/*
 * tracer/inject/memory.h - which blocks of a program are alive, and the events that tell of them.
 *
 * For:            tracer/inject/session.c, which holds a lock around every call; tests.
 * Must not know:  CUPTI, threads, files.
 * Invariant:      a block is freed once, and no two live blocks of a device share an address.
 *
 * A call is told when it is over, but for frees: those are begun when the call is, so that an address that another thread is given before
 * the free's end is told is not taken for one block with two lives.
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

/* What a key is of: an address of the device, a handle of physical memory, an address of the host. */
enum inj_space { INJ_DEVICE, INJ_PHYSICAL, INJ_HOST };

/*
 * Where events go.
 *
 * sink  the sink of device `device`; NULL: nothing is recorded of it
 * host  bytes of pinned memory, now and at most so far
 */
struct inj_outlet {
    void *user;
    struct inj_sink *(*sink)(void *user, uint32_t device);
    void (*host)(void *user, uint64_t now, uint64_t peak);
};

/* context: 0 where a block belongs to the device and survives contexts. stream: a number of the program's own making. */
struct inj_call {
    enum inj_space space;
    uint32_t device;
    uint32_t context;
    uint64_t stream;
    const struct inj_site *site;
};

struct inj_memory *inj_memory_new(const struct inj_outlet *outlet) VS_MUST_USE;
void inj_memory_free(struct inj_memory *m);

/* `key` was given for `bytes`. A block that is still there under the same key goes first: its free was begun, or was never told. */
void inj_memory_taken(struct inj_memory *m, const struct inj_call *call, uint64_t key,
                      uint64_t bytes);

/* An allocation of `bytes` was refused: the device had `device_free` bytes. */
void inj_memory_refused(struct inj_memory *m, const struct inj_call *call, uint64_t bytes,
                        uint64_t device_free);

/*
 * A free of `key` begins: the token to end it with; 0: no such block, nothing to end. Ended without success, nothing happened.
 * Of physical memory: a handle is given back; the block goes with the last handle and mapping.
 */
uint64_t inj_memory_free_begin(struct inj_memory *m, const struct inj_call *call, uint64_t key);
void inj_memory_free_end(struct inj_memory *m, enum inj_space space, uint64_t key, uint64_t token,
                         bool is_done);

/* Physical memory: one more handle of the block that is mapped at `address` was given; it may be a new number. */
void inj_memory_retained(struct inj_memory *m, uint64_t handle, uint64_t address);
/* `handle` was mapped at `address`; what lies in a range was unmapped. Handles and ranges that are not known are nobody's here. */
void inj_memory_mapped(struct inj_memory *m, uint64_t handle, uint64_t address, uint64_t bytes);
void inj_memory_unmapped(struct inj_memory *m, const struct inj_call *call, uint64_t address,
                         uint64_t bytes);

/* Everything that was allocated in call->context is gone. */
void inj_memory_context_gone(struct inj_memory *m, const struct inj_call *call);

/* Was the last allocation of the device refused? */
bool inj_memory_is_refused(const struct inj_memory *m, uint32_t device);

#endif
