/*
 * export/html/html_blocks.c - the blocks that a report can show: the largest of those that are visible at some zoom.
 *
 * Must not know:  columns.
 * Invariant:      at most 3 * HTML_BLOCKS blocks; the largest blocks alive at the peak are among them.
 *
 * Three choices are made, each of the largest HTML_BLOCKS: blocks alive at the peak; blocks alive in the step of the
 * peak; and blocks of the whole run that live for at least as long as one of its columns.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "export/html/html_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/block_name.h"
#include "replay/inspect/block_text.h"

/* A choice of the largest blocks: a heap with the smallest first. */
struct choice {
    struct rpl_lifetime items[HTML_BLOCKS];
    size_t count;
};

/* A block that is written, and how its category changes. */
struct change {
    uint64_t seq;
    uint8_t category;
};
struct chosen {
    struct rpl_lifetime life;
    struct change changes[HTML_CHANGES_MAX];
    size_t change_count;
};

struct chosen_list {
    struct chosen *items;
    size_t count;
};

/* ---- choosing ---- */

/* The smaller block first; of equal ones the later, so that the earlier ones are kept. */
static bool is_below(const struct rpl_lifetime *a, const struct rpl_lifetime *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->id > b->id;
}

static void items_swap(struct choice *choice, size_t i, size_t j)
{
    struct rpl_lifetime held = choice->items[i];

    choice->items[i] = choice->items[j];
    choice->items[j] = held;
}

static void sift_down(struct choice *choice)
{
    size_t at = 0;

    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < choice->count && is_below(&choice->items[child], &choice->items[least]))
                least = child;
        if (least == at)
            return;
        items_swap(choice, at, least);
        at = least;
    }
}

static void choice_add(struct choice *choice, const struct rpl_lifetime *life)
{
    if (choice->count == HTML_BLOCKS) {
        if (is_below(life, &choice->items[0]))
            return;
        choice->items[0] = *life;
        sift_down(choice);
        return;
    }
    choice->items[choice->count] = *life;
    for (size_t at = choice->count++; at; at = (at - 1) / 2) {
        if (!is_below(&choice->items[at], &choice->items[(at - 1) / 2]))
            return;
        items_swap(choice, at, (at - 1) / 2);
    }
}

static bool is_alive_in(const struct rpl_lifetime *life, uint64_t first, uint64_t last)
{
    return life->alloc_seq <= last && (!life->free_seq || life->free_seq > first);
}

static int by_id(const void *a, const void *b)
{
    const struct chosen *x = a;
    const struct chosen *y = b;

    return x->life.id < y->life.id ? -1 : x->life.id > y->life.id;
}

/* The choices as one list in order of allocation, each block once. */
static void choices_join(const struct choice *choices, size_t count, struct chosen_list *out)
{
    size_t kept = 0;

    out->items = vs_calloc(count * HTML_BLOCKS, sizeof(*out->items));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < choices[i].count; j++)
            out->items[out->count++].life = choices[i].items[j];
    if (!out->count)
        return;
    qsort(out->items, out->count, sizeof(*out->items), by_id);
    for (size_t i = 1; i < out->count; i++)
        if (out->items[i].life.id != out->items[kept].life.id)
            out->items[++kept] = out->items[i];
    out->count = kept + 1;
}

static enum vs_status blocks_choose(struct html *html, struct chosen_list *out,
                                    struct vs_error *err)
{
    uint64_t events = rpl_index_event_count(html->index);
    uint64_t peak = html->sum->peak.event;
    uint64_t ids = rpl_lifetime_count(html->index);
    struct choice *choices = vs_calloc(3, sizeof(*choices));
    enum vs_status st = VS_OK;

