/*
 * replay/diff.c - gathers what differs; see diff.h.
 *
 * Must not know:  how it is laid out.
 * Invariant:      every block that is counted is one item, and every item is in exactly one row.
 */
#include "replay/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/cursor.h"
#include "replay/modules.h"

static const char *const BY_NAMES[RPL_DIFF_BY_COUNT] = {"category", "module", "line"};

const char *rpl_diff_by_name(enum rpl_diff_by by)
{
    return BY_NAMES[by];
}

bool rpl_diff_by_parse(const char *name, enum rpl_diff_by *out)
{
    for (int i = 0; i < RPL_DIFF_BY_COUNT; i++)
        if (strcmp(name, BY_NAMES[i]) == 0) {
            *out = (enum rpl_diff_by)i;
            return true;
        }
    return false;
}

/* What is counted, of both sides: rows in the making, one a block. */
struct items {
    struct rpl_diff_row *all;
    size_t count;
    size_t cap;
};

/* ---- rows ---- */

static int by_group(const void *x, const void *y)
{
    const struct rpl_diff_row *a = x;
    const struct rpl_diff_row *b = y;
    int order;

    if (a->line_a != b->line_a)
        return a->line_a < b->line_a ? -1 : 1;
    if (a->line_b != b->line_b)
        return a->line_b < b->line_b ? -1 : 1;
    order = strcmp(a->key, b->key);
    if (order)
        return order;
    return a->category < b->category ? -1 : a->category > b->category;
}

static uint64_t change_of(const struct rpl_diff_row *row)
{
    return row->a > row->b ? row->a - row->b : row->b - row->a;
}

/* The largest change first, then what is largest. */
static int by_change(const void *x, const void *y)
{
    const struct rpl_diff_row *a = x;
    const struct rpl_diff_row *b = y;

    if (change_of(a) != change_of(b))
        return change_of(a) > change_of(b) ? -1 : 1;
    if (a->b != b->b)
        return a->b > b->b ? -1 : 1;
    return by_group(x, y);
}

/* Take the items, and make of those that belong together one row. */
static void part_fill(struct rpl_diff_part *part, struct items *items)
{
    size_t count = 0;

    if (items->count)
        qsort(items->all, items->count, sizeof(*items->all), by_group);
    for (size_t i = 0; i < items->count; i++) {
        const struct rpl_diff_row *item = &items->all[i];
        struct rpl_diff_row *last = count ? &items->all[count - 1] : NULL;

        part->a += item->a;
        part->b += item->b;
        if (last && by_group(last, item) == 0) {
            last->a += item->a;
            last->b += item->b;
            last->blocks_a += item->blocks_a;
            last->blocks_b += item->blocks_b;
        } else {
            items->all[count++] = *item;
        }
    }
    if (count)
        qsort(items->all, count, sizeof(*items->all), by_change);
    part->rows = items->all;
    part->row_count = count;
    *items = (struct items){.all = NULL};
}

/* ---- a side ---- */

static const char *line_text(struct rpl_diff *diff, const struct rpl_trace *trace, uint32_t line)
{
    size_t len;
    const char *text = rpl_trace_source_line(trace, line, &len);

    return len ? vs_arena_strndup(diff->arena, text, len) : "";
}

/*
 * An item of a block. `module` is the path of the one it belongs to.
 */
static void item_add(struct rpl_diff *diff, const struct rpl_diff_side *side, struct items *items,
                     const struct rpl_block *block, const char *module, uint64_t bytes)
{
    struct rpl_diff_row row = {.key = "", .category = (enum vs_category)block->category};
    uint32_t line = rpl_trace_place(side->trace, block->alloc_place)->line;

    switch (diff->by) {
    case RPL_DIFF_CATEGORY:
        row.key = vs_category_name(row.category);
        break;
    case RPL_DIFF_MODULE:
        row.key = module;
        break;
    case RPL_DIFF_LINE:
        row.key = line_text(diff, side->trace, line);
        row.line_a = row.line_b = line;
        break;
    case RPL_DIFF_BY_COUNT:
        break;
    }
    if (side == &diff->a) {
        row.a = bytes;
        row.blocks_a = 1;
    } else {
        row.b = bytes;
        row.blocks_b = 1;
    }
    items->all = vs_grow(items->all, items->count, &items->cap, sizeof(*items->all));
    items->all[items->count++] = row;
}

