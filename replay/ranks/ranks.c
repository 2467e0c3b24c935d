/*
 * replay/ranks/ranks.c - see ranks.h.
 */
#include "replay/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "replay/diff/diff.h"
#include "replay/report/non_pytorch.h"

/* ---- the allocator's events, in an order that does not depend on hash tables ---- */

/* What is compared of an event. */
struct entry {
    uint64_t kind;
    uint64_t bytes;
    uint64_t seq;
};

/*
 * Reads the allocator's events of a trace. frees: frees that follow one another, sorted by size; `given` of them were
 * returned. next: the event after them, if has_next.
 */
struct stream {
    struct rpl_scan *scan;
    struct entry *frees;
    size_t count;
    size_t cap;
    size_t given;
    struct entry next;
    bool has_next;
};

static void stream_open(struct stream *s, struct rpl_trace *trace)
{
    memset(s, 0, sizeof(*s));
    s->scan = vs_calloc(1, sizeof(*s->scan));
    rpl_scan_init(s->scan, trace, 1, rpl_trace_event_count(trace));
}

static void stream_close(struct stream *s)
{
    vs_free(s->scan);
    vs_free(s->frees);
}

static bool entry_of(const struct vs_event *event, uint64_t seq, struct entry *out)
{
    *out = (struct entry){event->kind, 0, seq};
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        out->bytes = event->alloc.requested_bytes;
        return true;
    case VS_EV_FREE:
    case VS_EV_FREE_COMPLETED:
        out->bytes = event->free.requested_bytes;
        return true;
    case VS_EV_ANY_SEGMENT:
        out->bytes = event->segment.bytes;
        return true;
    case VS_EV_OOM:
        out->bytes = event->oom.requested_bytes;
        return true;
    case VS_EV_ANY_OF_PROGRAM:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return false;
}

static bool is_free(const struct entry *entry)
{
    return entry->kind == VS_EV_FREE || entry->kind == VS_EV_FREE_COMPLETED;
}

static int entry_compare(const void *x, const void *y)
{
    const struct entry *a = x;
    const struct entry *b = y;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->seq < b->seq ? -1 : 1;
}

/* The next event; false: there are no more, or reading failed (scan->status). */
static bool stream_next(struct stream *s, struct entry *out, struct vs_error *err)
{
    const struct vs_event *event;

    if (s->given < s->count) {
        *out = s->frees[s->given++];
        return true;
    }
    if (s->has_next) {
        *out = s->next;
        s->has_next = false;
        return true;
    }
    s->count = s->given = 0;
    while ((event = rpl_scan_next(s->scan, err)) != NULL) {
        if (!entry_of(event, s->scan->seq, out))
            continue;
        if (!is_free(out)) {
            s->has_next = s->count != 0;
            s->next = *out;
            break;
        }
        s->frees = vs_grow(s->frees, s->count, &s->cap, sizeof(*s->frees));
        s->frees[s->count++] = *out;
    }
    if (!s->count)
        return event != NULL;
    qsort(s->frees, s->count, sizeof(*s->frees), entry_compare);
    *out = s->frees[s->given++];
    return true;
}

static enum vs_status rank_hash(struct rpl_rank *rank, struct vs_error *err)
{
    struct stream s;
    struct entry entry;
    enum vs_status st;

    stream_open(&s, rank->trace);
    rank->hash = 0;
    rank->events = 0;
    while (stream_next(&s, &entry, err)) {
        rank->hash = vs_hash_mix(vs_hash_mix(rank->hash, entry.kind), entry.bytes);
        rank->events++;
    }
    st = s.scan->status;
    stream_close(&s);
    return st;
}

/* The first event in which two ranks differ. */
static enum vs_status first_find(const struct rpl_ranks *ranks, struct rpl_rank_diff *diff,
                                 struct vs_error *err)
{
    struct stream a;
    struct stream b;
    struct entry x = {0, 0, 0};
    struct entry y = {0, 0, 0};
    bool has_x = true;
    bool has_y = true;
    enum vs_status st;

