/*
 * replay/inspect/alloc_sites.h - which lines, and which modules, made what is alive at a moment.
 *
 * For:            the report.
 * Must not know:  how they are shown.
 * Invariant:      every block is in exactly one row; the rows of all blocks add up to all that is allocated.
 */
#ifndef RPL_ALLOC_SITES_H
#define RPL_ALLOC_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

enum rpl_alloc_sites_by {
    RPL_ALLOC_SITES_BY_LINE,   /* function and line */
    RPL_ALLOC_SITES_BY_MODULE, /* path of the module that ran */
    RPL_ALLOC_SITES_BY_LAYERS /* likewise, with `*` for the numbers in a path: all layers of a list together */
};

/*
 * key         of a line its function, of a module its path; "" where there is none
 * line        by line only
 * by_category of its bytes
 */
struct rpl_alloc_site {
    char *key;
    uint32_t line;
    uint64_t bytes;
    uint64_t blocks;
    uint64_t by_category[VS_CATEGORY_COUNT];
};

/* Zero-initialised: nothing. Sorted by bytes, the most first; equal ones by key and line. */
struct rpl_alloc_sites {
    struct rpl_alloc_site *items;
    size_t count, cap;
};

/* O(blocks alive + n log n) for n rows. Release it. */
void rpl_alloc_sites_fill(struct rpl_alloc_sites *out, const struct rpl_trace *trace,
                          const struct rpl_live *live, enum rpl_alloc_sites_by by);
void rpl_alloc_sites_release(struct rpl_alloc_sites *makers);

/* The first `top` rows, a line each: bytes, share of all, blocks, the category most of it is, what made it. */
void rpl_alloc_sites_text(const struct rpl_alloc_sites *makers, size_t top, struct vs_text *out);
/* An array of the first `top` rows: {"module" or "function" and "line", "bytes", "blocks", "by_category"}. */
void rpl_alloc_sites_json(const struct rpl_alloc_sites *makers, enum rpl_alloc_sites_by by,
                          size_t top, struct vs_json *json);

#endif
