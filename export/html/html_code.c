/*
 * export/html/html_code.c - the net file and what its lines and modules have allocated at the peak.
 *
 * Must not know:  columns, single blocks.
 * Invariant:      the bytes of all lines add up to what is allocated at the peak, and so do the bytes of all modules
 *                 without those below them, where no more of either exist than are written.
 */
#include <string.h>

#include "export/html/html_internal.h"
#include "replay/inspect/alloc_sites.h"
#include "replay/inspect/modules.h"

static void lines_put(struct html *html)
{
    struct rpl_alloc_sites sites = {NULL, 0, 0};
    struct vs_json *json = html->json;

    rpl_alloc_sites_fill(&sites, html->trace, rpl_cursor_live(html->cursor),
                         RPL_ALLOC_SITES_BY_LINE);
    vs_json_key(json, "lines");
    vs_json_array(json);
    for (size_t i = 0; i < sites.count && i < HTML_LINES_MAX; i++) {
        vs_json_object(json);
        vs_json_put_string(json, "function", sites.items[i].key);
        vs_json_put_uint(json, "line", sites.items[i].line);
        vs_json_put_uint(json, "bytes", sites.items[i].bytes);
        vs_json_put_uint(json, "blocks", sites.items[i].blocks);
        vs_json_end(json);
    }
    vs_json_end(json);
    rpl_alloc_sites_release(&sites);
}

/*
 * The fewest bytes of a module that is written, so that at most HTML_MODULES_MAX are: found by doubling. A module has
 * at least the bytes of each module below it, so those above a written one are written, too.
 */
static uint64_t module_limit(const struct rpl_module *modules, size_t count)
{
    for (uint64_t limit = 1;; limit *= 2) {
        size_t above = 0;

        for (size_t i = 0; i < count; i++)
            above += modules[i].total_top >= limit;
        if (above <= HTML_MODULES_MAX || limit > UINT64_MAX / 2)
            return limit;
    }
}

static enum vs_status modules_put(struct html *html, struct vs_error *err)
{
    struct rpl_modules *tree = NULL;
    struct vs_json *json = html->json;
    const struct rpl_module *modules;
    size_t count = 0;
    uint64_t limit;
    enum vs_status st = rpl_modules_new(html->index, &tree, err);

    if (st)
        return st;
    modules = rpl_modules_all(tree, &count);
    limit = module_limit(modules, count);
    vs_json_key(json, "modules");
    vs_json_array(json);
    for (size_t i = 0; i < count; i++) {
        if (modules[i].total_top < limit)
            continue;
        vs_json_object(json);
        vs_json_put_string(json, "path", modules[i].path);
        vs_json_put_uint(json, "depth", modules[i].depth);
        vs_json_put_uint(json, "own", modules[i].own_top);
        vs_json_put_uint(json, "bytes", modules[i].total_top);
        vs_json_end(json);
    }
    vs_json_end(json);
    rpl_modules_free(tree);
    return VS_OK;
}

enum vs_status exp_html_code(struct html *html, struct vs_error *err)
{
    const char *text = rpl_trace_source_text(html->trace);
    enum vs_status st;

    lines_put(html);
    st = modules_put(html, err);
    vs_json_put_string(html->json, "source", text && strlen(text) <= HTML_SOURCE_MAX ? text : NULL);
    return st;
}
