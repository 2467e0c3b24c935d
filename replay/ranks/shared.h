/*
 * replay/ranks/shared.h - ranks whose processes share a GPU, on one axis of time: what they have of it together.
 *
 * For:            replay/ranks/ranks.c.
 * Must not know:  how files are found, who prints.
 * Invariant:      `together` is the sum of the parts' bytes at one time; no sum over the ranks is higher at any event.
 *
 * Times are those of the system clock (`began_us` of meta). A GPU is identified by its number in CUDA_VISIBLE_DEVICES
 * (`cuda_visible_devices` of meta), and by who recorded it on which machine (`rerun_recorded_by`) where both traces say
 * it. A rank has memory from its first event to its last.
 */
#ifndef RPL_RANKS_SHARED_H
#define RPL_RANKS_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

struct rpl_ranks;

/* Points of the curve of a GPU at most: at least half of them are used, unless there are fewer nanoseconds. */
#define RPL_SHARED_POINTS 512

/*
 * One rank on a shared GPU.
 *
 * rank       index in the list of ranks
 * is_driver  bytes are those that the driver gave the process, by its trace of the driver; otherwise those of PyTorch's
 *            segments
 * bytes      what it has when all have most; highest: what it has at most
 */
struct rpl_shared_part {
    size_t rank;
    bool is_driver;
    uint64_t bytes;
    uint64_t highest;
};

/*
 * One GPU.
 *
 * name      "0", or its identifier in CUDA_VISIBLE_DEVICES; owned
 * parts     part_count of them, at least two, in the order of the ranks
 * together  the highest sum, first reached at_ns nanoseconds after the first event of all of them
 * alone     sum of what each has at most: what would be needed if all peaked at once
 * curve     part_count values for each of point_count points, which are point_ns nanoseconds each: what the parts have
 *           when their sum is highest in that time; owned
 */
struct rpl_shared {
    char *name;
    struct rpl_shared_part *parts;
    size_t part_count;
    uint64_t together;
    uint64_t at_ns;
    uint64_t alone;
    uint64_t *curve;
    size_t point_count;
    uint64_t point_ns;
};

/*
 * Fill ranks->shared; traces that do not say when they began are left out. Reads the traces on GPUs that are shared
 * once. Errors: those of reading them.
 */
VS_MUST_USE enum vs_status rpl_shared_fill(struct rpl_ranks *ranks, struct vs_error *err);
void rpl_shared_release(struct rpl_ranks *ranks);

/* Append a paragraph for each shared GPU. */
void rpl_shared_text(const struct rpl_ranks *ranks, struct vs_text *out);
/* Write the array `shared` of docs/formats/json.md. */
void rpl_shared_json(const struct rpl_ranks *ranks, struct vs_json *json);

#endif