/* What is alive at the side's moment. */
static enum vs_status moment_add(struct rpl_diff *diff, struct rpl_diff_side *side,
                                 struct items *items, struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(side->index);
    struct rpl_modules *modules = NULL;
    const struct rpl_live *live = rpl_cursor_live(cursor);
    enum vs_status st = rpl_cursor_seek(cursor, side->at.event, err);

    if (!st)
        st = rpl_modules_new(side->index, &modules, err);
    for (size_t i = 0; !st && i < live->block_count; i++) {
        size_t count;
        size_t at;

        st = rpl_modules_of(modules, cursor, &live->blocks[i], &at, err);
        if (!st) {
            const char *path = rpl_modules_all(modules, &count)[at].path;

            path = vs_arena_strndup(diff->arena, path, strlen(path));
            item_add(diff, side, items, &live->blocks[i], path, live->blocks[i].bytes);
        }
    }
    rpl_modules_free(modules);
    rpl_cursor_free(cursor);
    return st;
}

static enum vs_status side_open(struct rpl_diff_side *side, struct rpl_index *index,
                                struct vs_error *err)
{
    enum vs_status st;

    side->index = index;
    side->trace = rpl_index_trace(index);
    st = rpl_summary_fill(&side->sum, side->trace, err);
    side->at = side->sum.peak;
    return st;
}

/* ---- how they were made ---- */

static const char *toggle_value(const struct rpl_trace *trace, const char *name)
{
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++)
        if (strcmp(rpl_trace_toggle(trace, i).name, name) == 0)
            return rpl_trace_toggle(trace, i).value;
    return NULL;
}

static void toggles_fill(struct rpl_diff *diff)
{
    size_t count_a = rpl_trace_toggle_count(diff->a.trace);
    size_t count_b = rpl_trace_toggle_count(diff->b.trace);

    diff->toggles = vs_arena_calloc(diff->arena, count_a + count_b + 1, sizeof(*diff->toggles));
    for (size_t i = 0; i < count_a + count_b; i++) {
        const char *name = i < count_a ? rpl_trace_toggle(diff->a.trace, i).name
                                       : rpl_trace_toggle(diff->b.trace, i - count_a).name;
        const char *a = toggle_value(diff->a.trace, name);
        const char *b = toggle_value(diff->b.trace, name);

        if ((i >= count_a && a) || (a && b && strcmp(a, b) == 0))
            continue;
        diff->toggles[diff->toggle_count++] = (struct rpl_diff_toggle){name, a, b};
    }
}

/* ---- the whole ---- */

static bool part_is_same(const struct rpl_diff_part *part)
{
    return !part->row_count || change_of(&part->rows[0]) == 0;
}

enum vs_status rpl_diff_fill(struct rpl_diff *out, struct rpl_index *a, struct rpl_index *b,
                             enum rpl_diff_by by, struct vs_error *err)
{
    struct items items = {.all = NULL};
    enum vs_status st;

    out->by = by;
    out->arena = vs_arena_new();
    st = side_open(&out->a, a, err);
    if (!st)
        st = side_open(&out->b, b, err);
    if (!st)
        st = moment_add(out, &out->a, &items, err);
    if (!st)
        st = moment_add(out, &out->b, &items, err);
    if (st) {
        vs_free(items.all);
        return st;
    }
    part_fill(&out->moment, &items);
    toggles_fill(out);
    out->is_same = part_is_same(&out->moment) && !out->toggle_count;
    return VS_OK;
}

void rpl_diff_release(struct rpl_diff *diff)
{
    vs_free(diff->moment.rows);
    rpl_summary_release(&diff->a.sum);
    rpl_summary_release(&diff->b.sum);
    vs_arena_free(diff->arena);
    memset(diff, 0, sizeof(*diff));
}
