/*
 * replay/report/report_tensors.c - tensors in the text report: the largest, the unused, and the leaked ones, with
 * their holders.
 *
 * Must not know:  terminals, where the text goes.
 * Invariant:      a tensor is described in the same words in every list.
 */
#include <inttypes.h>

#include "base/bytes.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report_internal.h"

#define HOLDERS_SHOWN 4
#define KEPT_SHOWN 8

void rpl_report_add_bytes(struct vs_text *out, int width, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%*s", width, vs_bytes_text(bytes, buf));
}

/* "read last by relu of line 25" */
static void add_reader(const struct rpl_report *report, const char *words,
                       const struct vs_location *location, struct vs_text *out)
{
    vs_text_addf(out, "%s %s", words, rpl_trace_string(report->trace, location->op));
    if (location->line)
        vs_text_addf(out, " of line %" PRIu32, location->line);
}

/* "read last by relu of line 25, never again" */
static void add_uses(const struct rpl_report *report, const struct rpl_why *why,
                     struct vs_text *out)
{
    const struct rpl_block *block = &why->block;
    const struct vs_location *last = rpl_trace_location(report->trace, block->last_use_location);
    const struct vs_location *next = rpl_trace_location(report->trace, why->next_use_location);

    if (!block->last_use_seq && !why->next_use_seq && !report->is_future_unknown) {
        vs_text_add(out, "never read");
        return;
    }
    if (block->last_use_seq)
        add_reader(report, "last read by", last, out);
    else
        vs_text_add(out, "not yet read");
    if (why->next_use_seq)
        add_reader(report, ", next read by", next, out);
    else if (!report->is_future_unknown)
        vs_text_add(out, ", no later use");
}

static bool is_backward(const struct rpl_trace *trace, uint32_t location)
{
    return rpl_trace_location(trace, location)->phase == VS_PHASE_BACKWARD;
}

static void add_holders(const struct rpl_report *report, const struct rpl_why *why,
                        struct vs_text *out)
{
    size_t shown = why->holder_count <= HOLDERS_SHOWN ? why->holder_count : HOLDERS_SHOWN - 1;

    for (size_t i = 0; i < shown; i++) {
        vs_text_add(out, "               ");
        rpl_holder_text(report->trace, &why->holders[i], out);
        vs_text_add_char(out, '\n');
    }
    if (shown < why->holder_count)
        vs_text_addf(out, "               and %zu more holders\n", why->holder_count - shown);
    if (!why->holder_count && !rpl_trace_is_imported(report->trace))
        vs_text_add(out, is_backward(report->trace, why->block.alloc_location)
                             ? "               held by backward: a gradient not yet used, or a "
                               "temporary of the running node\n"
                             : "               held by the running op, or by the library\n");
}

void rpl_report_tensor_text(const struct rpl_report *report, const struct rpl_why *why,
                            struct vs_text *out)
{
    rpl_report_add_bytes(out, 11, why->block.bytes);
    vs_text_addf(out, "  %-10s ", vs_category_name((enum vs_category)why->block.category));
    rpl_shape_text(report->trace, why->block.tensor, out);
    vs_text_add(out, "  ");
    rpl_why_text(report->trace, why, out);
    if (!rpl_trace_has_uses(report->trace)) {
        vs_text_add_char(out, '\n');
        if (why->holder_count) /* the program was run again to this event */
            add_holders(report, why, out);
        return;
    }
    if (!why->block.tensor) {
        vs_text_add(out, rpl_trace_is_imported(report->trace)
                             ? "\n"
                             : "\n               held by the running op, or by the library\n");
        return;
    }
    vs_text_add(out, "\n               ");
    add_uses(report, why, out);
    vs_text_add_char(out, '\n');
    add_holders(report, why, out);
}

static bool is_alike(const struct rpl_kept *a, const struct rpl_kept *b)
{
    return a->block.alloc_location == b->block.alloc_location &&
           a->block.requested == b->block.requested;
}

/* What freeing item `i` early would give. Of several of one line and size it is said once: it is that of all. */
static void add_gain(const struct rpl_kept_list *kept, size_t i, struct vs_text *out)
{
    size_t alike = 0;

    for (size_t k = 0; k < kept->count; k++) {
        if (k < i && is_alike(&kept->items[k], &kept->items[i]))
            return;
        alike += is_alike(&kept->items[k], &kept->items[i]);
    }
    if (alike > 1)
        vs_text_addf(out,
                     "               if the %zu of this line and size were freed right after their "
                     "last use, the peak would fall by ",
                     alike);
    else
        vs_text_add(out, "               if freed right after its last use, the peak falls by ");
    rpl_report_add_bytes(out, 0, kept->items[i].gain);
    vs_text_add_char(out, '\n');
}

