/*
 * replay/inspect/space.h - the address space at the cursor: segments, blocks and holes, and whether a request would
 * fit.
 *
 * For:            the segments view.
 * Must not know:  drawing.
 * Invariant:      the parts of a segment are adjacent and add up to the segment.
 */
#ifndef RPL_SPACE_H
#define RPL_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "replay/index/cursor.h"

/*
 * Part of a segment: a block, or a hole, which is free memory between blocks.
 *
 * block      index in rpl_cursor_live()->blocks; SIZE_MAX: the part is a hole
 * waste      bytes of the block beyond the requested bytes: rounding
 * segment    index in struct rpl_space.segments
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
 * strays      number of blocks outside all segments; in a trace without segment events all blocks are
 * reserved    bytes of all segments: allocated + free_bytes
 * allocated   bytes of the blocks within segments; `waste` of them is rounding
 * free_bytes  bytes of the holes; largest_hole: index of the largest one, SIZE_MAX where there is none
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

/*
 * Fill `out`, which is zero or was filled before, at the cursor; valid until the cursor moves. The caller releases it.
 * O(n log n) for n blocks.
 */
void rpl_space_fill(struct rpl_space *out, const struct rpl_cursor *cursor);
void rpl_space_release(struct rpl_space *space);

/*
 * A request under the allocator's settings of a run (made by wif_request_of), in bytes.
 *
 * rounded    size of the block it would get
 * segment    size of the segment the allocator would take from the driver if no hole fits
 * max_split  holes of this size or larger are not split (max_split_size_mb); UINT64_MAX: all may be
 */
struct rpl_request {
    uint64_t rounded;
    uint64_t segment;
    uint64_t max_split;
};

/*
 * Whether a request fits without a new segment, as PyTorch's caching allocator decides. Only segments of one stream
 * count, the default stream (0) or, where that has none, the stream with the most bytes; segments of private pools
 * never count.
 *
 * rounded      request->rounded
 * is_fit       whether a hole is large enough; `hole` is the part the block would go to: the smallest that fits
 * segment      bytes the allocator would take from the driver; 0 where the request fits
 * largest      the largest hole of the request's pool (small or large); SIZE_MAX: there is none
 * pin          where the request does not fit: the part with the smallest block whose free would leave a large enough
 *              hole, together with the holes next to it; SIZE_MAX: no single free would
 * pinned_hole  bytes of that hole
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
 * The part with the block next to the part `hole` whose free would leave the larger hole, of *bytes bytes. SIZE_MAX,
 * with *bytes 0: the hole is the whole segment.
 */
size_t rpl_space_pin(const struct rpl_space *space, size_t hole, uint64_t *bytes);

#endif
