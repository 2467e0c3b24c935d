/*
 * replay/diff/align.c - see align.h.
 *
 * Must not know:  peaks, how anything is shown.
 * Invariant:      string ids mean nothing in the other trace: keys are hashes of the texts.
 */
#include "replay/diff/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/text.h"
#include "replay/diff/lcs.h"
#include "replay/index/lifetimes.h"

/* Progress is reported once per this many events. */
#define PROGRESS_INTERVAL 65536

/* ---- lines ---- */

static void lines_read(struct rpl_align_side *side)
{
    const char *text = rpl_trace_source_text(side->trace);
    size_t cap = 0;

    while (text && *text) {
        struct rpl_line_text line = {.text = text, .len = strcspn(text, "\n")};

        text += line.len + (text[line.len] == '\n');
        while (line.len && strchr(" \t\r", line.text[line.len - 1]))
            line.len--;
        while (line.indent < line.len && strchr(" \t", line.text[line.indent]))
            line.indent++;
        side->lines = vs_grow(side->lines, side->line_count, &cap, sizeof(*side->lines));
        side->lines[side->line_count++] = line;
    }
}

/* The keys of the lines: hashes of their texts without indentation. The caller frees the array. */
static uint64_t *line_keys(const struct rpl_align_side *side)
{
    uint64_t *keys = vs_calloc(side->line_count + 1, sizeof(*keys));

    for (size_t i = 0; i < side->line_count; i++)
        keys[i] = vs_hash_bytes(side->lines[i].text + side->lines[i].indent,
                                side->lines[i].len - side->lines[i].indent);
    return keys;
}

static void lines_pair(struct rpl_align *align)
{
    struct rpl_align_side *a = &align->a;
    struct rpl_align_side *b = &align->b;
    uint64_t *keys_a;
    uint64_t *keys_b;

    lines_read(a);
    lines_read(b);
    if (!a->line_count || !b->line_count)
        return;
    keys_a = line_keys(a);
    keys_b = line_keys(b);
    a->line_mates = vs_calloc(a->line_count + 1, sizeof(*a->line_mates));
    b->line_mates = vs_calloc(b->line_count + 1, sizeof(*b->line_mates));
    a->line_edits = vs_calloc(a->line_count + 1, sizeof(*a->line_edits));
    b->line_edits = vs_calloc(b->line_count + 1, sizeof(*b->line_edits));
    rpl_lcs(keys_a, a->line_count, keys_b, b->line_count, a->line_mates + 1);
    for (size_t i = 1; i <= a->line_count; i++)
        if (a->line_mates[i])
            b->line_mates[a->line_mates[i]] = (uint32_t)i;
    vs_free(keys_a);
    vs_free(keys_b);
}

uint32_t rpl_align_line(const struct rpl_align_side *side, uint32_t line)
{
    if (!side->line_mates || line > side->line_count)
        return line;
    return side->line_mates[line] ? side->line_mates[line] : side->line_edits[line];
}

/* ---- keys ---- */

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return vs_hash_mix(hash, vs_hash_bytes(text, strlen(text)));
}

/*
 * The same for a path of modules without the numbers of lines: where a trace has no net, a part of the path may be the
 * file of a module with the line that calls it ("model:40.block:47").
 */
static uint64_t mix_path(uint64_t hash, const char *path)
{
    struct vs_text text = {NULL, 0, 0};

    while (*path) {
        size_t digits = *path == ':' ? strspn(path + 1, "0123456789") : 0;

        if (digits && (path[digits + 1] == '.' || !path[digits + 1]))
            path += digits + 1;
        else
            vs_text_add_char(&text, *path++);
    }
    hash = mix_text(hash, vs_text_get(&text));
    vs_text_release(&text);
    return hash;
}

/* The hash of a location, and the hash without the line if the other file does not have that line. */
struct location_key {
    uint64_t key;
    uint64_t edited;
};

