/*
 * tui/views/sites.c - see sites.h.
 *
 * Must not know:  drawing.
 * Invariant:      every live block is counted at one site.
 */
#include "tui/views/sites.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tui/parts/format.h"

struct site {
    uint32_t func;
    uint32_t line;
    uint64_t bytes;
    uint64_t blocks;
    const struct rpl_block *largest;
};

static int by_location(const void *x, const void *y)
{
    const struct site *a = x;
    const struct site *b = y;

    if (a->func != b->func)
        return a->func < b->func ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->largest->id < b->largest->id ? -1 : a->largest->id > b->largest->id;
}

static int by_bytes(const void *x, const void *y)
{
    const struct site *a = x;
    const struct site *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return by_location(x, y);
}

/* Sum up the live blocks by location, sorted by bytes. The caller frees the result. */
static struct site *sites_find(const struct tui_run *run, size_t *count)
{
    const struct rpl_live *live = rpl_cursor_live(run->cursor);
    struct site *sites = vs_calloc(live->block_count + 1, sizeof(*sites));
    size_t kept = 0;

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        const struct vs_location *location = rpl_trace_location(run->trace, block->alloc_location);

        sites[i] = (struct site){location->func, location->line, block->bytes, 1, block};
    }
    qsort(sites, live->block_count, sizeof(*sites), by_location);
    for (size_t i = 0; i < live->block_count; i++) {
        struct site *last = kept ? &sites[kept - 1] : NULL;

        if (!last || last->func != sites[i].func || last->line != sites[i].line) {
            sites[kept++] = sites[i];
            continue;
        }
        last->bytes += sites[i].bytes;
        last->blocks++;
        if (sites[i].largest->bytes > last->largest->bytes)
            last->largest = sites[i].largest;
    }
    qsort(sites, kept, sizeof(*sites), by_bytes);
    *count = kept;
    return sites;
}

void tui_sites_fill(struct tui_page *page, const struct tui_run *run)
{
    struct rpl_here here = rpl_cursor_here(run->cursor);
    const struct vs_location *now = rpl_trace_location(run->trace, here.event.location);
    size_t count;
    struct site *sites = sites_find(run, &count);
    char buf[TUI_SHORT_MAX];

    tui_page_clear(page);
    for (size_t i = 0; i < count; i++) {
        const struct site *site = &sites[i];
        const char *func = rpl_trace_string(run->trace, site->func);
        const struct vs_location *location =
            rpl_trace_location(run->trace, site->largest->alloc_location);
        bool is_here = site->func == now->func && site->line == now->line;
        struct tui_page_line *line =
            tui_page_add(page, i ? TUI_PLAIN : TUI_BAD, "%6s ", tui_short_bytes(site->bytes, buf));

        line->block = site->largest->id;
        tui_page_more(page, 0, TUI_CURSOR, is_here ? "\xE2\x96\xB6 " : "  ");
        tui_page_more(page, 0, is_here ? TUI_STRONG : TUI_PLAIN, "%s",
                      *func ? func : "(not known)");
        if (site->line)
            tui_page_more(page, 0, TUI_LINE_NUMBER, ":%" PRIu32, site->line);
        tui_page_more(page, 0, TUI_DIM, "  %" PRIu64 " %s, the largest %s", site->blocks,
                      site->blocks == 1 ? "block" : "blocks",
                      tui_short_bytes(site->largest->bytes, buf));
        if (*rpl_trace_string(run->trace, location->op))
            tui_page_more(page, 0, TUI_DIM, " by %s", rpl_trace_string(run->trace, location->op));
    }
    if (!count)
        tui_page_add(page, TUI_DIM, "nothing is alive here");
    vs_free(sites);
}
