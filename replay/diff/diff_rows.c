/*
 * replay/diff/diff_rows.c - counts blocks on both sides and groups them into rows; see diff_internal.h.
 *
 * Must not know:  which events are compared.
 * Invariant:      every block that is counted is one item, and every item is in exactly one row and one cause.
 */
#include "replay/diff/diff_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/block_text.h"

/* Flag for the number of a line that only B has, so that it is not mistaken for a line of A. */
#define LINE_OF_B (UINT64_C(1) << 32)

static struct rpl_align_side *align_side(struct rpl_diff *diff, const struct rpl_diff_side *side)
{
    return side == &diff->a ? &diff->align.a : &diff->align.b;
}

static const char *line_text(struct vs_arena *arena, const struct rpl_trace *trace, uint32_t line)
{
    size_t len;
    const char *text = rpl_trace_source_line(trace, line, &len);

    return len ? vs_arena_strndup(arena, text, len) : "";
}

/* The number of a pair of allocations, or of one without a counterpart. */
static uint64_t pair_number(const struct rpl_diff *diff, bool is_b, size_t at)
{
    if (!is_b)
        return at;
    if (diff->align.b.allocs[at].mate)
        return diff->align.b.allocs[at].mate - 1;
    return (uint64_t)diff->align.a.alloc_count + at;
}

void rpl_items_add(struct rpl_items *items, struct rpl_diff *diff, const struct rpl_diff_side *side,
                   size_t alloc, enum vs_category category, const char *module, uint64_t bytes)
{
    bool is_b = side == &diff->b;
    const struct rpl_alloc *made = &align_side(diff, side)->allocs[alloc];
    struct rpl_item item = {.pair = pair_number(diff, is_b, alloc)};
    struct rpl_diff_row *row = &item.row;
    const struct vs_location *location = rpl_trace_location(side->trace, made->location);
    const uint32_t line = location->line;
    uint32_t mate;

    row->key = row->module = module;
    row->func =
        rpl_trace_source_name(side->trace) ? "" : rpl_trace_string(side->trace, location->func);
    row->category = category;
    mate = rpl_align_line(align_side(diff, side), line);
    row->line_a = is_b ? mate : line;
    row->line_b = is_b ? line : mate;
    if (is_b) {
        row->alloc_b = made;
        row->alloc_a = made->mate ? &diff->align.a.allocs[made->mate - 1] : NULL;
    } else {
        row->alloc_a = made;
        row->alloc_b = made->mate ? &diff->align.b.allocs[made->mate - 1] : NULL;
    }
    row->a = is_b ? 0 : bytes;
    row->b = is_b ? bytes : 0;
    row->blocks_a = !is_b;
    row->blocks_b = is_b;
    items->all = vs_grow(items->all, items->count, &items->cap, sizeof(*items->all));
    items->all[items->count++] = item;
}

/* ---- pairs ---- */

static int by_pair(const void *x, const void *y)
{
    const struct rpl_item *a = x;
    const struct rpl_item *b = y;

    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->row.blocks_b != 0) - (b->row.blocks_b != 0);
}

static enum rpl_diff_cause cause_of(const struct rpl_diff_row *row)
{
    if (row->blocks_a && row->blocks_b)
        return RPL_DIFF_BOTH;
    if (row->blocks_a)
        return row->alloc_b ? RPL_DIFF_NOT_IN_B : RPL_DIFF_ONLY_A;
    return row->alloc_a ? RPL_DIFF_NOT_IN_A : RPL_DIFF_ONLY_B;
}

static void row_merge(struct rpl_diff_row *row, const struct rpl_diff_row *more)
{
    row->a += more->a;
    row->b += more->b;
    row->blocks_a += more->blocks_a;
    row->blocks_b += more->blocks_b;
}