    for (uint64_t id = 1; !st && id <= ids; id++) {
        struct rpl_lifetime life;
        uint64_t end;

        st = rpl_lifetime_get(html->index, id, &life, err);
        if (st || !life.alloc_seq)
            continue;
        end = life.free_seq ? life.free_seq : events + 1;
        if (is_alive_in(&life, peak, peak))
            choice_add(&choices[0], &life);
        if (is_alive_in(&life, html->step_first, html->step_last))
            choice_add(&choices[1], &life);
        if (end - life.alloc_seq >= events / HTML_COLUMNS)
            choice_add(&choices[2], &life);
    }
    if (!st)
        choices_join(choices, 3, out);
    vs_free(choices);
    return st;
}

/* ---- categories ---- */

static struct chosen *chosen_find(const struct chosen_list *list, uint64_t id)
{
    struct chosen key = {.life = {.id = id}};

    return list->count ? bsearch(&key, list->items, list->count, sizeof(key), by_id) : NULL;
}

static void change_add(struct chosen *chosen, uint64_t seq, uint8_t category)
{
    if (chosen && chosen->change_count < HTML_CHANGES_MAX)
        chosen->changes[chosen->change_count++] = (struct change){seq, category};
}

static enum vs_status categories_read(struct html *html, const struct chosen_list *list,
                                      struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, html->trace, 1, rpl_index_event_count(html->index));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_ALLOC)
            change_add(chosen_find(list, event->alloc.block), scan->seq, event->alloc.category);
        else if (event->kind == VS_EV_CATEGORY)
            change_add(chosen_find(list, event->category.block), scan->seq,
                       event->category.category);
    }
    st = scan->status;
    vs_free(scan);
    return st;
}

/* ---- writing ---- */

static void location_put(struct html *html, uint32_t id)
{
    const struct vs_location *location = rpl_trace_location(html->trace, id);

    vs_json_put_string(html->json, "op", rpl_trace_string(html->trace, location->op));
    vs_json_put_string(html->json, "module", rpl_trace_string(html->trace, location->module));
    vs_json_put_string(html->json, "function", rpl_trace_string(html->trace, location->func));
    vs_json_put_uint(html->json, "line", location->line);
}

/* What the block is at the peak, or when the optimizer begins; nothing where it has no name there. */
static void name_add(struct html *html, const struct rpl_lifetime *life, struct vs_text *out)
{
    const struct rpl_cursor *cursors[] = {html->cursor, html->late};

    for (size_t i = 0; i < 2; i++) {
        const struct rpl_block *block = rpl_live_block(rpl_cursor_live(cursors[i]), life->id);

        if (block && rpl_block_name(cursors[i], block, life, out))
            return;
    }
    if (life->name)
        vs_text_add(out, rpl_trace_string(html->trace, life->name));
}

/* Its name, or else what made it: as the TUI calls it. */
static void title_put(struct html *html, const struct chosen *chosen, struct vs_text *text)
{
    struct rpl_block block;

    vs_text_clear(text);
    name_add(html, &chosen->life, text);
    vs_json_put_string(html->json, "name", text->len ? vs_text_get(text) : NULL);
    if (text->len)
        return;
    memset(&block, 0, sizeof(block));
    block.id = chosen->life.id;
    block.tensor = chosen->life.tensor;
    block.alloc_location = chosen->life.location;
    block.category =
        chosen->change_count ? (uint8_t)chosen->changes[0].category : (uint8_t)VS_CAT_OTHER;
    rpl_block_origin(html->trace, &block, text);
    vs_json_put_string(html->json, "origin", vs_text_get(text));
}

static void block_put(struct html *html, const struct chosen *chosen, struct vs_text *text)
{
    const struct rpl_lifetime *life = &chosen->life;
    struct vs_json *json = html->json;

    vs_json_object(json);
    vs_json_put_uint(json, "id", life->id);
    vs_json_put_uint(json, "alloc", life->alloc_seq);
    vs_json_put_uint(json, "free", life->free_seq);
    vs_json_put_uint(json, "last_use", life->last_use_seq);
    vs_json_put_uint(json, "bytes", life->bytes);
    vs_json_put_uint(json, "requested", life->requested);
    title_put(html, chosen, text);
    vs_text_clear(text);
    rpl_shape_text(html->trace, life->tensor, text);
    vs_json_put_string(json, "shape", vs_text_get(text));
    location_put(html, life->location);
    vs_json_key(json, "categories");
    vs_json_array(json);
    for (size_t i = 0; i < chosen->change_count; i++) {
        vs_json_uint(json, chosen->changes[i].seq);
        vs_json_uint(json, chosen->changes[i].category);
    }
    vs_json_end(json);
    vs_json_end(json);
}

