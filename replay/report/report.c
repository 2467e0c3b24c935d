/*
 * replay/report/report.c - gathers what a report says; see report.h.
 *
 * Must not know:  how it is laid out.
 * Invariant:      every list is sorted by bytes, equal ones in order of allocation.
 */
#include "replay/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"
#include "replay/inspect/block_text.h"
#include "replay/report/figures.h"
#include "replay/report/fold.h"
#include "replay/report/report_internal.h"
#include "replay/state/live.h"

/*
 * What is alive at report->at, where the cursor stands: by category and allocation site, and the ids of the `top`
 * largest.
 */
static void contents_fill(struct rpl_report *report, const struct rpl_live *live, size_t top)
{
    struct rpl_block *blocks = vs_alloc((live->block_count + 1) * sizeof(*blocks));

    memcpy(report->by_category, live->by_category, sizeof(report->by_category));
    for (size_t i = 0; i < live->block_count; i++) {
        blocks[i] = live->blocks[i];
        report->blocks_by_category[blocks[i].category]++;
    }
    rpl_alloc_sites_fill(&report->lines, report->trace, live, RPL_ALLOC_SITES_BY_LINE);
    rpl_alloc_sites_fill(&report->modules, report->trace, live, RPL_ALLOC_SITES_BY_MODULE);
    rpl_alloc_sites_fill(&report->layers, report->trace, live, RPL_ALLOC_SITES_BY_LAYERS);
    report->top = top;
    qsort(blocks, live->block_count, sizeof(*blocks), rpl_block_by_bytes);
    report->largest_count = live->block_count < top ? live->block_count : top;
    report->largest = vs_calloc(report->largest_count + 1, sizeof(*report->largest));
    for (size_t i = 0; i < report->largest_count; i++)
        report->largest[i].id = blocks[i].id;
    vs_free(blocks);
}

/* Fill `count` whys, whose ids are set, at the cursor's event. */
static enum vs_status whys_fill(struct rpl_cursor *cursor, struct rpl_why *whys, size_t count,
                                struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < count; i++) {
        st = rpl_alive_why(cursor, &whys[i], err);
        rpl_why_distinct(rpl_index_trace(rpl_cursor_index(cursor)), &whys[i]);
    }
    return st;
}

/* Whether the recording ends at report->at or within its step, so that it does not contain the blocks' next uses. */
static bool future_is_unknown(const struct rpl_report *report)
{
    size_t count = rpl_trace_step_count(report->trace);

    if (report->sum.oom.event || !rpl_trace_has_uses(report->trace))
        return true;
    return !rpl_trace_is_complete(report->trace) && count &&
           report->at >= rpl_trace_step(report->trace, count - 1).first_seq;
}

static enum vs_status kept_fill(struct rpl_report *report, struct rpl_cursor *cursor,
                                struct vs_error *err)
{
    enum vs_status st;

    report->is_future_unknown = future_is_unknown(report);
    if (report->is_future_unknown)
        return VS_OK;
    st = rpl_alive_kept(cursor, &report->kept, err);
    if (st)
        return st;
    report->kept_why = vs_calloc(report->kept.count + 1, sizeof(*report->kept_why));
    for (size_t i = 0; i < report->kept.count; i++)
        report->kept_why[i].id = report->kept.items[i].block.id;
    return whys_fill(cursor, report->kept_why, report->kept.count, err);
}

/* Moves the cursor to the event at which leaks are looked for. */
static enum vs_status leak_fill(struct rpl_report *report, struct rpl_cursor *cursor,
                                struct vs_error *err)
{
    enum vs_status st = rpl_alive_leak(rpl_cursor_index(cursor), &report->leak, err);

