/*
 * replay/ranks/ranks_text.c - the summary over ranks as text; see ranks.h.
 *
 * Must not know:  terminals, where the text goes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/ranks/ranks.h"
#include "replay/ranks/skew.h"

void rpl_rank_text(const struct rpl_rank *rank, struct vs_text *out)
{
    if (rank->number == RPL_NO_RANK)
        vs_text_add(out, rank->path);
    else
        vs_text_addf(out, "rank %" PRId64, rank->number);
}

/* The number of a rank alone, for columns. */
static const char *short_name(const struct rpl_rank *rank, char *buffer, size_t len)
{
    const char *slash = strrchr(rank->path, '/');

    if (rank->number == RPL_NO_RANK)
        snprintf(buffer, len, "%s", slash ? slash + 1 : rank->path);
    else
        snprintf(buffer, len, "rank %" PRId64, rank->number);
    return buffer;
}

/* ", relu in fc1, train.py:main:12": where an event was. */
static void add_place(const struct rpl_trace *trace, uint32_t id, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, id);
    const char *op = rpl_trace_string(trace, location->op);
    const char *module = rpl_trace_string(trace, location->module);
    const char *func = rpl_trace_string(trace, location->func);

    if (*op)
        vs_text_addf(out, ", %s", op);
    if (*module)
        vs_text_addf(out, "%s %s", *op ? " in" : ", in", module);
    if (*func || location->line)
        vs_text_addf(out, ", %s%sline %" PRIu32, func, *func ? " " : "", location->line);
}

static void add_rank(const struct rpl_ranks *ranks, size_t i, int width, struct vs_text *out)
{
    const struct rpl_rank *rank = &ranks->items[i];
    const struct rpl_peak *peak = &rank->sum.peak;
    char name[96];
    char allocated[VS_BYTES_TEXT_MAX];
    char reserved[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %-*s%12s%12s  step %" PRId64 ", %s", width,
                 short_name(rank, name, sizeof(name)), vs_bytes_text(peak->allocated, allocated),
                 vs_bytes_text(peak->reserved, reserved), peak->step, vs_phase_name(peak->phase));
    add_place(rank->trace, peak->location, out);
    if (rank->sum.oom.event)
        vs_text_add(out, "; ran out of memory");
    if (rank->like != i)
        vs_text_addf(out, "; events as in %s",
                     short_name(&ranks->items[rank->like], name, sizeof(name)));
    vs_text_add_char(out, '\n');
}

/* What an event of the allocator is: "alloc of 4,096 bytes, line 6 (event 12)". */
static void add_event(const struct rpl_rank *rank, uint64_t seq, struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_scan *scan = vs_calloc(1, sizeof(*scan));
    const struct vs_event *event = NULL;
    char bytes[VS_BYTES_TEXT_MAX];

    rpl_rank_text(rank, out);
    if (seq) {
        rpl_scan_init(scan, rank->trace, seq, seq);
        event = rpl_scan_next(scan, &err);
    }
    if (event) { /* the second field is the requested bytes of a block, or the bytes of a segment */
        vs_text_addf(out, ": %s of %s bytes", vs_event_kind_name((enum vs_event_kind)event->kind),
                     vs_bytes_exact_text(event->raw.b, bytes));
        add_place(rank->trace, event->location, out);
        vs_text_addf(out, " (event %" PRIu64 ")", seq);
    } else {
        vs_text_add(out, ": no further events");
    }
    vs_free(scan);
}

static void add_change(const struct rpl_rank_change *change, struct vs_text *out)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char delta[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %14s%14s%13s  %-10s  %s\n", vs_bytes_text(change->a, a),
                 vs_bytes_text(change->b, b),
                 vs_bytes_delta_text((int64_t)(change->b - change->a), delta),
                 vs_category_name(change->category), change->text);
}

static void add_rest(const struct rpl_rank_change *changes, size_t count, size_t from,
                     const char *what, struct vs_text *out)
{
    struct rpl_rank_change rest = {.a = 0};
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char delta[VS_BYTES_TEXT_MAX];

    for (size_t i = from; i < count; i++) {
        rest.a += changes[i].a;
        rest.b += changes[i].b;
    }
    if (from < count)
        vs_text_addf(out, "  %14s%14s%13s  … %zu more %s\n", vs_bytes_text(rest.a, a),
                     vs_bytes_text(rest.b, b),
                     vs_bytes_delta_text((int64_t)(rest.b - rest.a), delta), count - from, what);
}