/* ---- the table of blocks at the peak ---- */

static uint64_t gain_of(const struct rpl_kept_list *kept, uint64_t id)
{
    for (size_t i = 0; i < kept->count; i++)
        if (kept->items[i].block.id == id)
            return kept->items[i].gain;
    return 0;
}

static enum vs_status peak_row_put(struct html *html, const struct rpl_block *block,
                                   const struct rpl_kept_list *kept, struct rpl_why *why,
                                   struct vs_text *text, struct vs_error *err)
{
    struct vs_json *json = html->json;
    enum vs_status st;

    why->id = block->id;
    st = rpl_alive_why(html->cursor, why, err);
    if (st)
        return st;
    rpl_why_distinct(html->trace, why);
    vs_json_object(json);
    vs_json_put_uint(json, "block", block->id);
    vs_json_put_string(json, "category", vs_category_name((enum vs_category)block->category));
    vs_json_put_uint(json, "last_use_line",
                     rpl_trace_location(html->trace, block->last_use_location)->line);
    vs_json_put_uint(json, "next_use_line",
                     rpl_trace_location(html->trace, why->next_use_location)->line);
    vs_json_put_uint(json, "next_use", why->next_use_seq);
    vs_json_put_uint(json, "gain", gain_of(kept, block->id));
    vs_json_key(json, "holders");
    vs_json_array(json);
    for (size_t i = 0; i < why->holder_count && i < 4; i++) {
        vs_text_clear(text);
        rpl_holder_text(html->trace, &why->holders[i], text);
        vs_json_string(json, vs_text_get(text));
    }
    vs_json_end(json);
    vs_json_end(json);
    return VS_OK;
}

static enum vs_status peak_put(struct html *html, struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(html->cursor);
    size_t count = live->block_count;
    struct rpl_block *blocks = vs_calloc(count + 1, sizeof(*blocks));
    struct rpl_kept_list *kept = vs_calloc(1, sizeof(*kept));
    struct rpl_why why = {.id = 0};
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (count)
        memcpy(blocks, live->blocks, count * sizeof(*blocks));
    qsort(blocks, count, sizeof(*blocks), rpl_block_by_bytes);
    if (html->sum->peak.event && rpl_trace_has_uses(html->trace))
        st = rpl_alive_kept(html->cursor, kept, err);
    vs_json_put_uint(html->json, "blocks_at_peak", count);
    vs_json_put_uint(html->json, "gain", kept->gain);
    vs_json_key(html->json, "at_peak");
    vs_json_array(html->json);
    for (size_t i = 0; !st && i < count && i < HTML_PEAK_ROWS; i++)
        st = peak_row_put(html, &blocks[i], kept, &why, &text, err);
    vs_json_end(html->json);
    vs_text_release(&text);
    rpl_why_release(&why);
    vs_free(kept);
    vs_free(blocks);
    return st;
}

enum vs_status exp_html_blocks(struct html *html, struct vs_error *err)
{
    struct chosen_list list = {NULL, 0};
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (rpl_index_event_count(html->index)) {
        st = blocks_choose(html, &list, err);
        if (!st)
            st = categories_read(html, &list, err);
    }
    vs_json_put_uint(html->json, "all_blocks", rpl_lifetime_count(html->index));
    vs_json_key(html->json, "blocks");
    vs_json_array(html->json);
    for (size_t i = 0; !st && i < list.count; i++)
        block_put(html, &list.items[i], &text);
    vs_json_end(html->json);
    vs_text_release(&text);
    vs_free(list.items);
    return st ? st : peak_put(html, err);
}