/*
 * The keys of all locations, by id. is_b: lines are numbered as in the other file if it has them. has_files: at least
 * one of the traces has its source; otherwise an inserted line looks like any other one, so the numbers of lines
 * are left out. The caller frees the array.
 */
static struct location_key *location_keys(const struct rpl_align_side *side, bool is_b,
                                          bool has_files)
{
    uint32_t count = rpl_trace_location_count(side->trace);
    struct location_key *keys = vs_calloc((size_t)count + 1, sizeof(*keys));

    for (uint32_t i = 0; i <= count; i++) {
        const struct vs_location *location = rpl_trace_location(side->trace, i);
        uint32_t mate = rpl_align_line(side, location->line);
        uint64_t line = location->line;
        uint64_t hash = vs_hash_mix(0, location->phase);

        if (is_b)
            line = mate || !line ? mate : line | UINT64_C(1) << 32;
        if (has_files)
            hash = mix_text(hash, rpl_trace_string(side->trace, location->module));
        else
            hash = mix_path(hash, rpl_trace_string(side->trace, location->module));
        hash = mix_text(hash, rpl_trace_string(side->trace, location->func));
        hash = mix_text(hash, rpl_trace_string(side->trace, location->op));
        keys[i].key = has_files ? vs_hash_mix(hash, line) : hash;
        keys[i].edited = location->line && !mate ? hash : 0;
    }
    return keys;
}

/* The callback for progress, the events read before this trace, and the events of both traces. */
struct reporter {
    rpl_progress_fn *progress;
    void *user;
    uint64_t before;
    uint64_t total;
};

/* The state of reading a trace. is_sized: the requested bytes are part of the key. */
struct reading {
    struct rpl_align_side *side;
    struct location_key *locations;
    int64_t step;
    uint64_t reruns;
    bool is_sized;
};

static enum vs_status alloc_add(struct reading *r, uint64_t seq, const struct vs_event *event,
                                struct vs_error *err)
{
    struct rpl_align_side *side = r->side;
    struct rpl_lifetime life = {.name = 0};
    struct rpl_alloc alloc = {
        .seq = seq,
        .block = event->alloc.block,
        .requested = event->alloc.requested_bytes,
        .bytes = event->alloc.block_bytes,
        .step = r->step,
        .tensor = event->alloc.tensor,
        .location = event->location,
        .category = event->alloc.category,
    };
    uint32_t location =
        event->location <= rpl_trace_location_count(side->trace) ? event->location : 0;

    alloc.key = vs_hash_mix(r->locations[location].key, r->reruns ? 1 : 0);
    alloc.edited = r->locations[location].edited;
    if (alloc.edited)
        alloc.edited = vs_hash_mix(alloc.edited, r->reruns ? 1 : 0) | 1;
    if (r->is_sized) {
        alloc.edited = alloc.key | 1;
        alloc.key = vs_hash_mix(alloc.key, alloc.requested);
    }
    /* Parameters and buffers are allocated in the set-up. */
    if (r->step < 0) {
        enum vs_status st = rpl_lifetime_get(side->index, event->category.block, &life, err);

        if (st)
            return st;
    }
    alloc.key = mix_text(alloc.key, rpl_trace_string(side->trace, life.name));
    side->allocs =
        vs_grow(side->allocs, side->alloc_count, &side->alloc_cap, sizeof(*side->allocs));
    side->allocs[side->alloc_count++] = alloc;
    return VS_OK;
}

/*
 * The index of the allocation of a block; alloc_count: there is none. Blocks are numbered in the order of their
 * allocation.
 */
static size_t block_find(const struct rpl_align_side *side, uint64_t block)
{
    size_t count = side->alloc_count;
    size_t at;

    if (block && block <= count && side->allocs[block - 1].block == block)
        return (size_t)block - 1;
    at = vs_search_below(side->allocs, count, sizeof(*side->allocs),
                         offsetof(struct rpl_alloc, block), block);
    return at < count && side->allocs[at].block == block ? at : count;
}

