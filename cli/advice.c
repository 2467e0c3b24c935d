/*
 * cli/advice.c - what to do about a recording that ran out of memory; see tries.h.
 *
 * Must not know:  how a run is had.
 * Invariant:      what is said to fit has run to its end on the recorded device's capacity.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/tries.h"
#include "replay/bound.h"
#include "replay/report.h"
#include "replay/whatif.h"

/* The run to its end: what it needs, and of a net what it keeps too long. */
static enum vs_status need_add(struct rpl_trace *trace, uint64_t capacity, struct vs_text *out,
                               struct vs_error *err)
{
    struct rpl_trace *memory = rpl_trace_new();
    struct rpl_report report = {.trace = NULL};
    enum vs_status st = rpl_whatif_run_on(trace, NULL, RPL_NO_LIMIT, memory, err);

    if (!st)
        st = rpl_report_fill(&report, memory, 0, err);
    if (!st)
        rpl_report_need_text(&report, capacity, out);
    rpl_report_release(&report);
    rpl_trace_free(memory);
    return st;
}

/* Whether a row is advice: the net still trains, on that device, with the batch it has. */
static bool is_advice(const struct rpl_try *row)
{
    return *row->label && row->fits && !vs_toggles_is_set(&row->set, VS_TOGGLE_GRAD) &&
           !vs_toggles_is_set(&row->set, VS_TOGGLE_BATCH);
}

/* The run as recorded and what is advice, for a table; borrowed from `all`. The caller frees the items. */
static struct rpl_tries advice_of(const struct rpl_tries *all)
{
    struct rpl_tries some = {vs_alloc(all->count * sizeof(*some.items)), 0, 0};

    for (size_t i = 0; i < all->count; i++)
        if (!i || is_advice(&all->items[i]))
            some.items[some.count++] = all->items[i];
    some.items[0].fits = true; /* said above the table, not in it */
    some.items[0].batch = 0;
    return some;
}

static void add_batch(const struct rpl_try *as_is, struct vs_text *out)
{
    if (as_is->batch)
        vs_text_addf(out, "As it is, a batch of %" PRIu64 " is the largest that fits.\n",
                     as_is->batch);
    else
        vs_text_add(out, "As it is, not even one sample fits.\n");
}

/* Of those that do not fit the one that needs least; NULL: none needs less than the run as it is. */
static const struct rpl_try *closest(const struct rpl_tries *tries)
{
    const struct rpl_try *best = &tries->items[0];

    for (size_t i = 1; i < tries->count; i++)
        if (!tries->items[i].failed && tries->items[i].run.peak < best->run.peak)
            best = &tries->items[i];
    return best == &tries->items[0] ? NULL : best;
}

static void add_advice(const struct rpl_tries *tries, uint64_t capacity, bool has_net,
                       const char *name, struct vs_text *out)
{
    struct rpl_tries some = advice_of(tries);
    struct cli_tries table = {.tries = &some, .base = tries->items[0].run.peak};
    const struct rpl_try *near = closest(tries);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "\nWhat would fit %s, each run to its end\n\n", vs_bytes_text(capacity, buf));
    if (some.count > 1) {
        cli_tries_text(&table, out);
    } else {
        vs_text_add(out, has_net ? "  nothing that was tried"
                                 : "  no setting of the allocator that was tried");
        if (near)
            vs_text_addf(out, "; closest comes %s with %s", near->label,
                         vs_bytes_text(near->run.peak, buf));
        vs_text_add(out, "\n\n");
    }
    if (has_net)
        add_batch(&tries->items[0], out);
    if (some.count > 1)
        vs_text_addf(out, "`vramscope tui %s --set …` steps through such a run; ", name);
    vs_text_addf(out, "`vramscope whatif %s --each` has all that was tried.\n", name);
    vs_free(some.items);
}

enum vs_status cli_advice_text(struct rpl_trace *trace, const char *name, struct vs_text *out,
                               struct vs_error *err)
{
    const bool has_net = rpl_trace_source_text(trace) != NULL;
    struct rpl_tries_ask ask = {.capacity = rpl_capacity(trace), .batches = RPL_BATCHES_RECORDED};
    struct rpl_tries tries = {NULL, 0, 0};
    struct vs_error no = VS_ERROR_INIT;
    enum vs_status st;

    if (!ask.capacity || (!has_net && rpl_trace_is_program(trace)))
        return VS_OK;
    st = need_add(trace, ask.capacity, out, err);
    if (!st && !rpl_tries_fill(&tries, trace, &ask, &no) && !tries.items[0].fits)
        add_advice(&tries, ask.capacity, has_net, name, out);
    rpl_tries_release(&tries);
    return st;
}
