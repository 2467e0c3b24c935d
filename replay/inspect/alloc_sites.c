/*
 * replay/inspect/alloc_sites.c - see alloc_sites.h.
 *
 * Invariant:      a site is identified by key and line together.
 */
#include "replay/inspect/alloc_sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/trace/scripts.h"

struct grouping {
    struct rpl_alloc_sites *out;
    struct vs_table table; /* of out->items, by key and line */
};

/* "layers.*.attn" of "layers.3.attn". */
static void layers_add(struct vs_text *text, const char *path)
{
    while (*path) {
        const size_t len = strcspn(path, ".");

        if (strspn(path, "0123456789") == len)
            vs_text_add_char(text, '*');
        else
            vs_text_add_n(text, path, len);
        path += len;
        if (*path == '.')
            vs_text_add_char(text, *path++);
    }
}

static void key_make(struct vs_text *key, const struct rpl_trace *trace,
                     const struct vs_location *location, enum rpl_alloc_sites_by by)
{
    vs_text_clear(key);
    switch (by) {
    case RPL_ALLOC_SITES_BY_LINE:
        vs_text_add(key, rpl_trace_string(trace, location->func));
        break;
    case RPL_ALLOC_SITES_BY_MODULE:
        vs_text_add(key, rpl_trace_string(trace, location->module));
        break;
    case RPL_ALLOC_SITES_BY_LAYERS:
        layers_add(key, rpl_trace_string(trace, location->module));
        break;
    }
}

static struct rpl_alloc_site *site_of(struct grouping *g, const char *key, uint32_t line)
{
    const uint64_t hash = vs_hash_mix(vs_hash_text(key), line);
    struct vs_probe probe = vs_probe(hash);
    struct rpl_alloc_sites *out = g->out;
    struct rpl_alloc_site *site;

    while (vs_table_next(&g->table, &probe)) {
        site = &out->items[probe.item];
        if (site->line == line && strcmp(site->key, key) == 0)
            return site;
    }
    vs_table_add(&g->table, hash, out->count);
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    site = &out->items[out->count++];
    memset(site, 0, sizeof(*site));
    site->key = vs_strdup(key);
    site->line = line;
    return site;
}

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_alloc_site *x = a;
    const struct rpl_alloc_site *y = b;
    int order;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    order = strcmp(x->key, y->key);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

void rpl_alloc_sites_fill(struct rpl_alloc_sites *out, const struct rpl_trace *trace,
                          const struct rpl_live *live, enum rpl_alloc_sites_by by)
{
    struct grouping g = {.out = out};
    struct vs_text key = {NULL, 0, 0};

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        const struct vs_location *location = rpl_trace_location(trace, block->alloc_location);
        struct rpl_alloc_site *site;

        key_make(&key, trace, location, by);
        site = site_of(&g, vs_text_get(&key), by == RPL_ALLOC_SITES_BY_LINE ? location->line : 0);
        site->bytes += block->bytes;
        site->blocks++;
        site->by_category[block->category] += block->bytes;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_bytes);
    vs_text_release(&key);
    vs_table_release(&g.table);
}

void rpl_alloc_sites_release(struct rpl_alloc_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        vs_free(sites->items[i].key);
    vs_free(sites->items);
    memset(sites, 0, sizeof(*sites));
}

static enum vs_category most_of(const struct rpl_alloc_site *site)
{
    size_t most = 0;

    for (size_t c = 1; c < VS_CATEGORY_COUNT; c++)
        most = site->by_category[c] > site->by_category[most] ? c : most;
    return (enum vs_category)most;
}

void rpl_alloc_sites_text(const struct rpl_alloc_sites *sites, const struct rpl_trace *trace,
                          size_t top, struct vs_text *out)
{
    uint64_t total = 0;

    for (size_t i = 0; i < sites->count; i++)
        total += sites->items[i].bytes;
    for (size_t i = 0; i < sites->count && i < top; i++) {
        const struct rpl_alloc_site *site = &sites->items[i];
        char bytes[VS_BYTES_TEXT_MAX];
        const char *line;
        size_t len;

        vs_text_addf(out, "%11s  %5.1f %%  %5" PRIu64 " block%s  %-10s ",
                     vs_bytes_text(site->bytes, bytes),
                     total ? 100.0 * (double)site->bytes / (double)total : 0.0, site->blocks,
                     site->blocks == 1 ? " " : "s", vs_category_name(most_of(site)));
        if (site->line)
            vs_text_addf(out, "line %" PRIu32 " of ", site->line);
        vs_text_addf(out, "%s\n", *site->key ? site->key : "(none)");
        if (!trace)
            continue;
        line = rpl_function_source(trace, site->key, site->line, &len);
        if (len) {
            vs_text_addf(out, "%11" PRIu32 " | ", site->line);
            vs_text_add_n(out, line, len);
            vs_text_add_char(out, '\n');
        }
    }
}

static void put_source_line(const struct rpl_trace *trace, const struct rpl_alloc_site *site,
                            struct vs_json *json)
{
    struct vs_text line = {NULL, 0, 0};
    size_t len;
    const char *text = rpl_function_source(trace, site->key, site->line, &len);

    vs_text_add_n(&line, text, len);
    vs_json_put_string(json, "source_line", vs_text_get(&line));
    vs_text_release(&line);
}

void rpl_alloc_sites_json(const struct rpl_alloc_sites *sites, const struct rpl_trace *trace,
                          enum rpl_alloc_sites_by by, size_t top, struct vs_json *json)
{
    vs_json_array(json);
    for (size_t i = 0; i < sites->count && i < top; i++) {
        const struct rpl_alloc_site *site = &sites->items[i];

        vs_json_object(json);
        if (by == RPL_ALLOC_SITES_BY_LINE) {
            vs_json_put_string(json, "function", site->key);
            vs_json_put_uint(json, "line", site->line);
            if (trace)
                put_source_line(trace, site, json);
        } else {
            vs_json_put_string(json, "module", site->key);
        }
        vs_json_put_uint(json, "bytes", site->bytes);
        vs_json_put_uint(json, "blocks", site->blocks);
        vs_json_key(json, "by_category");
        vs_json_object_flat(json);
        for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
            if (site->by_category[c])
                vs_json_put_uint(json, vs_category_name((enum vs_category)c), site->by_category[c]);
        vs_json_end(json);
        vs_json_end(json);
    }
    vs_json_end(json);
}