static void free_note(struct rpl_align_side *side, uint64_t seq, const struct vs_event *event)
{
    size_t at = block_find(side, event->category.block);

    if (at == side->alloc_count || side->allocs[at].free_seq)
        return;
    side->allocs[at].free_seq = seq;
    side->allocs[at].free_location = event->location;
    side->frees = vs_grow(side->frees, side->free_count, &side->free_cap, sizeof(*side->frees));
    side->frees[side->free_count++] = (uint32_t)at;
}

static bool report_progress(const struct reporter *reporter, uint64_t seq)
{
    return seq % PROGRESS_INTERVAL != 0 || !reporter->progress ||
           reporter->progress(reporter->user, reporter->before + seq, reporter->total);
}

static enum vs_status allocs_read(struct rpl_align_side *side, bool is_b, bool is_sized,
                                  const struct reporter *reporter, struct vs_error *err)
{
    struct reading r = {.side = side, .step = -1, .is_sized = is_sized};
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    r.locations = location_keys(side, is_b, !is_sized);
    rpl_scan_init(scan, side->trace, 1, rpl_trace_event_count(side->trace));
    while (!st && (event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_ALLOC)
            st = alloc_add(&r, scan->seq, event, err);
        else if (event->kind == VS_EV_FREE)
            free_note(side, scan->seq, event);
        else if (event->kind == VS_EV_STEP)
            r.step = vs_event_step(event);
        else if (event->kind == VS_EV_RECOMPUTE_BEGIN)
            r.reruns++;
        else if (event->kind == VS_EV_RECOMPUTE_END && r.reruns)
            r.reruns--;
        if (!st && !report_progress(reporter, scan->seq))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
    }
    if (!st)
        st = scan->status;
    vs_free(scan);
    vs_free(r.locations);
    return st;
}

/* ---- pairs ---- */

static void pair_make(struct rpl_align *align, size_t a, size_t b, bool is_moved)
{
    align->a.allocs[a].mate = (uint32_t)b + 1;
    align->b.allocs[b].mate = (uint32_t)a + 1;
    align->a.allocs[a].is_moved = align->b.allocs[b].is_moved = is_moved;
}

/* An allocation without a counterpart, to be paired by occurrence. */
struct lone {
    uint64_t key;
    size_t at;
};

