/*
 * replay/inspect/alive.h - why a block is alive, which live blocks are unused, and which ones training steps leak.
 *
 * For:            the report, `check`, and the TUI's why view, blocks view and peak page.
 * Must not know:  how the results are shown; block_text.h puts blocks and holders into words.
 * Invariant:      the results equal those of reading every event of the trace from the start, which the tests do
 *                 (tests/replay/inspect/naive.h).
 *
 * All functions use the index of the trace: they read single chunks of events and never the whole trace. Errors are
 * those of reading the trace file.
 */
#ifndef RPL_ALIVE_H
#define RPL_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/state/holders.h"
#include "replay/state/live.h"

/*
 * Why one block is alive after an event.
 *
 * id                 the block's number, set by the caller; rpl_alive_why fills in the rest
 * is_alive           whether the block is alive after the event; if not, all members below are zero
 * block              the block's state right after the event
 * name               string id of the name of the parameter or buffer; 0: the block has none
 * title              name of a gradient or of optimizer state without such a one, as rpl_block_name says: "grad of
 *                    fc1.weight"; empty: it has none
 * parameter          string id of the name that its module follows from, as rpl_block_parameter says; 0: none
 * holders            its holder_count holders, in the order in which they acquired their reference
 * next_use_seq       first event after the cursor's at which an op reads the block; 0: none in the trace
 * free_seq           event that frees the block; 0: it is not freed within the trace
 * next_use_location, free_location   source locations of these two events; 0 where there is no such event
 */
struct rpl_why {
    uint64_t id;
    bool is_alive;
    struct rpl_block block;
    uint32_t name;
    struct vs_text title;
    uint32_t parameter;
    struct rpl_holder *holders;
    size_t holder_count;
    size_t holder_cap;
    uint64_t next_use_seq;
    uint64_t free_seq;
    uint32_t next_use_location;
    uint32_t free_location;
};

/*
 * Fill `why` for the block why->id at the cursor's event. The other members of `why` are zero or left from an earlier
 * call, whose memory is used again. The caller calls rpl_why_release, also after a failure.
 * Finding the next use may read a chunk of events; the rest is in the cursor and the index.
 */
VS_MUST_USE enum vs_status rpl_alive_why(struct rpl_cursor *cursor, struct rpl_why *why,
                                         struct vs_error *err);
/*
 * The same without reading events: next_use_seq, next_use_location and free_location are 0.
 */
VS_MUST_USE enum vs_status rpl_alive_why_here(struct rpl_cursor *cursor, struct rpl_why *why,
                                              struct vs_error *err);
void rpl_why_release(struct rpl_why *why);

/*
 * A block that is unused: alive although no op will read it again.
 *
 * block   its state at the event; last_use_seq is 0 where no op ever read it
 * gain    bytes by which the peak of the trace would fall if this block, and in every other step the blocks allocated
 *         at the same location with the same requested size, were freed right after their last use
 */
struct rpl_kept {
    struct rpl_block block;
    uint64_t gain;
};

/*
 * The unused blocks at one event.
 *
 * items        the `count` largest of them, the largest first
 * total        bytes of all unused blocks, also of those beyond RPL_KEPT_MAX
 * total_count  number of all unused blocks
 * gain         bytes by which the peak would fall if the blocks of all items were freed early, as in struct rpl_kept
 */
#define RPL_KEPT_MAX 32
struct rpl_kept_list {
    struct rpl_kept items[RPL_KEPT_MAX];
    size_t count;
    uint64_t total;
    uint64_t total_count;
    uint64_t gain;
};

/*
 * List the unused blocks at the cursor's event, which must not be 0. Never listed: parameters, buffers, optimizer
 * state and workspaces (rpl_block_is_permanent), and blocks that a running op has read.
 * The first call on an index computes for all allocation sites when their blocks are unused, which the index keeps.
 */
VS_MUST_USE enum vs_status rpl_alive_kept(struct rpl_cursor *cursor, struct rpl_kept_list *out,
                                          struct vs_error *err);

/*
 * What training steps leak: blocks that a step allocated and that are still alive at the end of the following step. By
 * then the loop has rebound its own variables (output, loss, batch). The first step is left out because it allocates
 * the optimizer's state, and the last because no step follows it. What leaks does so again: a block counts only where a
 * block of the same location and of another step, be it the first, is alive, too. So what is allocated once and late
 * (DistributedDataParallel's buckets, optimizer state after a skipped step) is no leak.
 *
 * The last step of a program ends with the recording, where the program's variables are gone: where nothing is found
 * there, it is left out.
 *
 * at               end of the last whole step that was looked at; 0: the trace has fewer than three whole steps, and
 *                  nothing else is filled
 * first_seq, last_seq   a block allocated from the one event to the other that is alive at `at` is leaked
 * bytes, count     of all leaked blocks
 * steps            number of steps from first_seq to last_seq
 * blocks           the block_count largest leaked blocks, the largest first
 */
#define RPL_LEAK_MAX 8
struct rpl_leak {
    uint64_t at;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t bytes;
    uint64_t count;
    uint64_t steps;
    struct rpl_block blocks[RPL_LEAK_MAX];
    size_t block_count;
};

/*
 * Find the leaked blocks of the trace. Costs one or two seeks to the ends of steps; no cursor of the caller moves.
 */
VS_MUST_USE enum vs_status rpl_alive_leak(struct rpl_index *index, struct rpl_leak *out,
                                          struct vs_error *err);
/*
 * Copy the leaked blocks of `live`, the state right after leak->at, to `out`, which has capacity for all of them.
 * Returns how many they are.
 */
size_t rpl_leak_blocks(const struct rpl_leak *leak, const struct rpl_trace *trace,
                       const struct rpl_live *live, struct rpl_block *out);

#endif
