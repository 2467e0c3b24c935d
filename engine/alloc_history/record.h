/*
 * engine/alloc_history/record.h - what a memory history of PyTorch says about one device: the state at its end, and the events before.
 *
 * For:            importing snapshots, and the test that replays real ones.
 * Must not know:  the format of the file it was read from, stacks, time.
 * Invariant:      segments ascend by address and do not overlap; the blocks of a segment tile it in address order.
 */
#ifndef ENG_ALLOC_RECORD_H
#define ENG_ALLOC_RECORD_H

#include <stddef.h>

#include "engine/alloc/alloc.h"

struct eng_record_block {
    uint64_t bytes;
    uint64_t requested_bytes; /* only means something where the block is not inactive */
    enum eng_block_state state;
};

/*
 * area_address  expandable: where the address space it lies in begins; 0: not known (what a snapshot gives)
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
/* Appends; blocks belong to the segment added last. */
struct eng_record_segment *eng_record_state_add_segment(struct eng_record_state *state);
void eng_record_state_add_block(struct eng_record_state *state, struct eng_record_block block);

/* One more kind than the allocator has: the moment a snapshot was taken; `bytes` are the active bytes then. */
#define ENG_RECORD_SNAPSHOT ENG_ALLOC_EV_COUNT

/*
 * kind     enum eng_alloc_event_kind or ENG_RECORD_SNAPSHOT
 * address, bytes, stream: as in struct eng_alloc_event
 * place    where the program was: equal numbers are equal places; 0: not known
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
 * Past the run of segment events that begins at `at`: the allocation or out-of-memory that they were part of, or what else follows. A flush in
 * need waits for the streams, so frees that had to wait may be completed in between.
 */
size_t eng_record_run_end(const struct eng_record_event *events, size_t count, size_t at);

/* Are events[0 … count - 1] what completes when the allocator waits for all streams now? */
bool eng_record_is_wait(const struct eng_alloc *alloc, const struct eng_record_event *events,
                        size_t count);

/* The allocator's state now. `out` is empty before and the caller's afterwards. */
void eng_record_state_of(const struct eng_alloc *alloc, struct eng_record_state *out);

/*
 * Can `state` be? VS_E_DAMAGED: blocks that do not tile their segment, sizes that are not multiples of 512, more asked for than
 * a block has, segments that overlap or are out of order.
 */
VS_MUST_USE enum vs_status eng_record_state_check(const struct eng_record_state *state,
                                                  struct vs_error *err);

/*
 * Are the two the same: segments (with stream, pool, kind), blocks, their states and what was asked for?
 * VS_E_VALUE: no; `err` names the first difference as `a_name` has it and as `b_name` has it.
 */
VS_MUST_USE enum vs_status eng_record_state_compare(const struct eng_record_state *a,
                                                    const char *a_name,
                                                    const struct eng_record_state *b,
                                                    const char *b_name, struct vs_error *err);

/*
 * Fill a new allocator (nothing allocated yet) with `state`. The driver is not called and no event is sent; the statistics are
 * as if everything had just been allocated. Pending blocks wait until eng_alloc_put_complete or a synchronisation.
 *
 * VS_E_DAMAGED: as eng_record_state_check, or an expandable segment outside its address space; the allocator is then good for
 * nothing but eng_alloc_free.
 */
VS_MUST_USE enum vs_status eng_alloc_adopt(struct eng_alloc *alloc,
                                           const struct eng_record_state *state,
                                           struct vs_error *err);

#endif
