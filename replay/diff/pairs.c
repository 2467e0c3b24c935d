/*
 * replay/diff/pairs.c - see pairs.h.
 *
 * Must not know:  how anything is shown.
 * Invariant:      rows are only appended, so the events of each trace ascend in them.
 */
#include "replay/diff/pairs.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "replay/diff/lcs.h"

/* A trace while its rows are made: the next allocation and the next free without a row. */
struct walk {
    const struct rpl_align_side *side;
    size_t alloc;
    size_t freed;
    uint64_t seq;
    uint64_t total;
};

/* An allocator event: its allocation, and whether it is the free. */
struct event {
    uint32_t alloc;
    bool is_free;
};
struct events {
    struct event *all;
    size_t count;
    size_t cap;
};

/* The state of making rows. */
struct filling {
    struct rpl_pairs *pairs;
    struct walk a;
    struct walk b;
    struct events gap_a;
    struct events gap_b;
};

/* ---- walking ---- */

static uint64_t event_seq(const struct rpl_align_side *side, struct event event)
{
    return event.is_free ? side->allocs[event.alloc].free_seq : side->allocs[event.alloc].seq;
}

/* Take its events before `end`; all that are left if there is no end (UINT64_MAX). */
static void events_take(struct walk *walk, uint64_t end, struct events *out)
{
    const struct rpl_align_side *side = walk->side;

    out->count = 0;
    for (;;) {
        struct event made = {(uint32_t)walk->alloc, false};
        struct event freed = {0, true};
        bool has_made = walk->alloc < side->alloc_count;
        bool has_freed = walk->freed < side->free_count;
        bool is_free;

        if (has_freed)
            freed.alloc = side->frees[walk->freed];
        is_free = has_freed && (!has_made || event_seq(side, freed) < event_seq(side, made));
        if ((!has_made && !has_freed) || event_seq(side, is_free ? freed : made) >= end)
            return;
        out->all = vs_grow(out->all, out->count, &out->cap, sizeof(*out->all));
        out->all[out->count++] = is_free ? freed : made;
        walk->freed += is_free;
        walk->alloc += !is_free;
    }
}

/* ---- rows ---- */

static void walk_do(struct walk *walk, struct event event)
{
    uint64_t bytes = walk->side->allocs[event.alloc].bytes;

    walk->seq = event_seq(walk->side, event);
    walk->total = event.is_free ? walk->total - bytes : walk->total + bytes;
}

static enum rpl_pair_kind kind_of(const struct walk *walk, struct event event)
{
    return walk->side->allocs[event.alloc].mate ? RPL_PAIR_MOVED : RPL_PAIR_ONLY;
}

/* Append a row of one event, or of two that correspond. */
static void row_add(struct filling *f, const struct event *a, const struct event *b)
{
    struct rpl_pairs *pairs = f->pairs;
    struct rpl_pair_row row = {.is_free = a ? a->is_free : b->is_free};

    if (a)
        walk_do(&f->a, *a);
    if (b)
        walk_do(&f->b, *b);
    if (a && b)
        row.kind = f->a.side->allocs[a->alloc].bytes == f->b.side->allocs[b->alloc].bytes
                       ? RPL_PAIR_SAME
                       : RPL_PAIR_SIZE;
    else
        row.kind = (uint8_t)(a ? kind_of(&f->a, *a) : kind_of(&f->b, *b));
    row.alloc_a = a ? a->alloc + 1 : 0;
    row.alloc_b = b ? b->alloc + 1 : 0;
    row.seq_a = f->a.seq;
    row.seq_b = f->b.seq;
    row.total_a = f->a.total;
    row.total_b = f->b.total;
    pairs->rows = vs_grow(pairs->rows, pairs->row_count, &pairs->row_cap, sizeof(*pairs->rows));
    pairs->rows[pairs->row_count++] = row;
}

/* ---- between two rows of both ---- */

