/*
 * replay/inspect/modules.c - see modules.h.
 *
 * Must not know:  drawing.
 * Invariant:      all[0] is the root; the descendants of a module follow it directly.
 */
#include "replay/inspect/modules.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/block_module.h"

/*
 * A module while the tree is built, in the order in which the trace names them. first_child, last_child, next: index +
 * 1; 0: none.
 */
struct draft {
    const char *path;
    size_t len;
    size_t parent;
    size_t first_child;
    size_t last_child;
    size_t next;
    size_t number;
};

/*
 * all         the modules, the root first
 * of_module   by string id of a path: index of the module + 1; 0: no module has this path
 * of_name     by string id of a parameter's or buffer's name: likewise the module it belongs to
 * by_path     finds a draft by its path
 */
struct rpl_modules {
    struct rpl_index *index;
    struct vs_arena *texts;
    struct rpl_module *all;
    size_t count;
    size_t *of_module;
    size_t *of_name;
    size_t string_count;
    struct draft *drafts;
    size_t draft_count;
    size_t draft_cap;
    struct vs_table by_path;
};

/* ---- the tree ---- */

/* Index of the draft of the path; where there is none, it is added after drafts of all its parents. */
static size_t draft_get(struct rpl_modules *m, const char *path, size_t len)
{
    const uint64_t hash = vs_hash_bytes(path, len);
    struct vs_probe probe = vs_probe(hash);
    size_t parent = SIZE_MAX;
    struct draft *d;
    size_t cut = len;

    while (vs_table_next(&m->by_path, &probe)) {
        d = &m->drafts[probe.item];
        if (d->len == len && memcmp(d->path, path, len) == 0)
            return probe.item;
    }
    if (len) {
        while (cut && path[cut - 1] != '.')
            cut--;
        parent = draft_get(m, path, cut ? cut - 1 : 0);
    }
    vs_table_add(&m->by_path, hash, m->draft_count);
    m->drafts = vs_grow(m->drafts, m->draft_count, &m->draft_cap, sizeof(*m->drafts));
    d = &m->drafts[m->draft_count++];
    *d = (struct draft){.path = path, .len = len, .parent = parent};
    if (parent != SIZE_MAX) {
        struct draft *p = &m->drafts[parent];

        if (p->last_child)
            m->drafts[p->last_child - 1].next = m->draft_count;
        else
            p->first_child = m->draft_count;
        p->last_child = m->draft_count;
    }
    return m->draft_count - 1;
}

/* Append the draft and its descendants to `all`. */
static void lay_out(struct rpl_modules *m, size_t draft, size_t parent, size_t depth)
{
    struct draft *d = &m->drafts[draft];
    size_t number = m->count++;
    struct rpl_module *module = &m->all[number];
    size_t cut = d->len;

    while (cut && d->path[cut - 1] != '.')
        cut--;
    d->number = number;
    module->path = vs_arena_strndup(m->texts, d->path, d->len);
    module->name = module->path + cut;
    module->parent = parent;
    module->depth = depth;
    for (size_t child = d->first_child; child; child = m->drafts[child - 1].next) {
        m->all[number].child_count++;
        lay_out(m, child - 1, number, depth + 1);
    }
    m->all[number].below = m->count - number - 1;
}

static void tree_make(struct rpl_modules *m)
{
    const struct rpl_trace *trace = m->index->trace;
    uint32_t locations = rpl_trace_location_count(trace);
    size_t draft;

    m->string_count = (size_t)rpl_trace_string_count(trace) + 1;
    m->of_module = vs_calloc(m->string_count, sizeof(*m->of_module));
    m->of_name = vs_calloc(m->string_count, sizeof(*m->of_name));
    draft_get(m, "", 0);
    for (uint32_t i = 1; i <= locations; i++) {
        uint32_t module = rpl_trace_location(trace, i)->module;
        const char *path = rpl_trace_string(trace, module);

        if (module && module < m->string_count && !m->of_module[module])
            m->of_module[module] = draft_get(m, path, strlen(path)) + 1;
    }
    for (size_t i = 0; i < m->index->name_count; i++) {
        uint32_t name = m->index->names[i];
        size_t len;
        const char *path = rpl_name_module(rpl_trace_string(trace, name), &len);

        if (name < m->string_count)
            m->of_name[name] = draft_get(m, path, len) + 1;
    }
    m->all = vs_calloc(m->draft_count, sizeof(*m->all));
    lay_out(m, 0, SIZE_MAX, 0);
    for (size_t i = 0; i < m->string_count; i++) {
        draft = m->of_module[i];
        m->of_module[i] = draft ? m->drafts[draft - 1].number + 1 : 0;
        draft = m->of_name[i];
        m->of_name[i] = draft ? m->drafts[draft - 1].number + 1 : 0;
    }
}