    stream_open(&a, ranks->items[diff->a].trace);
    stream_open(&b, ranks->items[diff->b].trace);
    while (has_x && has_y && x.kind == y.kind && x.bytes == y.bytes) {
        diff->first++;
        diff->common_a = x.seq;
        diff->common_b = y.seq;
        has_x = stream_next(&a, &x, err);
        has_y = stream_next(&b, &y, err);
    }
    diff->seq_a = has_x ? x.seq : 0;
    diff->seq_b = has_y ? y.seq : 0;
    st = a.scan->status ? a.scan->status : b.scan->status;
    stream_close(&a);
    stream_close(&b);
    return st;
}

/* ---- ranks ---- */

void rpl_ranks_take(struct rpl_ranks *ranks, const char *path, struct rpl_trace *trace)
{
    struct rpl_rank *rank;
    uint64_t number;

    ranks->items = vs_grow(ranks->items, ranks->count, &ranks->cap, sizeof(*ranks->items));
    rank = &ranks->items[ranks->count++];
    memset(rank, 0, sizeof(*rank));
    rank->trace = trace;
    rank->path = vs_strdup(path);
    rank->number = RPL_NO_RANK;
    if (rpl_trace_meta_uint(trace, "rank", &number) && number <= INT64_MAX)
        rank->number = (int64_t)number;
}

enum vs_status rpl_ranks_add(struct rpl_ranks *ranks, const char *path, struct vs_error *err)
{
    struct rpl_trace *trace = NULL;
    const enum vs_status st = rpl_trace_open(path, &trace, err);

    if (st)
        return st;
    rpl_ranks_take(ranks, path, trace);
    ranks->items[ranks->count - 1].driver = rpl_driver_trace_open(trace, path);
    return VS_OK;
}

/* Stable: few ranks, or sorted already. */
static void ranks_sort(struct rpl_ranks *ranks)
{
    for (size_t i = 1; i < ranks->count; i++) {
        const struct rpl_rank rank = ranks->items[i];
        size_t at = i;

        while (at && (uint64_t)rank.number < (uint64_t)ranks->items[at - 1].number)
            at--;
        memmove(ranks->items + at + 1, ranks->items + at, (i - at) * sizeof(*ranks->items));
        ranks->items[at] = rank;
    }
}

static void kinds_find(struct rpl_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rpl_rank *rank = &ranks->items[i];
        size_t like = 0;

        while (like < i &&
               (ranks->items[like].hash != rank->hash || ranks->items[like].events != rank->events))
            like++;
        ranks->items[i].like = like;
        if (rank->sum.peak.allocated > ranks->items[ranks->highest].sum.peak.allocated)
            ranks->highest = i;
        if (rank->sum.peak.allocated < ranks->items[ranks->lowest].sum.peak.allocated)
            ranks->lowest = i;
        if (rank->sum.peak.reserved > ranks->items[ranks->highest_reserved].sum.peak.reserved)
            ranks->highest_reserved = i;
    }
}

/* ---- differences ---- */

/* The rows of a part that differ, as heap memory. */
static struct rpl_rank_change *changes_take(const struct rpl_diff *diff,
                                            const struct rpl_diff_part *part, size_t *count)
{
    struct rpl_rank_change *out = vs_calloc(part->row_count + 1, sizeof(*out));

    *count = 0;
    for (size_t i = 0; i < part->row_count; i++) {
        const struct rpl_diff_row *row = &part->rows[i];
        struct vs_text text = {NULL, 0, 0};
        struct vs_text fate = {NULL, 0, 0};

        if (row->a == row->b && row->blocks_a == row->blocks_b)
            continue;
        rpl_diff_row_text(diff, row, &text);
        if (row->module && *row->module)
            vs_text_addf(&text, ", in %s", row->module);
        if (row->module)
            rpl_diff_fate_text(diff, part, row, &fate);
        if (fate.len)
            vs_text_addf(&text, "; %s", vs_text_get(&fate));
        vs_text_release(&fate);
        out[(*count)++] = (struct rpl_rank_change){
            vs_text_take(&text), row->category, row->a, row->b, row->blocks_a, row->blocks_b};
    }
    return out;
}