/* Frees of the same pair have the same key; every other event has a unique one. */
static uint64_t key_of(const struct rpl_align_side *side, bool is_b, struct event event)
{
    uint32_t mate = side->allocs[event.alloc].mate;

    if (event.is_free && mate)
        return is_b ? mate - 1 : event.alloc;
    return (uint64_t)(is_b ? 3 : 2) << 62 | (uint64_t)event.is_free << 60 | event.alloc;
}

static uint64_t *keys_of(const struct walk *walk, bool is_b, const struct events *events,
                         size_t from)
{
    uint64_t *keys = vs_calloc(events->count - from + 1, sizeof(*keys));

    for (size_t i = from; i < events->count; i++)
        keys[i - from] = key_of(walk->side, is_b, events->all[i]);
    return keys;
}

/* Make rows for the rest of the gap, from event `from` of each trace on, where the two begin to differ. */
static void gap_match(struct filling *f, size_t from)
{
    uint64_t *a = keys_of(&f->a, false, &f->gap_a, from);
    uint64_t *b = keys_of(&f->b, true, &f->gap_b, from);
    size_t count = f->gap_a.count - from;
    uint32_t *mates = vs_calloc(count + 1, sizeof(*mates));
    size_t k = from;

    rpl_lcs(a, count, b, f->gap_b.count - from, mates);
    /* Those of A before those of B, up to the next event that both have. */
    for (size_t i = 0; i < count; i++) {
        for (; mates[i] && k < from + mates[i] - 1; k++)
            row_add(f, NULL, &f->gap_b.all[k]);
        row_add(f, &f->gap_a.all[from + i], mates[i] ? &f->gap_b.all[k++] : NULL);
    }
    for (; k < f->gap_b.count; k++)
        row_add(f, NULL, &f->gap_b.all[k]);
    vs_free(a);
    vs_free(b);
    vs_free(mates);
}

/* Make rows for all events of A before `end_a` and of B before `end_b`. */
static void gap_fill(struct filling *f, uint64_t end_a, uint64_t end_b)
{
    size_t i = 0;

    events_take(&f->a, end_a, &f->gap_a);
    events_take(&f->b, end_b, &f->gap_b);
    for (; i < f->gap_a.count && i < f->gap_b.count; i++) {
        if (key_of(f->a.side, false, f->gap_a.all[i]) != key_of(f->b.side, true, f->gap_b.all[i]))
            break;
        row_add(f, &f->gap_a.all[i], &f->gap_b.all[i]);
    }
    if (i < f->gap_a.count || i < f->gap_b.count)
        gap_match(f, i);
}

/* The indices of the allocations of A that are in rows of both, in order. The caller frees them. */
static uint32_t *anchors_find(const struct rpl_align_side *a, size_t *count)
{
    uint32_t *numbers = vs_calloc(a->alloc_count + 1, sizeof(*numbers));
    uint32_t *mates = vs_calloc(a->alloc_count + 1, sizeof(*mates));
    uint32_t *kept = vs_calloc(a->alloc_count + 1, sizeof(*kept));
    size_t paired = 0;

    for (size_t i = 0; i < a->alloc_count; i++) {
        if (!a->allocs[i].mate || a->allocs[i].is_moved)
            continue;
        numbers[paired] = (uint32_t)i;
        mates[paired++] = a->allocs[i].mate;
    }
    *count = rpl_rising(mates, paired, kept);
    for (size_t i = 0; i < *count; i++)
        kept[i] = numbers[kept[i]];
    vs_free(numbers);
    vs_free(mates);
    return kept;
}

/* ---- ranges and highest totals ---- */

/* Phase and module of a location as one number. */
static uint64_t *location_groups(const struct rpl_trace *trace)
{
    uint32_t count = rpl_trace_location_count(trace);
    uint64_t *groups = vs_calloc((size_t)count + 1, sizeof(*groups));

    for (uint32_t i = 0; i <= count; i++) {
        const struct vs_location *location = rpl_trace_location(trace, i);
        const char *module = rpl_trace_string(trace, location->module);

        groups[i] = vs_hash_mix(vs_hash_bytes(module, strlen(module)), location->phase);
    }
    return groups;
}