/* Collectives of which two ranks made another number or other bytes. */
static void add_collectives(const struct rpl_rank *a, const struct rpl_rank *b, struct vs_text *out)
{
    const char *list_a = rpl_trace_meta(a->trace, "collectives");
    const char *list_b = rpl_trace_meta(b->trace, "collectives");
    struct rpl_collective of_a = {NULL, 0, 0, 0};
    struct rpl_collective of_b = {NULL, 0, 0, 0};
    bool has_a = rpl_collective_next(&list_a, &of_a);
    bool has_b = rpl_collective_next(&list_b, &of_b);
    char bytes_a[VS_BYTES_TEXT_MAX];
    char bytes_b[VS_BYTES_TEXT_MAX];

    while (has_a || has_b) { /* both lists are sorted by name */
        const int order =
            !has_a ? 1
            : !has_b
                ? -1
                : strncmp(of_a.name, of_b.name,
                          (size_t)(of_a.name_len > of_b.name_len ? of_a.name_len : of_b.name_len));
        const struct rpl_collective *named = order <= 0 ? &of_a : &of_b;
        const uint64_t count_a = order <= 0 ? of_a.count : 0;
        const uint64_t count_b = order >= 0 ? of_b.count : 0;
        const uint64_t given_a = order <= 0 ? of_a.bytes : 0;
        const uint64_t given_b = order >= 0 ? of_b.bytes : 0;

        if (count_a != count_b || given_a != given_b)
            vs_text_addf(out, "  %.*s: %" PRIu64 " of %s, and %" PRIu64 " of %s\n", named->name_len,
                         named->name, count_a, vs_bytes_text(given_a, bytes_a), count_b,
                         vs_bytes_text(given_b, bytes_b));
        if (order <= 0)
            has_a = rpl_collective_next(&list_a, &of_a);
        if (order >= 0)
            has_b = rpl_collective_next(&list_b, &of_b);
    }
}

static void add_diff(const struct rpl_ranks *ranks, const struct rpl_rank_diff *diff, size_t top,
                     struct vs_text *out)
{
    const struct rpl_rank *a = &ranks->items[diff->a];
    const struct rpl_rank *b = &ranks->items[diff->b];
    char name_a[96];
    char name_b[96];
    char delta[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "\n%s differs from ", short_name(b, name_b, sizeof(name_b)));
    rpl_rank_text(a, out);
    vs_text_addf(out, " after %" PRIu64 " event%s of the allocator that %s alike\n  ",
                 diff->first - 1, diff->first == 2 ? "" : "s", diff->first == 2 ? "is" : "are");
    if (diff->common_a) {
        vs_text_add(out, "both until ");
        add_event(a, diff->common_a, out);
        vs_text_add(out, "\n  ");
    }
    add_event(a, diff->seq_a, out);
    vs_text_add(out, "\n  ");
    add_event(b, diff->seq_b, out);
    vs_text_add_char(out, '\n');
    add_collectives(a, b, out);
    if (!diff->change_count) {
        vs_text_add(out, "  at their peaks both have the same, line by line\n");
        return;
    }
    vs_text_addf(out, "  %14s%14s%13s  allocated at the two peaks, by line",
                 short_name(a, name_a, sizeof(name_a)), name_b, "change");
    vs_text_addf(out, " (A is %s, B is %s)\n", name_a, name_b);
    for (size_t i = 0; i < diff->change_count && i < top; i++)
        add_change(&diff->changes[i], out);
    add_rest(diff->changes, diff->change_count, top, "lines", out);
    vs_text_addf(
        out, "  %14s%14s%13s  in all\n", "", "",
        vs_bytes_delta_text((int64_t)(b->sum.peak.allocated - a->sum.peak.allocated), delta));
    vs_text_addf(out, "  %14s%14s%13s  the same, by block\n", "", "", "");
    for (size_t i = 0; i < diff->block_count && i < top; i++)
        add_change(&diff->blocks[i], out);
    add_rest(diff->blocks, diff->block_count, top, "blocks", out);
}