/* " | train.py:main" of "line 28 | train.py:main": what two lines of one function have alike. */
static const char *function_of(const struct rpl_rank_change *change)
{
    const char *bar = strstr(change->text, " | ");

    return bar ? bar : "";
}

/* Do only A (`a`) and only B (`b`) have these, of one category and in one function? */
static bool is_counterpart(const struct rpl_rank_change *a, const struct rpl_rank_change *b)
{
    return a->blocks_a && !a->blocks_b && b->blocks_b && !b->blocks_a &&
           a->category == b->category && *function_of(a) &&
           strcmp(function_of(a), function_of(b)) == 0;
}

static void change_remove(struct rpl_rank_diff *diff, size_t i)
{
    vs_free(diff->changes[i].text);
    diff->change_count--;
    memmove(&diff->changes[i], &diff->changes[i + 1],
            (diff->change_count - i) * sizeof(*diff->changes));
}

static int by_difference(const void *x, const void *y)
{
    const struct rpl_rank_change *a = x;
    const struct rpl_rank_change *b = y;
    const uint64_t of_a = a->a > a->b ? a->a - a->b : a->b - a->a;
    const uint64_t of_b = b->a > b->b ? b->a - b->b : b->b - b->a;

    return of_a != of_b ? (of_a < of_b ? 1 : -1) : strcmp(a->text, b->text);
}

/*
 * Scripts call the same thing on lines of their own for some ranks (`if rank == 0: step(x)`, `else: step()`). What one
 * line has in A alone and another line of that function in B alone becomes one row, the largest ones first, and no row
 * where both have the same.
 */
static void lines_join(const struct rpl_ranks *ranks, struct rpl_rank_diff *diff)
{
    struct rpl_rank_change *rows = diff->changes;

    for (size_t i = 0; i < diff->change_count; i++) {
        struct vs_text text = {NULL, 0, 0};
        size_t k = 0;

        while (k < diff->change_count && !is_counterpart(&rows[i], &rows[k]))
            k++;
        if (k == diff->change_count)
            continue;
        vs_text_addf(&text, "%.*s, of ", (int)(function_of(&rows[i]) - rows[i].text), rows[i].text);
        rpl_rank_text(&ranks->items[diff->b], &text);
        vs_text_addf(&text, " %s", rows[k].text);
        vs_free(rows[i].text);
        rows[i].text = vs_text_take(&text);
        rows[i].b = rows[k].b;
        rows[i].blocks_b = rows[k].blocks_b;
        change_remove(diff, k);
        i -= k < i;
    }
    for (size_t i = diff->change_count; i-- > 0;)
        if (rows[i].a == rows[i].b && rows[i].blocks_a == rows[i].blocks_b)
            change_remove(diff, i);
    if (diff->change_count)
        qsort(rows, diff->change_count, sizeof(*rows), by_difference);
}

/* What differs at the two peaks, by line and by block. */
static enum vs_status changes_find(const struct rpl_ranks *ranks, struct rpl_rank_diff *out,
                                   rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    struct rpl_diff_options options = {
        .by = RPL_DIFF_LINE, .at = RPL_DIFF_AT_PEAK, .step = RPL_DIFF_STEP_LAST};
    struct rpl_index *indexes[2] = {NULL, NULL};
    struct rpl_diff diff = {.arena = NULL};
    struct rpl_diff_part lines = {.arena = NULL};
    struct rpl_diff_part blocks = {.arena = NULL};
    enum vs_status st =
        rpl_index_open(ranks->items[out->a].trace, progress, user, &indexes[0], err);

    if (!st)
        st = rpl_index_open(ranks->items[out->b].trace, progress, user, &indexes[1], err);
    if (!st)
        st = rpl_diff_open(&diff, indexes[0], indexes[1], progress, user, err);
    if (!st)
        st = rpl_diff_take(&diff, RPL_DIFF_LIVE, &options, &lines, err);
    if (!st)
        out->changes = changes_take(&diff, &lines, &out->change_count);
    if (!st)
        lines_join(ranks, out);
    options.by = RPL_DIFF_TENSOR;
    if (!st)
        st = rpl_diff_take(&diff, RPL_DIFF_LIVE, &options, &blocks, err);
    if (!st)
        out->blocks = changes_take(&diff, &blocks, &out->block_count);
    rpl_diff_part_release(&lines);
    rpl_diff_part_release(&blocks);
    rpl_diff_release(&diff);
    rpl_index_free(indexes[0]);
    rpl_index_free(indexes[1]);
    return st;
}