static uint64_t row_group(const struct rpl_pairs *pairs, const struct rpl_pair_row *row,
                          uint64_t *const groups[2])
{
    bool is_b = !row->alloc_a;
    const struct rpl_align_side *side = is_b ? &pairs->align->b : &pairs->align->a;
    const struct rpl_alloc *alloc = &side->allocs[(is_b ? row->alloc_b : row->alloc_a) - 1];
    uint32_t location = row->is_free ? alloc->free_location : alloc->location;

    return location <= rpl_trace_location_count(side->trace) ? groups[is_b][location] : 0;
}

static int64_t excess(const struct rpl_pairs *pairs, size_t row)
{
    return (int64_t)(pairs->rows[row].total_b - pairs->rows[row].total_a);
}

static void stretches_find(struct rpl_pairs *pairs)
{
    uint64_t *groups[2] = {location_groups(pairs->align->a.trace),
                           location_groups(pairs->align->b.trace)};
    struct rpl_pair_stretch *open = NULL;
    uint64_t group = 0;

    for (size_t i = 0; i < pairs->row_count; i++) {
        const struct rpl_pair_row *row = &pairs->rows[i];
        uint64_t here;

        if (row->kind == RPL_PAIR_SAME) {
            open = NULL;
            continue;
        }
        here = row_group(pairs, row, groups);
        if (!open || here != group) {
            pairs->stretches = vs_grow(pairs->stretches, pairs->stretch_count, &pairs->stretch_cap,
                                       sizeof(*pairs->stretches));
            open = &pairs->stretches[pairs->stretch_count++];
            open->first = i;
            group = here;
        }
        open->last = i;
        open->delta = excess(pairs, i) - (open->first ? excess(pairs, open->first - 1) : 0);
    }
    vs_free(groups[0]);
    vs_free(groups[1]);
}

/* The rows with the highest totals among first … last; the first of several. */
static struct rpl_pair_top top_scan(const struct rpl_pairs *pairs, size_t first, size_t last,
                                    struct rpl_pair_top top)
{
    for (size_t i = first; i <= last; i++) {
        if (pairs->rows[i].total_a > pairs->rows[top.a].total_a)
            top.a = i;
        if (pairs->rows[i].total_b > pairs->rows[top.b].total_b)
            top.b = i;
    }
    return top;
}

static void tops_find(struct rpl_pairs *pairs)
{
    pairs->tops = vs_calloc(pairs->row_count / RPL_PAIRS_BLOCK + 1, sizeof(*pairs->tops));
    for (size_t i = 0; i * RPL_PAIRS_BLOCK < pairs->row_count; i++) {
        size_t first = i * RPL_PAIRS_BLOCK;
        size_t last = first + RPL_PAIRS_BLOCK - 1;

        if (last >= pairs->row_count)
            last = pairs->row_count - 1;
        pairs->tops[i] = top_scan(pairs, first, last, (struct rpl_pair_top){first, first});
    }
}

/* ---- the whole ---- */

void rpl_pairs_fill(struct rpl_pairs *out, const struct rpl_align *align)
{
    struct filling f = {.pairs = out, .a.side = &align->a, .b.side = &align->b};
    size_t count;
    uint32_t *anchors = anchors_find(&align->a, &count);

    out->align = align;
    out->rows = vs_grow(out->rows, 0, &out->row_cap, sizeof(*out->rows));
    for (size_t i = 0; i < count; i++) {
        struct event a = {anchors[i], false};
        struct event b = {align->a.allocs[anchors[i]].mate - 1, false};

        gap_fill(&f, event_seq(&align->a, a), event_seq(&align->b, b));
        row_add(&f, &a, &b);
        f.a.alloc++;
        f.b.alloc++;
    }
    gap_fill(&f, UINT64_MAX, UINT64_MAX);
    vs_free(anchors);
    vs_free(f.gap_a.all);
    vs_free(f.gap_b.all);
    stretches_find(out);
    tops_find(out);
}

void rpl_pairs_release(struct rpl_pairs *pairs)
{
    vs_free(pairs->rows);
    vs_free(pairs->stretches);
    vs_free(pairs->tops);
    memset(pairs, 0, sizeof(*pairs));
}

