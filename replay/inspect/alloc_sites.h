/*
 * replay/inspect/alloc_sites.h - which lines and modules allocated the blocks that are alive at an event.
 *
 * For:            the report.
 * Must not know:  where text and JSON go.
 * Invariant:      each live block is counted at exactly one site, so the sites add up to all allocated bytes.
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

/*
 * What identifies a site.
 *
 * BY_LINE    function and line
 * BY_MODULE  path of the module that was running
 * BY_LAYERS  the same with `*` for each number in the path ("layers.*.attn"), which joins all layers of a list
 */
enum rpl_alloc_sites_by {
    RPL_ALLOC_SITES_BY_LINE,
    RPL_ALLOC_SITES_BY_MODULE,
    RPL_ALLOC_SITES_BY_LAYERS
};

/*
 * One allocation site.
 *
 * key          the function, or the module's path; "" where the trace has none. Owned by the site
 * line         source line, with BY_LINE only; 0: not recorded
 * bytes        of its live blocks, whose number is `blocks`
 * by_category  the same bytes by category
 */
struct rpl_alloc_site {
    char *key;
    uint32_t line;
    uint64_t bytes;
    uint64_t blocks;
    uint64_t by_category[VS_CATEGORY_COUNT];
};

/* Sites by falling bytes; equal ones by key, then line. */
struct rpl_alloc_sites {
    struct rpl_alloc_site *items;
    size_t count, cap;
};

/*
 * Fill `out`, which the caller zero-initialises and releases, with the sites of all blocks in `live`. O(blocks + n log
 * n) for n sites.
 */
void rpl_alloc_sites_fill(struct rpl_alloc_sites *out, const struct rpl_trace *trace,
                          const struct rpl_live *live, enum rpl_alloc_sites_by by);
void rpl_alloc_sites_release(struct rpl_alloc_sites *sites);

/*
 * Append a line for each of the first `top` sites: bytes, share of all bytes, blocks, the category with the most
 * bytes, and the site; below it the text of its line, where `trace`, which the sites are of, has it. trace: NULL where
 * it is not to be shown.
 */
void rpl_alloc_sites_text(const struct rpl_alloc_sites *sites, const struct rpl_trace *trace,
                          size_t top, struct vs_text *out);
/*
 * Write a JSON array of the first `top` sites: {"module" or "function", "line" and "source_line" (unless
 * `trace` is NULL), "bytes", "blocks", "by_category"}.
 */
void rpl_alloc_sites_json(const struct rpl_alloc_sites *sites, const struct rpl_trace *trace,
                          enum rpl_alloc_sites_by by, size_t top, struct vs_json *json);

#endif