    if (st || !report->leak.block_count)
        return st;
    report->leak_why = vs_calloc(report->leak.block_count, sizeof(*report->leak_why));
    for (size_t i = 0; i < report->leak.block_count; i++)
        report->leak_why[i].id = report->leak.blocks[i].id;
    st = rpl_cursor_seek(cursor, report->leak.at, err);
    if (!st)
        st = whys_fill(cursor, report->leak_why, report->leak.block_count, err);
    if (!st)
        st = rpl_leak_owner(rpl_cursor_index(cursor), &report->leak, &report->leak_owner, err);
    return st;
}

/* All that concerns the blocks alive at report->at, and leaks. */
static enum vs_status blocks_fill(struct rpl_report *report, size_t top, struct vs_error *err)
{
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor = NULL;
    enum vs_status st = rpl_index_open(report->trace, NULL, NULL, &index, err);

    if (st)
        goto out;
    cursor = rpl_cursor_new(index);
    st = rpl_cursor_seek(cursor, report->at, err);
    if (st)
        goto out;
    contents_fill(report, rpl_cursor_live(cursor), top);
    st = whys_fill(cursor, report->largest, report->largest_count, err);
    if (!st)
        st = kept_fill(report, cursor, err);
    if (!st)
        st = leak_fill(report, cursor, err);
out:
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    return st;
}

enum vs_status rpl_report_read(struct rpl_report *out, struct rpl_trace *trace, size_t top,
                               bool has_figures, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    out->trace = trace;
    if (!has_figures)
        st = rpl_summary_fill(&out->sum, trace, err);
    if (st)
        return st;
    st = rpl_work_fill(&out->work, trace, err);
    if (st)
        return st;
    out->at = out->sum.oom.event ? out->sum.oom.event : out->sum.peak.event;
    if (!out->at)
        return VS_OK;
    st = blocks_fill(out, top, err);
    if (!st)
        st = rpl_parameters_fill(&out->parameters, trace, err);
    if (!st && !has_figures)
        st = rpl_traffic_fill(&out->traffic, trace, err);
    if (!st)
        st = rpl_account_fill(&out->account, trace, &out->sum.oom, err);
    if (!st)
        st = rpl_mistakes_fill(&out->mistakes, trace, &out->sum, err);
    return st;
}

enum vs_status rpl_report_fill(struct rpl_report *out, struct rpl_trace *trace, size_t top,
                               struct vs_error *err)
{
    const bool has_figures =
        rpl_figures_load(trace, &out->sum, &out->traffic, &(struct vs_error)VS_ERROR_INIT) == VS_OK;
    struct rpl_report folded = {.trace = NULL};
    enum vs_status st;

    /* without an index it would be made, without figures all events would be counted */
    if (!(has_figures && rpl_index_is_stored(trace)) && rpl_fold_report(&folded, trace, top)) {
        rpl_report_release(out);
        *out = folded;
        rpl_figures_save(trace, &out->sum, &out->traffic);
        return VS_OK;
    }
    st = rpl_report_read(out, trace, top, has_figures, err);
    if (!st && out->at && !has_figures)
        rpl_figures_save(trace, &out->sum, &out->traffic);
    return st;
}

void rpl_report_release(struct rpl_report *report)
{
    for (size_t i = 0; report->largest && i < report->largest_count; i++)
        rpl_why_release(&report->largest[i]);
    for (size_t i = 0; report->kept_why && i < report->kept.count; i++)
        rpl_why_release(&report->kept_why[i]);
    for (size_t i = 0; report->leak_why && i < report->leak.block_count; i++)
        rpl_why_release(&report->leak_why[i]);
    vs_free(report->largest);
    vs_free(report->kept_why);
    vs_free(report->leak_why);
    rpl_alloc_sites_release(&report->lines);
    rpl_alloc_sites_release(&report->modules);
    rpl_alloc_sites_release(&report->layers);
    rpl_work_release(&report->work);
    rpl_parameters_release(&report->parameters);
    rpl_traffic_release(&report->traffic);
    rpl_mistakes_release(&report->mistakes);
    rpl_summary_release(&report->sum);
    memset(report, 0, sizeof(*report));
}