static enum vs_status diffs_fill(struct rpl_ranks *ranks, rpl_progress_fn *progress, void *user,
                                 struct vs_error *err)
{
    const size_t highest = ranks->highest;
    enum vs_status st = VS_OK;

    ranks->diffs = vs_calloc(ranks->count, sizeof(*ranks->diffs));
    for (size_t i = 0; i < ranks->count && !st; i++) {
        struct rpl_rank_diff *diff = &ranks->diffs[ranks->diff_count];

        if (ranks->items[i].like != i || i == ranks->items[highest].like)
            continue;
        *diff = (struct rpl_rank_diff){.a = highest, .b = i};
        ranks->diff_count++;
        st = first_find(ranks, diff, err);
        if (!st)
            st = changes_find(ranks, diff, progress, user, err);
    }
    return st;
}

enum vs_status rpl_ranks_fill(struct rpl_ranks *ranks, rpl_progress_fn *progress, void *user,
                              struct vs_error *err)
{
    enum vs_status st = VS_OK;

    VS_ASSERT(ranks->count && !ranks->diffs);
    ranks_sort(ranks);
    for (size_t i = 0; i < ranks->count && !st; i++) {
        st = rpl_summary_fill(&ranks->items[i].sum, ranks->items[i].trace, err);
        if (!st)
            st = rank_hash(&ranks->items[i], err);
    }
    if (st)
        return st;
    kinds_find(ranks);
    st = rpl_shared_fill(ranks, err);
    return st ? st : diffs_fill(ranks, progress, user, err);
}

const struct rpl_phase *rpl_ranks_phase(const struct rpl_ranks *ranks, size_t rank,
                                        enum vs_phase phase)
{
    const struct rpl_summary *sum = &ranks->items[rank].sum;
    const int64_t step = ranks->items[ranks->highest].sum.peak.step;

    for (size_t i = 0; i < sum->step_count; i++)
        for (size_t k = 0; sum->steps[i].step == step && k < sum->steps[i].phase_count; k++)
            if (sum->steps[i].phases[k].phase == phase)
                return &sum->steps[i].phases[k];
    return NULL;
}

static void changes_free(struct rpl_rank_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        vs_free(changes[i].text);
    vs_free(changes);
}

void rpl_ranks_release(struct rpl_ranks *ranks)
{
    for (size_t i = 0; i < ranks->diff_count; i++) {
        changes_free(ranks->diffs[i].changes, ranks->diffs[i].change_count);
        changes_free(ranks->diffs[i].blocks, ranks->diffs[i].block_count);
    }
    for (size_t i = 0; i < ranks->count; i++) {
        rpl_summary_release(&ranks->items[i].sum);
        rpl_trace_free(ranks->items[i].trace);
        rpl_trace_free(ranks->items[i].driver);
        vs_free(ranks->items[i].path);
    }
    rpl_shared_release(ranks);
    vs_free(ranks->diffs);
    vs_free(ranks->items);
    memset(ranks, 0, sizeof(*ranks));
}

/* ---- collectives ---- */

bool rpl_collective_next(const char **list, struct rpl_collective *out)
{
    const char *at = *list;
    char *rest;

    if (!at || !*at)
        return false;
    out->count = strtoull(at, &rest, 10);
    out->bytes = strtoull(rest, &rest, 10);
    rest += *rest == ' ';
    out->name = rest;
    out->name_len = (int)strcspn(rest, " ");
    rest += out->name_len;
    *list = strncmp(rest, " | ", 3) == 0 ? rest + 3 : rest + strlen(rest);
    return out->name_len > 0;
}
