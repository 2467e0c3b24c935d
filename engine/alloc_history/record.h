/*
 * engine/alloc_history/record.h - PyTorch's memory history of one device: the state at its end, and the events before.
 *
 * For:            importing snapshots, and the test that replays real ones.
 * Must not know:  the format of the file it was read from, stacks, time.
 * Invariant:      segments ascend by address and do not overlap; the blocks of a segment cover it without gaps, in
 *                 address order.
 */
#ifndef ENG_ALLOC_RECORD_H
#define ENG_ALLOC_RECORD_H

#include <stddef.h>

#include "engine/alloc/alloc.h"

struct eng_record_block {
    uint64_t bytes;
    uint64_t requested_bytes; /* undefined for an inactive block */
    enum eng_block_state state;
};

/*
 * area_address  expandable: start of its reserved address space; 0: not known (a snapshot does not contain it)
 * first_block   index into eng_record_state.blocks
 */
struct eng_record_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t area_address;
    struct eng_pool_id pool;
    size_t first_block;
    size_t block_count;
    bool is_small;
    bool is_expandable;
};

/* Zero-initialised: empty. */
struct eng_record_state {
    struct eng_record_segment *segments;
    size_t segment_count;
    size_t segment_cap;
    struct eng_record_block *blocks;
    size_t block_count;
    size_t block_cap;
};

void eng_record_state_release(struct eng_record_state *state);
/* Append to a state; blocks belong to the segment added last. The result is valid until the next segment is added. */
struct eng_record_segment *eng_record_state_add_segment(struct eng_record_state *state);
void eng_record_state_add_block(struct eng_record_state *state, struct eng_record_block block);

/* An event kind in addition to the allocator's: a snapshot was taken; `bytes` are the active bytes at that time. */
#define ENG_RECORD_SNAPSHOT ENG_ALLOC_EV_COUNT

/*
 * kind      enum eng_alloc_event_kind or ENG_RECORD_SNAPSHOT
 * address, bytes, stream: as in struct eng_alloc_event
 * location  number of the source location, equal for equal locations; 0: not known
 */
struct eng_record_event {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    unsigned kind;
    uint32_t location;
};

/* "alloc", …, "snapshot". */
const char *eng_record_event_name(unsigned kind);

/*
 * The index after the consecutive segment events that begin at `at`: that of the allocation or out-of-memory they
 * belong to, or of an unrelated event. An allocation in need waits for the streams, so free_completed events of
 * pending blocks may be among them.
 */
size_t eng_record_run_end(const struct eng_record_event *events, size_t count, size_t at);

/* Whether events[0 … count - 1] are what would be completed if the allocator waited for all streams now. */
bool eng_record_is_wait(const struct eng_alloc *alloc, const struct eng_record_event *events,
                        size_t count);

/* The allocator's current state. `out` must be empty; the caller releases it. */
void eng_record_state_of(const struct eng_alloc *alloc, struct eng_record_state *out);

/*
 * Checks a state. VS_E_DAMAGED: blocks that do not cover their segment, sizes that are not multiples of 512, more
 * requested bytes than a block has, segments that overlap or are out of order.
 */
VS_MUST_USE enum vs_status eng_record_state_check(const struct eng_record_state *state,
                                                  struct vs_error *err);

/*
 * Compares segments (with stream, pool, kind), blocks, their states and requested bytes.
 * VS_E_VALUE: they differ; `err` describes the first difference, calling the states `a_name` and `b_name`.
 */
VS_MUST_USE enum vs_status eng_record_state_compare(const struct eng_record_state *a,
                                                    const char *a_name,
                                                    const struct eng_record_state *b,
                                                    const char *b_name, struct vs_error *err);

/*
 * Fills a new allocator (nothing allocated yet) with `state`. The driver is not called and no event is emitted; the
 * statistics are as if everything had just been allocated. Pending blocks stay so until eng_alloc_put_complete or a
 * synchronisation.
 *
 * VS_E_DAMAGED: as eng_record_state_check, or an expandable segment outside its address space; the allocator must then
 * only be freed.
 */
VS_MUST_USE enum vs_status eng_alloc_adopt(struct eng_alloc *alloc,
                                           const struct eng_record_state *state,
                                           struct vs_error *err);

#endif