/* Columns of the axis: the first of each kind of ranks, the highest among them, as many as fit a line. */
#define AXIS_MAX 8

/* The peak of each kind of ranks in each phase of the step in which the highest one peaks. */
static void add_axis(const struct rpl_ranks *ranks, struct vs_text *out)
{
    size_t columns[AXIS_MAX];
    size_t count = 0;
    char buf[96];

    columns[count++] = ranks->highest;
    for (size_t i = 0; i < ranks->diff_count && count < AXIS_MAX; i++)
        columns[count++] = ranks->diffs[i].b;
    vs_text_addf(out, "\n  step %-7" PRId64, ranks->items[ranks->highest].sum.peak.step);
    for (size_t i = 0; i < count; i++)
        vs_text_addf(out, "%14.13s", short_name(&ranks->items[columns[i]], buf, sizeof(buf)));
    vs_text_add(out, "  highest in each phase\n");
    for (int phase = 0; phase < VS_PHASE_COUNT; phase++) {
        bool has_any = false;

        for (size_t i = 0; i < count; i++)
            has_any |= rpl_ranks_phase(ranks, columns[i], (enum vs_phase)phase) != NULL;
        if (!has_any)
            continue;
        vs_text_addf(out, "  %-12s", vs_phase_name((enum vs_phase)phase));
        for (size_t i = 0; i < count; i++) {
            const struct rpl_phase *p = rpl_ranks_phase(ranks, columns[i], (enum vs_phase)phase);

            vs_text_addf(out, "%14s", p ? vs_bytes_text(p->allocated_peak, buf) : "-");
        }
        vs_text_add_char(out, '\n');
    }
}

static void add_head(const struct rpl_ranks *ranks, struct vs_text *out)
{
    const struct rpl_rank *high = &ranks->items[ranks->highest];
    const struct rpl_rank *low = &ranks->items[ranks->lowest];
    char name[96];
    char bytes[VS_BYTES_TEXT_MAX];
    char exact[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%zu rank%s: peak allocated ", ranks->count, ranks->count == 1 ? "" : "s");
    vs_text_addf(out, "%s (%s bytes)", vs_bytes_text(high->sum.peak.allocated, bytes),
                 vs_bytes_exact_text(high->sum.peak.allocated, exact));
    if (high->sum.peak.allocated == low->sum.peak.allocated) {
        vs_text_add(out, ranks->count == 1 ? "" : " in each");
    } else {
        vs_text_addf(out, " in %s, ", short_name(high, name, sizeof(name)));
        vs_text_addf(out, "%s in %s", vs_bytes_text(low->sum.peak.allocated, bytes),
                     short_name(low, name, sizeof(name)));
    }
    high = &ranks->items[ranks->highest_reserved];
    vs_text_addf(out, "; reserved at most %s", vs_bytes_text(high->sum.peak.reserved, bytes));
    vs_text_addf(out, " (%s)\n", short_name(high, name, sizeof(name)));
}

void rpl_ranks_text(const struct rpl_ranks *ranks, size_t top, struct vs_text *out)
{
    struct rpl_mistakes mistakes = {.count = 0};
    char name[96];
    int width = 8;

    for (size_t i = 0; i < ranks->count; i++) {
        const int len = (int)strlen(short_name(&ranks->items[i], name, sizeof(name)));

        width = len > width ? len : width;
    }
    add_head(ranks, out);
    vs_text_addf(out, "\n  %-*s%12s%12s  peak at\n", width, "", "allocated", "reserved");
    for (size_t i = 0; i < ranks->count; i++)
        add_rank(ranks, i, width, out);
    if (ranks->count > 1 && !ranks->diff_count)
        vs_text_add(out, "\nAll ranks have the same events of the allocator.\n");
    rpl_skew_find(ranks, &mistakes);
    rpl_mistakes_text(&mistakes, out);
    rpl_mistakes_release(&mistakes);
    rpl_shared_text(ranks, out);
    if (ranks->diff_count)
        add_axis(ranks, out);
    for (size_t i = 0; i < ranks->diff_count; i++)
        add_diff(ranks, &ranks->diffs[i], top, out);
}