/* ---- bytes ---- */

static size_t module_of_name(const struct rpl_modules *m, uint32_t name)
{
    return name < m->string_count ? m->of_name[name] : 0;
}

enum vs_status rpl_modules_of(struct rpl_modules *m, const struct rpl_cursor *cursor,
                              const struct rpl_block *block, size_t *out, struct vs_error *err)
{
    uint32_t module = rpl_trace_location(m->index->trace, block->alloc_location)->module;
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);
    struct rpl_lifetime life;
    size_t found = 0;
    enum vs_status st = rpl_lifetime_get(m->index, block->id, &life, err);

    *out = 0;
    if (st)
        return st;
    if (life.name)
        found = module_of_name(m, life.name);
    for (size_t i = rpl_cursor_held_first(cursor, block->id); !found && i != SIZE_MAX;
         i = rpl_cursor_held_next(cursor, i))
        if (held[i].holder.kind == VS_HOLD_GRAD)
            found = module_of_name(m, held[i].holder.name);
    if (!found && module < m->string_count)
        found = m->of_module[module];
    *out = found ? found - 1 : 0;
    return VS_OK;
}

enum vs_status rpl_modules_fill(struct rpl_modules *m, const struct rpl_cursor *cursor,
                                struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);

    for (size_t i = 0; i < m->count; i++) {
        m->all[i].own = m->all[i].total = m->all[i].blocks = 0;
        memset(m->all[i].by_category, 0, sizeof(m->all[i].by_category));
    }
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        size_t at;
        enum vs_status st = rpl_modules_of(m, cursor, block, &at, err);

        if (st)
            return st;
        m->all[at].own += block->bytes;
        m->all[at].total += block->bytes;
        m->all[at].by_category[block->category] += block->bytes;
        m->all[at].blocks++;
    }
    for (size_t i = m->count;
         i-- > 1;) { /* from last to first: each module after its descendants */
        struct rpl_module *up = &m->all[m->all[i].parent];

        up->total += m->all[i].total;
        up->blocks += m->all[i].blocks;
        for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
            up->by_category[c] += m->all[i].by_category[c];
    }
    return VS_OK;
}

/* Fill in the bytes at the peak. */
static enum vs_status top_fill(struct rpl_modules *m, struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(m->index);
    enum vs_status st = rpl_cursor_seek(cursor, rpl_index_top(m->index).event, err);

    if (!st)
        st = rpl_modules_fill(m, cursor, err);
    for (size_t i = 0; i < m->count; i++) {
        m->all[i].own_top = m->all[i].own;
        m->all[i].total_top = m->all[i].total;
        m->all[i].own = m->all[i].total = m->all[i].blocks = 0;
        memset(m->all[i].by_category, 0, sizeof(m->all[i].by_category));
    }
    rpl_cursor_free(cursor);
    return st;
}

enum vs_status rpl_modules_new(struct rpl_index *index, struct rpl_modules **out,
                               struct vs_error *err)
{
    struct rpl_modules *m = vs_calloc(1, sizeof(*m));
    enum vs_status st;

    *out = NULL;
    m->index = index;
    m->texts = vs_arena_new();
    tree_make(m);
    vs_free(m->drafts);
    vs_table_release(&m->by_path);
    m->drafts = NULL;
    st = top_fill(m, err);
    if (st) {
        rpl_modules_free(m);
        return st;
    }
    *out = m;
    return VS_OK;
}

void rpl_modules_free(struct rpl_modules *m)
{
    if (!m)
        return;
    vs_arena_free(m->texts);
    vs_free(m->all);
    vs_free(m->of_module);
    vs_free(m->of_name);
    vs_free(m->drafts);
    vs_table_release(&m->by_path);
    vs_free(m);
}

const struct rpl_module *rpl_modules_all(const struct rpl_modules *modules, size_t *count)
{
    *count = modules->count;
    return modules->all;
}