/* ---- queries ---- */

const struct rpl_alloc *rpl_pair_alloc(const struct rpl_pairs *pairs,
                                       const struct rpl_pair_row *row, bool of_b)
{
    uint32_t number = of_b ? row->alloc_b : row->alloc_a;
    const struct rpl_align_side *side = of_b ? &pairs->align->b : &pairs->align->a;

    return number ? &side->allocs[number - 1] : NULL;
}

const struct vs_location *rpl_pair_location(const struct rpl_pairs *pairs,
                                            const struct rpl_pair_row *row)
{
    bool is_b = !row->alloc_a;
    const struct rpl_align_side *side = is_b ? &pairs->align->b : &pairs->align->a;
    const struct rpl_alloc *alloc = rpl_pair_alloc(pairs, row, is_b);

    return rpl_trace_location(side->trace, row->is_free ? alloc->free_location : alloc->location);
}

static uint64_t row_seq(const struct rpl_pair_row *row, bool is_b)
{
    return is_b ? row->seq_b : row->seq_a;
}

size_t rpl_pairs_until(const struct rpl_pairs *pairs, bool is_b, uint64_t seq)
{
    return vs_search_until(
        pairs->rows, pairs->row_count, sizeof(*pairs->rows),
        is_b ? offsetof(struct rpl_pair_row, seq_b) : offsetof(struct rpl_pair_row, seq_a), seq);
}

size_t rpl_pairs_at(const struct rpl_pairs *pairs, bool is_b, uint64_t seq)
{
    size_t row = rpl_pairs_until(pairs, is_b, seq);
    uint64_t own;

    if (!row)
        return SIZE_MAX;
    /* A row without an event of this trace has the number of the last one before it. */
    own = row_seq(&pairs->rows[row - 1], is_b);
    return own ? rpl_pairs_until(pairs, is_b, own - 1) : SIZE_MAX;
}

uint64_t rpl_pairs_event(const struct rpl_pairs *pairs, bool of_b, uint64_t seq)
{
    size_t row = rpl_pairs_at(pairs, of_b, seq);
    uint64_t other = row == SIZE_MAX ? 0 : row_seq(&pairs->rows[row], !of_b);
    /* Counted from the other trace's last event, so that the result never decreases as `seq` increases. */
    size_t from = other ? rpl_pairs_at(pairs, !of_b, other) : SIZE_MAX;
    uint64_t own = from == SIZE_MAX ? 0 : row_seq(&pairs->rows[from], of_b);
    size_t next = rpl_pairs_until(pairs, !of_b, other);
    const struct rpl_align_side *side = of_b ? &pairs->align->a : &pairs->align->b;
    uint64_t end = rpl_index_event_count(side->index);

    if (next < pairs->row_count)
        end = row_seq(&pairs->rows[next], !of_b) - 1;
    other += seq - own;
    return other < end ? other : end;
}

size_t rpl_pairs_stretch(const struct rpl_pairs *pairs, size_t row)
{
    return vs_search_below(pairs->stretches, pairs->stretch_count, sizeof(*pairs->stretches),
                           offsetof(struct rpl_pair_stretch, last), row);
}

struct rpl_pair_top rpl_pairs_top(const struct rpl_pairs *pairs, size_t first, size_t last)
{
    struct rpl_pair_top top = {first, first};

    while (first <= last) {
        size_t block = first / RPL_PAIRS_BLOCK;
        size_t end = (block + 1) * RPL_PAIRS_BLOCK - 1;

        if (first % RPL_PAIRS_BLOCK || end > last) {
            end = end < last ? end : last;
            top = top_scan(pairs, first, end, top);
        } else {
            if (pairs->rows[pairs->tops[block].a].total_a > pairs->rows[top.a].total_a)
                top.a = pairs->tops[block].a;
            if (pairs->rows[pairs->tops[block].b].total_b > pairs->rows[top.b].total_b)
                top.b = pairs->tops[block].b;
        }
        first = end + 1;
    }
    return top;
}