/* Make a row per pair, and sum the pairs up by cause. */
static void pairs_sum(struct rpl_diff_part *part, struct rpl_item *pairs, size_t count)
{
    part->is_same = true;
    for (size_t i = 0; i < count; i++) {
        struct rpl_diff_row *row = &pairs[i].row;
        struct rpl_diff_sum *sum;

        row->cause = cause_of(row);
        sum = &part->causes[row->cause];
        sum->a += row->a;
        sum->b += row->b;
        sum->blocks_a += row->blocks_a;
        sum->blocks_b += row->blocks_b;
        part->a += row->a;
        part->b += row->b;
        if (row->cause != RPL_DIFF_BOTH || row->a != row->b)
            part->is_same = false;
    }
}

/* Merge the items of each pair; `items` is sorted by pair afterwards. False if a category differs. */
static size_t pairs_make(struct rpl_item *out, const struct rpl_items *items, bool *is_same)
{
    size_t count = 0;

    for (size_t i = 0; i < items->count; i++) {
        const struct rpl_item *item = &items->all[i];
        struct rpl_item *last = count ? &out[count - 1] : NULL;

        if (last && last->pair == item->pair) {
            *is_same = *is_same && last->row.category == item->row.category;
            row_merge(&last->row, &item->row);
            last->row.category = item->row.category;
        } else {
            out[count++] = *item;
        }
    }
    return count;
}

/* ---- rows ---- */

static int by_group(const void *x, const void *y)
{
    const struct rpl_item *a = x;
    const struct rpl_item *b = y;
    int order;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    order = strcmp(a->row.key, b->row.key);
    if (order)
        return order;
    if (a->row.category != b->row.category)
        return a->row.category < b->row.category ? -1 : 1;
    return a->pair < b->pair ? -1 : a->pair > b->pair;
}

static uint64_t change_of(const struct rpl_diff_row *row)
{
    return row->a > row->b ? row->a - row->b : row->b - row->a;
}

/* Order: the largest change first, then the largest size, then the first in order. */
static int by_change(const void *x, const void *y)
{
    const struct rpl_item *a = x;
    const struct rpl_item *b = y;
    uint64_t change_a = change_of(&a->row);
    uint64_t change_b = change_of(&b->row);

    if (change_a != change_b)
        return change_a > change_b ? -1 : 1;
    if (a->row.b != b->row.b)
        return a->row.b > b->row.b ? -1 : 1;
    return by_group(x, y);
}

/* The number of a row's line, that of A if both have it; 0: it has none. */
static uint64_t line_group(const struct rpl_diff_row *row)
{
    if (row->line_a)
        return row->line_a;
    return row->line_b ? LINE_OF_B + row->line_b : 0;
}

/* Set `group`, `key` and `category`, which together identify the row of an item. */
static void item_name(enum rpl_diff_by by, struct rpl_item *item)
{
    struct rpl_diff_row *row = &item->row;

    switch (by) {
    case RPL_DIFF_CATEGORY:
        row->key = vs_category_name(row->category);
        break;
    /* The key is the module path, which is set already. */
    case RPL_DIFF_MODULE:
        break;
    case RPL_DIFF_LINE:
        item->group = line_group(row);
        row->key = row->func;
        return;
    case RPL_DIFF_TENSOR:
    case RPL_DIFF_BY_COUNT:
        return;
    }
    row->line_a = row->line_b = 0;
}

/* True if the item is in this row of another grouping. */
static bool is_inside(const struct rpl_diff_row *row, const struct rpl_diff_inside *inside)
{
    struct rpl_diff_row other = {.line_a = inside->line_a, .line_b = inside->line_b};

    if (row->category != inside->category)
        return false;
    switch (inside->by) {
    case RPL_DIFF_CATEGORY:
        return true;
    case RPL_DIFF_MODULE:
        return strcmp(row->module, inside->key) == 0;
    case RPL_DIFF_LINE:
        return line_group(row) == line_group(&other) &&
               (!*row->func || strcmp(row->func, inside->key) == 0);
    case RPL_DIFF_TENSOR:
    case RPL_DIFF_BY_COUNT:
        break;
    }
    return true;
}