/* Blocks of the same line and size are listed once. */
static bool of_one_site(const struct rpl_why *a, const struct rpl_why *b)
{
    return a->block.alloc_location == b->block.alloc_location &&
           a->block.requested == b->block.requested;
}

static bool site_before(const struct rpl_why *whys, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (of_one_site(&whys[k], &whys[i]))
            return true;
    return false;
}

void rpl_report_kept_text(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_kept_list *kept = &report->kept;
    size_t shown = 0;

    if (!rpl_trace_has_uses(report->trace)) {
        vs_text_addf(out, "\nTensors kept past their last use: not recorded in %s.\n",
                     rpl_trace_is_program(report->trace) ? "calls of the driver"
                                                         : "PyTorch's snapshots");
        return;
    }
    if (report->is_future_unknown) {
        vs_text_add(out,
                    "\nTensors kept past their last use: not known, the recording ends there.\n");
        return;
    }
    if (!kept->count) {
        vs_text_add(out, "\nNo tensor is kept past its last use there.\n");
        return;
    }
    vs_text_addf(out, "\nKept past the last use: %" PRIu64 " tensor%s, ", kept->total_count,
                 kept->total_count == 1 ? "" : "s");
    rpl_report_add_bytes(out, 0, kept->total);
    vs_text_add(out, "; the peak would fall by ");
    rpl_report_add_bytes(out, 0, kept->gain);
    vs_text_add(out, kept->count < kept->total_count ? " without the largest of them\n"
                                                     : " without them\n");
    for (size_t i = 0; i < kept->count && shown < KEPT_SHOWN; i++) {
        if (site_before(report->kept_why, i))
            continue;
        rpl_report_tensor_text(report, &report->kept_why[i], out);
        add_gain(kept, i, out);
        shown++;
    }
}

void rpl_leak_owner_text(const struct rpl_trace *trace, const struct rpl_leak_owner *owner,
                         uint64_t leaked, struct vs_text *out)
{
    if (!owner->is_known)
        return;
    vs_text_add(out, "  kept alive by ");
    rpl_holder_text(trace, &owner->holder, out);
    vs_text_add(out, owner->by_history ? ", and the autograd history of its tensor: " : ": ");
    rpl_report_add_bytes(out, 0, owner->bytes);
    vs_text_add(out, " of ");
    rpl_report_add_bytes(out, 0, leaked);
    vs_text_add_char(out, '\n');
}

void rpl_report_leak_text(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_leak *leak = &report->leak;
    /* a step that ran out of memory ends after the program has left its functions */
    const uint64_t oom = report->sum.oom.event;

    if (!leak->count && rpl_mistakes_leak(&report->mistakes)) {
        vs_text_add(out, "\nLeak: a likely mistake above says what grows");
        vs_text_add(out, leak->at ? "; at the end of the last whole step no line keeps memory step "
                                    "after step.\n"
                                  : ".\n");
        return;
    }
    if (!leak->at) {
        vs_text_add(out, "\nLeaks: not known, that needs three whole training steps.\n");
        return;
    }
    if (!leak->count) {
        vs_text_add(out, "\nNo leak: no line keeps memory step after step.\n");
        return;
    }
    vs_text_add(out, "\nLeak: ");
    rpl_report_add_bytes(out, 0, leak->bytes / leak->steps);
    vs_text_addf(out,
                 " a step; %" PRIu64 " block%s that %" PRIu64
                 " step%s allocated %s still alive a step later\n",
                 leak->count, leak->count == 1 ? "" : "s", leak->steps, leak->steps == 1 ? "" : "s",
                 leak->count == 1 ? "is" : "are");
    rpl_leak_owner_text(report->trace, &report->leak_owner, leak->bytes, out);
    if (!report->leak_owner.is_known && rpl_trace_meta(report->trace, "rerun_command") &&
        rpl_trace_meta(report->trace, "gpu_played"))
        vs_text_addf(out,
                     "  `vramscope why TRACE --at %" PRIu64
                     "` runs the program again and finds which name or list holds them\n",
                     oom && oom < leak->at ? oom : leak->at);
    for (size_t i = 0; i < leak->block_count; i++) {
        size_t more = 0;

        if (site_before(report->leak_why, i))
            continue;
        for (size_t k = i + 1; k < leak->block_count; k++)
            more += of_one_site(&report->leak_why[k], &report->leak_why[i]);
        rpl_report_tensor_text(report, &report->leak_why[i], out);
        if (more)
            vs_text_addf(out,
                         "               %zu more of the largest are of this line and size, too\n",
                         more);
    }
}