static int by_key(const void *x, const void *y)
{
    const struct lone *a = x;
    const struct lone *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* The allocations first … end without a counterpart, by key and then in order. The caller frees the array. */
static struct lone *lone_find(const struct rpl_align_side *side, size_t first, size_t end,
                              size_t *count)
{
    struct lone *all = vs_calloc(end - first + 1, sizeof(*all));

    *count = 0;
    for (size_t i = first; i < end; i++)
        if (!side->allocs[i].mate)
            all[(*count)++] = (struct lone){side->allocs[i].key, i};
    qsort(all, *count, sizeof(*all), by_key);
    return all;
}

static void moved_pair(struct rpl_align *align, size_t a, size_t a_end, size_t b, size_t b_end)
{
    size_t count_a;
    size_t count_b;
    struct lone *lone_a = lone_find(&align->a, a, a_end, &count_a);
    struct lone *lone_b = lone_find(&align->b, b, b_end, &count_b);

    for (size_t i = 0, k = 0; i < count_a && k < count_b;) {
        if (lone_a[i].key == lone_b[k].key)
            pair_make(align, lone_a[i++].at, lone_b[k++].at, true);
        else if (lone_a[i].key < lone_b[k].key)
            i++;
        else
            k++;
    }
    vs_free(lone_a);
    vs_free(lone_b);
}

/*
 * The keys and indices of the allocations first … end without a counterpart, in order. is_edited: only those that have
 * a key with something left out, by that key. The caller frees both arrays.
 */
static uint64_t *lone_keys(const struct rpl_align_side *side, size_t first, size_t end,
                           bool is_edited, size_t **numbers, size_t *count)
{
    uint64_t *keys = vs_calloc(end - first + 1, sizeof(*keys));

    *numbers = vs_calloc(end - first + 1, sizeof(**numbers));
    *count = 0;
    for (size_t i = first; i < end; i++) {
        const struct rpl_alloc *alloc = &side->allocs[i];

        if (alloc->mate || (is_edited && !alloc->edited))
            continue;
        keys[*count] = is_edited ? alloc->edited : alloc->key;
        (*numbers)[(*count)++] = i;
    }
    return keys;
}

/* Record that the lines of the two allocations correspond, unless one of them already corresponds to another one. */
static void edit_note(struct rpl_align *align, size_t a, size_t b)
{
    uint32_t line_a = rpl_trace_location(align->a.trace, align->a.allocs[a].location)->line;
    uint32_t line_b = rpl_trace_location(align->b.trace, align->b.allocs[b].location)->line;

    if (!align->a.line_edits || line_a > align->a.line_count || line_b > align->b.line_count ||
        align->a.line_edits[line_a] || align->b.line_edits[line_b])
        return;
    align->a.line_edits[line_a] = line_b;
    align->b.line_edits[line_b] = line_a;
}

/* Pair in order, by the keys of lone_keys. Returns whether there were any allocations to pair. */
static bool ordered_pair(struct rpl_align *align, size_t a, size_t a_end, size_t b, size_t b_end,
                         bool is_edited)
{
    size_t *numbers_a;
    size_t *numbers_b;
    size_t count_a;
    size_t count_b;
    uint64_t *keys_a = lone_keys(&align->a, a, a_end, is_edited, &numbers_a, &count_a);
    uint64_t *keys_b = lone_keys(&align->b, b, b_end, is_edited, &numbers_b, &count_b);
    uint32_t *mates = vs_calloc(count_a + 1, sizeof(*mates));
    bool found = false;

    rpl_lcs(keys_a, count_a, keys_b, count_b, mates);
    for (size_t i = 0; i < count_a; i++) {
        if (!mates[i])
            continue;
        found = true;
        pair_make(align, numbers_a[i], numbers_b[mates[i] - 1], false);
        if (is_edited)
            edit_note(align, numbers_a[i], numbers_b[mates[i] - 1]);
    }
    vs_free(numbers_a);
    vs_free(numbers_b);
    vs_free(keys_a);
    vs_free(keys_b);
    vs_free(mates);
    return found;
}

/* Pairs from two passes may cross: those that are not in the order of most others have moved. */
static void crossing_note(struct rpl_align *align, size_t a, size_t a_end)
{
    uint32_t *numbers = vs_calloc(a_end - a + 1, sizeof(*numbers));
    uint32_t *mates = vs_calloc(a_end - a + 1, sizeof(*mates));
    uint32_t *kept = vs_calloc(a_end - a + 1, sizeof(*kept));
    size_t count = 0;
    size_t kept_count;

    for (size_t i = a; i < a_end; i++)
        if (align->a.allocs[i].mate) {
            numbers[count] = (uint32_t)i;
            mates[count++] = align->a.allocs[i].mate;
        }
    kept_count = rpl_rising(mates, count, kept);
    for (size_t i = 0, k = 0; i < count; i++) {
        if (k < kept_count && kept[k] == i)
            k++;
        else
            pair_make(align, numbers[i], mates[i] - 1, true);
    }
    vs_free(numbers);
    vs_free(mates);
    vs_free(kept);
}

/* Pair the allocations of one step that have no counterpart. */
static void step_pair(struct rpl_align *align, size_t a, size_t a_end, size_t b, size_t b_end)
{
    (void)ordered_pair(align, a, a_end, b, b_end, false);
    if (ordered_pair(align, a, a_end, b, b_end, true))
        crossing_note(align, a, a_end);
    moved_pair(align, a, a_end, b, b_end);
}

static size_t step_end(const struct rpl_align_side *side, size_t first)
{
    size_t end = first;

    while (end < side->alloc_count && side->allocs[end].step == side->allocs[first].step)
        end++;
    return end;
}

static void steps_pair(struct rpl_align *align)
{
    size_t a = 0;
    size_t b = 0;

    while (a < align->a.alloc_count && b < align->b.alloc_count) {
        int64_t step_a = align->a.allocs[a].step;
        int64_t step_b = align->b.allocs[b].step;
        size_t a_end = step_end(&align->a, a);
        size_t b_end = step_end(&align->b, b);

        if (step_a == step_b)
            step_pair(align, a, a_end, b, b_end);
        if (step_a <= step_b)
            a = a_end;
        if (step_b <= step_a)
            b = b_end;
    }
}

/* The range of allocations of a step, which may be empty. Removes their counterparts. */
struct range {
    size_t first;
    size_t end;
};

static struct range step_clear(struct rpl_align_side *side, int64_t step)
{
    struct range range = {0, 0};

    while (range.first < side->alloc_count && side->allocs[range.first].step != step)
        range.first = step_end(side, range.first);
    range.end = step_end(side, range.first);
    for (size_t i = range.first; i < range.end; i++) {
        side->allocs[i].mate = 0;
        side->allocs[i].is_moved = false;
    }
    return range;
}

static void cross(struct rpl_align *align, int64_t step_a, int64_t step_b, bool is_crossed)
{
    struct range a[2];
    struct range b[2];
    /* Which step of A is paired with which of B: 0 is step_a, 1 is step_b. */
    static const int ORDER[][2] = {{0, 1}, {1, 1}, {0, 0}, {1, 0}};

    if (step_a == step_b)
        return;
    a[0] = step_clear(&align->a, step_a);
    a[1] = step_clear(&align->a, step_b);
    b[0] = step_clear(&align->b, step_a);
    b[1] = step_clear(&align->b, step_b);
    for (size_t i = 0; i < sizeof(ORDER) / sizeof(ORDER[0]); i++) {
        const struct range *x = &a[ORDER[i][0]];
        const struct range *y = &b[ORDER[i][1]];

        if (is_crossed || ORDER[i][0] == ORDER[i][1])
            step_pair(align, x->first, x->end, y->first, y->end);
    }
}

void rpl_align_cross(struct rpl_align *align, int64_t step_a, int64_t step_b)
{
    cross(align, step_a, step_b, true);
}

void rpl_align_uncross(struct rpl_align *align, int64_t step_a, int64_t step_b)
{
    cross(align, step_a, step_b, false);
}

enum vs_status rpl_align_fill(struct rpl_align *out, struct rpl_index *a, struct rpl_index *b,
                              rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    struct reporter reporter = {progress, user, 0,
                                rpl_index_event_count(a) + rpl_index_event_count(b)};
    bool is_sized;
    enum vs_status st;

    out->a.index = a;
    out->b.index = b;
    out->a.trace = rpl_index_trace(a);
    out->b.trace = rpl_index_trace(b);
    lines_pair(out);
    is_sized = !out->a.line_count && !out->b.line_count;
    st = allocs_read(&out->a, false, is_sized, &reporter, err);
    reporter.before = rpl_index_event_count(a);
    if (!st)
        st = allocs_read(&out->b, true, is_sized, &reporter, err);
    if (!st)
        steps_pair(out);
    return st;
}

static void side_release(struct rpl_align_side *side)
{
    vs_free(side->allocs);
    vs_free(side->frees);
    vs_free(side->lines);
    vs_free(side->line_mates);
    vs_free(side->line_edits);
}

void rpl_align_release(struct rpl_align *align)
{
    side_release(&align->a);
    side_release(&align->b);
    memset(align, 0, sizeof(*align));
}

size_t rpl_align_after(const struct rpl_align_side *side, uint64_t seq)
{
    return vs_search_until(side->allocs, side->alloc_count, sizeof(*side->allocs),
                           offsetof(struct rpl_alloc, seq), seq);
}
