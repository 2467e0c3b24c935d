/*
 * replay/inspect/space.h - the address space at the cursor: segments, blocks, holes; what would fit, and what stands in the way.
 *
 * For:            the segments view.
 * Must not know:  drawing.
 * Invariant:      the parts of a segment lie end to end and add up to it.
 */
#ifndef RPL_SPACE_H
#define RPL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "replay/index/cursor.h"

/*
 * block      index in rpl_cursor_live()->blocks; SIZE_MAX: a hole
 * waste      bytes of the block that nobody asked for
 * segment    index in segments
 */
struct rpl_part {
    uint64_t address;
    uint64_t bytes;
    uint64_t waste;
    size_t block;
    size_t segment;
};

/*
 * segments    as rpl_cursor_segments, borrowed
 * parts       in order of address; those of segment i are parts[first_part[i]] … parts[first_part[i + 1] - 1]
 * strays      blocks outside of all segments: a trace without segment events has only these
 * free_bytes  in holes; largest_hole: number of the largest part that is one, SIZE_MAX where there is none
 */
struct rpl_space {
    const struct rpl_segment *segments;
    size_t segment_count;
    struct rpl_part *parts;
    size_t part_count;
    size_t part_cap;
    size_t *first_part;
    size_t strays;
    uint64_t reserved;
    uint64_t allocated;
    uint64_t free_bytes;
    uint64_t waste;
    size_t largest_hole;
};

/* Fill from the cursor; good until its next move. `out` is zeroed or filled before; the caller releases it. O(n log n) of blocks. */
void rpl_space_fill(struct rpl_space *out, const struct rpl_cursor *cursor);
void rpl_space_release(struct rpl_space *space);

/*
 * A request under the allocator's settings of the run (wif_request_of): bytes of the block it would be, and of the segment where there is
 * no hole for it; max_split: holes of so many bytes and more are kept whole, UINT64_MAX: none are.
 */
struct rpl_request {
    uint64_t rounded;
    uint64_t segment;
    uint64_t max_split;
};

/*
 * Would a request fit right now, as PyTorch's caching allocator decides with its default settings? Only memory of one stream counts:
 * the default one (0), or where nothing is its own, the one that has most; and never a private pool's.
 *
 * rounded     bytes of the block it would be
 * is_fit      a hole is large enough; hole: the part it would go to, the smallest that fits
 * segment     otherwise: bytes that would be asked of the driver; 0 where it fits
 * largest     the largest hole of its pool; SIZE_MAX: there is none
 * pin         otherwise: the part with the smallest block of its pool whose going would make, with the holes beside it, a hole that is
 *             large enough; SIZE_MAX: no single block would
 * pinned_hole bytes of that hole
 */
struct rpl_fit {
    uint64_t rounded;
    bool is_fit;
    size_t hole;
    uint64_t segment;
    size_t largest;
    size_t pin;
    uint64_t pinned_hole;
};
struct rpl_fit rpl_space_fit(const struct rpl_space *space, const struct rpl_request *request);

/*
 * What pins the part `hole`: of the blocks next to it the one whose going would make the larger hole. *bytes is how large that would be.
 * SIZE_MAX: the hole is the whole segment.
 */
size_t rpl_space_pin(const struct rpl_space *space, size_t hole, uint64_t *bytes);

#endif
