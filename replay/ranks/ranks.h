/*
 * replay/ranks/ranks.h - the traces of several ranks of one program: the peak of each, and what differs between them.
 *
 * For:            `vramscope report` of several traces, `record` of a program with several processes.
 * Must not know:  how files are found, who prints.
 * Invariant:      ranks whose allocators saw the same events have the same `like`; no difference is listed for them.
 */
#ifndef RPL_RANKS_H
#define RPL_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/index/index.h"
#include "replay/ranks/shared.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/* The rank of a trace that does not say which it is of. */
#define RPL_NO_RANK (-1)

/*
 * One rank.
 *
 * path     as given; owned
 * number   its rank, from `rank` of meta, or RPL_NO_RANK
 * trace    owned by the list; driver: of its process's calls of the driver, owned, NULL: there is none
 * sum      its figures
 * events, hash   number of the allocator's events, and a hash of their kinds and sizes; frees that follow one another
 *                count as a set, because PyTorch frees the copies that autocast made in the order of a hash table
 * like     index of the first rank with the same events; its own index: none before it
 */
struct rpl_rank {
    char *path;
    int64_t number;
    struct rpl_trace *trace;
    struct rpl_trace *driver;
    struct rpl_summary sum;
    uint64_t events;
    uint64_t hash;
    size_t like;
};

/*
 * What is allocated at one line, or as one block, at the peaks of two ranks.
 *
 * text      the line and its function ("line 28, of rank 1 line 32 | train.py:main": each has it on a line of its own);
 *           of a block its name or what made it, its module, and why only one rank has it
 *           there; owned
 * a, b      bytes in rank A and in rank B; blocks_a, blocks_b: the number of blocks
 */
struct rpl_rank_change {
    char *text;
    enum vs_category category;
    uint64_t a;
    uint64_t b;
    uint64_t blocks_a;
    uint64_t blocks_b;
};

/*
 * How rank B, the first of several alike, differs from rank A, the one with the highest peak.
 *
 * a, b       their indexes
 * first      number of the first event of the allocator that differs, from 1
 * seq_a, seq_b   that event in each trace; 0: the trace has no further ones
 * common_a, common_b   the last event of the allocator that both have, in each trace; 0: there is none
 * changes    change_count rows, the largest difference first; only those that differ
 * blocks     block_count rows likewise, a block and its counterpart each; corresponding blocks are found by op, module
 *            and place (replay/diff/align.h)
 */
struct rpl_rank_diff {
    size_t a;
    size_t b;
    uint64_t first;
    uint64_t seq_a;
    uint64_t seq_b;
    uint64_t common_a;
    uint64_t common_b;
    struct rpl_rank_change *changes;
    size_t change_count;
    struct rpl_rank_change *blocks;
    size_t block_count;
};

/*
 * items     count ranks, in order of their numbers, those without a number last and as they were added
 * highest, lowest   index of the highest and of the lowest peak of allocated bytes; highest_reserved: of the highest
 *           reserved bytes; the first one of several
 * diffs     diff_count differences, one for each kind of ranks that is not like `highest`
 * shared    shared_count GPUs that several of the processes have (replay/ranks/shared.h)
 */
struct rpl_ranks {
    struct rpl_rank *items;
    size_t count;
    size_t cap;
    size_t highest;
    size_t lowest;
    size_t highest_reserved;
    struct rpl_rank_diff *diffs;
    size_t diff_count;
    struct rpl_shared *shared;
    size_t shared_count;
};

/*
 * Open the trace at `path`, and that of its calls of the driver, and add it. Zero-initialise `ranks`; release it also
 * after a failure.
 */
VS_MUST_USE enum vs_status rpl_ranks_add(struct rpl_ranks *ranks, const char *path,
                                         struct vs_error *err);
/* Add a trace that is open; it belongs to `ranks` from now on. Its trace of the driver is not looked for. */
void rpl_ranks_take(struct rpl_ranks *ranks, const char *path, struct rpl_trace *trace);
/*
 * Once, after all were added, at least one: sort the ranks and fill the fields above. Reads each trace twice, and once
 * more for each difference and where its GPU is shared; builds the indexes of those that are compared, where the files
 * have none.
 *
 * progress may be NULL; VS_E_STOPPED: it returned false. Other errors: those of reading the traces.
 */
VS_MUST_USE enum vs_status rpl_ranks_fill(struct rpl_ranks *ranks, rpl_progress_fn *progress,
                                          void *user, struct vs_error *err);
void rpl_ranks_release(struct rpl_ranks *ranks);

/*
 * The figures of a phase of a rank in the step in which `highest` peaks: the axis on which ranks are laid beside each
 * other. NULL: this rank has no such phase there.
 */
const struct rpl_phase *rpl_ranks_phase(const struct rpl_ranks *ranks, size_t rank,
                                        enum vs_phase phase);

/* Append "rank 3"; of a trace without a number its path. */
void rpl_rank_text(const struct rpl_rank *rank, struct vs_text *out);

/* Append the summary over ranks; at most `top` lines for each difference. */
void rpl_ranks_text(const struct rpl_ranks *ranks, size_t top, struct vs_text *out);
/* Write it as a JSON object; docs/formats/json.md lists the members. */
void rpl_ranks_json(const struct rpl_ranks *ranks, struct vs_json *json);

/*
 * A collective or message of NCCL's, as the simulated GPU counted it. name: name_len bytes of the function's name;
 * bytes: of the buffers that this rank gave.
 */
struct rpl_collective {
    const char *name;
    int name_len;
    uint64_t count;
    uint64_t bytes;
};
/*
 * The next collective in `*list`, which begins as `collectives` of meta and moves behind it. False: there are no more;
 * *list may be NULL.
 */
bool rpl_collective_next(const char **list, struct rpl_collective *out);

#endif