/* Remove the items that are not in all rows of options->inside. */
static void inside_keep(struct rpl_items *items, const struct rpl_diff_options *options)
{
    size_t kept = 0;

    for (size_t i = 0; i < items->count; i++) {
        bool keep = true;

        for (size_t k = 0; keep && k < options->inside_count; k++)
            keep = is_inside(&items->all[i].row, &options->inside[k]);
        if (keep)
            items->all[kept++] = items->all[i];
    }
    items->count = kept;
}

/* "layer1.0.conv1.weight", "made by relu in layer1.0.relu, line 33". */
static enum vs_status tensor_name(struct rpl_diff *diff, struct vs_arena *arena,
                                  struct rpl_diff_row *row, struct vs_text *text,
                                  struct vs_error *err)
{
    const struct rpl_diff_side *side = row->blocks_b ? &diff->b : &diff->a;
    const struct rpl_alloc *made = row->blocks_b ? row->alloc_b : row->alloc_a;
    struct rpl_block block = {.id = made->block,
                              .tensor = made->tensor,
                              .alloc_location = made->location,
                              .category = (uint8_t)row->category};
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(side->index, made->block, &life, err);

    if (st)
        return st;
    vs_text_clear(text);
    rpl_block_text(side->trace, &block, life.name, text);
    row->key = vs_arena_strndup(arena, vs_text_get(text), text->len);
    return VS_OK;
}

/* Set the texts that are needed only once a row exists. */
static enum vs_status rows_name(struct rpl_diff *diff, struct rpl_diff_part *part,
                                struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < part->row_count; i++) {
        struct rpl_diff_row *row = &part->rows[i];

        if (diff->options.by == RPL_DIFF_LINE && !*row->func)
            row->key = row->line_b ? line_text(part->arena, diff->b.trace, row->line_b)
                                   : line_text(part->arena, diff->a.trace, row->line_a);
        else if (diff->options.by == RPL_DIFF_TENSOR)
            st = tensor_name(diff, part->arena, row, &text, err);
    }
    vs_text_release(&text);
    return st;
}

/* Merge the items into sorted rows. Returns the number of rows. */
static size_t rows_fold(struct rpl_diff *diff, struct rpl_item *all, size_t count)
{
    size_t rows = 0;

    if (diff->options.by == RPL_DIFF_TENSOR || !count)
        return count;
    for (size_t i = 0; i < count; i++)
        item_name(diff->options.by, &all[i]);
    qsort(all, count, sizeof(*all), by_group);
    for (size_t i = 0; i < count; i++) {
        struct rpl_item *last = rows ? &all[rows - 1] : NULL;

        if (last && last->group == all[i].group && last->row.category == all[i].row.category &&
            strcmp(last->row.key, all[i].row.key) == 0) {
            row_merge(&last->row, &all[i].row);
        } else {
            all[rows] = all[i];
            all[rows].row.alloc_a = all[rows].row.alloc_b = NULL;
            all[rows].row.module = NULL;
            rows++;
        }
    }
    return rows;
}

enum vs_status rpl_items_take(struct rpl_items *items, struct rpl_diff *diff,
                              struct rpl_diff_part *part, struct vs_error *err)
{
    struct rpl_item *pairs = vs_calloc(items->count + 1, sizeof(*pairs));
    bool has_categories = true;
    size_t count;

    part->arena = vs_arena_new();
    inside_keep(items, &diff->options);
    if (items->count)
        qsort(items->all, items->count, sizeof(*items->all), by_pair);
    count = pairs_make(pairs, items, &has_categories);
    pairs_sum(part, pairs, count);
    part->is_same = part->is_same && has_categories;
    if (diff->options.by == RPL_DIFF_TENSOR) {
        vs_free(items->all);
        items->all = pairs;
    } else {
        vs_free(pairs);
        count = items->count;
    }
    count = rows_fold(diff, items->all, count);
    if (count)
        qsort(items->all, count, sizeof(*items->all), by_change);
    part->rows = vs_calloc(count + 1, sizeof(*part->rows));
    part->row_count = count;
    for (size_t i = 0; i < count; i++)
        part->rows[i] = items->all[i].row;
    vs_free(items->all);
    *items = (struct rpl_items){.all = NULL};
    return rows_name(diff, part, err);
}
