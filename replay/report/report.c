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
#include "replay/state/live.h"

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* What is alive at report->at: by category, and the `top` largest. */
static enum vs_status contents_fill(struct rpl_report *report, size_t top, struct vs_error *err)
{
    struct rpl_live live;
    enum vs_status st;

    rpl_live_init(&live);
    st = rpl_live_read(&live, report->trace, report->at, err);
    if (st)
        goto out;
    memcpy(report->by_category, live.by_category, sizeof(report->by_category));
    for (size_t i = 0; i < live.block_count; i++)
        report->blocks_by_category[live.blocks[i].category]++;
    rpl_alloc_sites_fill(&report->lines, report->trace, &live, RPL_ALLOC_SITES_BY_LINE);
    rpl_alloc_sites_fill(&report->modules, report->trace, &live, RPL_ALLOC_SITES_BY_MODULE);
    rpl_alloc_sites_fill(&report->layers, report->trace, &live, RPL_ALLOC_SITES_BY_LAYERS);
    report->top = top;
    if (live.block_count)
        qsort(live.blocks, live.block_count, sizeof(*live.blocks), by_bytes);
    report->largest_count = live.block_count < top ? live.block_count : top;
    report->largest = vs_calloc(report->largest_count + 1, sizeof(*report->largest));
    for (size_t i = 0; i < report->largest_count; i++)
        report->largest[i].id = live.blocks[i].id;
out:
    rpl_live_release(&live);
    return st;
}

/* Does the recording end at, or inside the step of, `at`? Then nobody knows what would have been read again. */
static bool future_is_unknown(const struct rpl_report *report)
{
    size_t count = rpl_trace_step_count(report->trace);

    if (report->sum.oom.event || rpl_trace_is_imported(report->trace))
        return true;
    return !rpl_trace_is_complete(report->trace) && count &&
           report->at >= rpl_trace_step(report->trace, count - 1).first_seq;
}

static enum vs_status kept_fill(struct rpl_report *report, struct vs_error *err)
{
    enum vs_status st;

    report->is_future_unknown = future_is_unknown(report);
    if (report->is_future_unknown)
        return VS_OK;
    st = rpl_kept_fill(&report->kept, report->trace, report->at, err);

    if (st)
        return st;
    report->kept_why = vs_calloc(report->kept.count + 1, sizeof(*report->kept_why));
    for (size_t i = 0; i < report->kept.count; i++)
        report->kept_why[i].id = report->kept.items[i].block.id;
    return rpl_why_fill(report->trace, report->at, report->kept_why, report->kept.count, err);
}

static enum vs_status leak_fill(struct rpl_report *report, struct vs_error *err)
{
    enum vs_status st = rpl_leak_fill(&report->leak, report->trace, err);

    if (st || !report->leak.block_count)
        return st;
    report->leak_why = vs_calloc(report->leak.block_count, sizeof(*report->leak_why));
    for (size_t i = 0; i < report->leak.block_count; i++)
        report->leak_why[i].id = report->leak.blocks[i].id;
    return rpl_why_fill(report->trace, report->leak.at, report->leak_why, report->leak.block_count,
                        err);
}

enum vs_status rpl_report_fill(struct rpl_report *out, struct rpl_trace *trace, size_t top,
                               struct vs_error *err)
{
    enum vs_status st;

    out->trace = trace;
    st = rpl_summary_fill(&out->sum, trace, err);
    if (st)
        return st;
    st = rpl_work_fill(&out->work, trace, err);
    if (st)
        return st;
    out->at = out->sum.oom.event ? out->sum.oom.event : out->sum.peak.event;
    if (!out->at)
        return VS_OK;
    st = contents_fill(out, top, err);
    if (!st)
        if (!st)
            st = rpl_why_fill(trace, out->at, out->largest, out->largest_count, err);
    if (!st)
        st = kept_fill(out, err);
    if (!st)
        st = leak_fill(out, err);
    if (!st)
        st = rpl_account_fill(&out->account, trace, &out->sum.oom, err);
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
    rpl_summary_release(&report->sum);
    memset(report, 0, sizeof(*report));
}
