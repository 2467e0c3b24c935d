/*
 * cli/cmd_match.c - `match`: compares a net with what PyTorch recorded on a GPU, event by event.
 *
 * For:            `vramscope match`.
 * Must not know:  how events are compared (replay/match/match.h), how snapshots are parsed (recording/memlist.h).
 * Invariant:      no file is written. Exit status 0: every event agrees; 1: some do not, or an error occurred.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/netfile.h"
#include "engine/alloc_history/memlist.h"
#include "recording/memlist.h"
#include "replay/match/match.h"
#include "replay/report/summary.h"
#include "whatif/whatif.h"

static const struct cli_option OPTIONS[] = {
    {"events", 'e', "WHAT", false,
     "tensors: their allocations and frees; allocations: with those of libraries and kernels; all: "
     "with addresses, segments and "
     "peaks (default: tensors, or all where a target is set)"},
    {"define", 'D', "NAME=VALUE", true, "the net's line `NAME = …` becomes `NAME = VALUE`"},
    {"from", 0, "STEP[:PHASE]", false,
     "where the recording begins (steps count from 0), if not at the start of the program"},
    {"gpu", 0, "N", false, "which device of a snapshot with several"},
    {"any-free-order", 0, NULL, false,
     "consecutive frees may come in any order: that of autocast's copies depends on addresses"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/*
 * base: the net and its toggles, as what-if takes them. has_peaks: the list could be replayed, `peaks` are the
 * device's; sum: of ours.
 */
struct session {
    struct cli_netfile net;
    struct vs_memlist list;
    struct rpl_trace *base;
    struct rpl_trace *trace;
    struct rpl_match match;
    struct rpl_summary sum;
    struct eng_record_peaks peaks;
    bool has_peaks;
};

/* ---- the run ---- */

static enum vs_status define_all(const struct cli_args *args, struct cli_netfile *net,
                                 struct vs_error *err)
{
    const char *pair;
    enum vs_status st = VS_OK;

    for (size_t i = 0; (pair = cli_args_value_at(args, "define", i)) != NULL && !st; i++)
        st = cli_netfile_define(net, pair, err);
    return st;
}

static enum vs_status net_run(const struct cli_args *args, struct session *s, struct vs_error *err)
{
    uint64_t *addresses = NULL;
    size_t count;
    enum vs_status st = cli_netfile_read(args->positionals[0], &s->net, err);

    if (!st)
        st = define_all(args, &s->net, err);
    if (st)
        return st;
    s->base = rpl_trace_new();
    s->trace = rpl_trace_new();
    rpl_trace_set_source(s->base, s->net.name, s->net.text);
    /* nothing but the driver decides where segments are, and blocks of equal size are chosen by address */
    count = vs_memlist_segment_addresses(&s->list, &addresses);
    st = wif_run_placed(s->base, &args->toggles, addresses, count, s->trace, err);
    vs_free(addresses);
    return st;
}

/*
 * The value of --events: "tensors", "allocations" or "all"; by default tensors, with a target everything that is
 * comparable.
 */
static enum vs_status scope_get(const struct cli_args *args, const struct session *s,
                                enum rpl_match_scope *out, struct vs_error *err)
{
    const char *name = cli_args_value(args, "events");

    *out = RPL_MATCH_TENSORS;
    for (size_t i = 0; i < rpl_trace_toggle_count(s->trace) && !name; i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(s->trace, i);

        if (strcmp(toggle.name, "target") == 0 && strcmp(toggle.value, "none") != 0)
            *out = s->list.has_addresses ? RPL_MATCH_ALL : RPL_MATCH_ALLOCATIONS;
    }
    for (size_t i = 0; name && i <= RPL_MATCH_ALL; i++)
        if (strcmp(name, rpl_match_scope_name((enum rpl_match_scope)i)) == 0) {
            *out = (enum rpl_match_scope)i;
            return VS_OK;
        }
    return name ? vs_fail(err, VS_E_USAGE,
                          "match: --events cannot be `%s`; legal: tensors, allocations, all", name)
                : VS_OK;
}

/* The event of --from; 1 without it. */
static enum vs_status from_get(const struct cli_args *args, struct session *s, uint64_t *out,
                               struct vs_error *err)
{
    const char *text = cli_args_value(args, "from");
    enum vs_phase phase = VS_PHASE_COUNT;
    enum vs_status st;
    char *end = NULL;
    int64_t step;

    *out = 1;
    if (!text)
        return VS_OK;
    step = strtoll(text, &end, 10);
    if (*end == ':')
        for (size_t i = 0; i < VS_PHASE_COUNT; i++)
            if (strcmp(end + 1, vs_phase_name((enum vs_phase)i)) == 0)
                phase = (enum vs_phase)i;
    if (end == text || (*end && phase == VS_PHASE_COUNT))
        return vs_fail(
            err, VS_E_USAGE,
            "match: --from cannot be `%s`; give a step, or a step and a phase, such as 5:forward",
            text);
    st = rpl_match_first_event(s->trace, step, phase, out, err);
    if (!st && !*out)
        return vs_fail(err, VS_E_VALUE,
                       "the net's run has no event in %s; --steps sets how many steps it has",
                       text);
    return st;
}

/* --gpu; -1 without it. */
static enum vs_status gpu_get(const struct cli_args *args, int64_t *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "gpu");
    char *end = NULL;

    *out = -1;
    if (!text)
        return VS_OK;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || *out < 0)
        return vs_fail(err, VS_E_USAGE, "match: --gpu cannot be `%s`; give a number from 0 on",
                       text);
    return VS_OK;
}

static enum vs_status session_fill(const struct cli_args *args, struct session *s,
                                   struct vs_error *err)
{
    struct rpl_match_options options = {.scope = RPL_MATCH_TENSORS, .first_seq = 1};
    struct vs_error why = VS_ERROR_INIT;
    int64_t gpu = -1;
    enum vs_status st;

    memset(s, 0, sizeof(*s));
    options.any_free_order = cli_args_has(args, "any-free-order");
    st = gpu_get(args, &gpu, err);
    if (!st)
        st = rec_memlist_read(args->positionals[1], gpu, &s->list, err);
    if (!st)
        st = net_run(args, s, err);
    if (!st)
        st = scope_get(args, s, &options.scope, err);
    if (!st)
        st = from_get(args, s, &options.first_seq, err);
    if (!st)
        st = rpl_match_fill(&s->match, &s->list, s->trace, &options, err);
    if (!st && options.scope == RPL_MATCH_ALL) {
        /* a list that cannot be replayed has no peaks to compare; its events can be compared all the same */
        s->has_peaks = eng_record_peaks_of(&s->list, &s->peaks, &why) == VS_OK;
        st = rpl_summary_fill(&s->sum, s->trace, err);
    }
    return st;
}

static void session_release(struct session *s)
{
    rpl_match_release(&s->match);
    rpl_summary_release(&s->sum);
    rpl_trace_free(s->trace);
    rpl_trace_free(s->base);
    vs_memlist_release(&s->list);
    cli_netfile_release(&s->net);
}

/*
 * Whether the peaks equal the recorded ones. If all events are equal they nearly always do, but the user asks for the
 * peaks.
 */
static bool are_peaks_equal(const struct session *s)
{
    return !s->has_peaks || (s->peaks.allocated == s->sum.peak.allocated &&
                             s->peaks.requested == s->sum.peak.requested &&
                             s->peaks.reserved == s->sum.peak.reserved);
}

/* ---- text ---- */

static void add_left_out(const struct rpl_match *match, struct vs_text *out)
{
    const char *word = "left out of the recording: ";

    for (size_t i = 0; i < VS_MEM_CLASS_COUNT; i++)
        if (match->left_out[i]) {
            vs_text_addf(out, "%s%" PRIu64 " %s allocations (%" PRIu64 " bytes)", word,
                         match->left_out[i], vs_mem_class_name((enum vs_mem_class)i),
                         match->left_out_bytes[i]);
            word = ", ";
        }
    if (*word == ',')
        vs_text_add_char(out, '\n');
}

static void add_peak(const char *name, uint64_t real, uint64_t ours, struct vs_text *out)
{
    vs_text_addf(out, "  peak %-10s %14" PRIu64 " %14" PRIu64 "%s\n", name, real, ours,
                 real == ours ? "" : "  <--");
}

static void add_peaks(const struct session *s, struct vs_text *out)
{
    if (s->match.scope != RPL_MATCH_ALL) {
        vs_text_addf(out,
                     "peak of the compared events: recorded %" PRIu64 ", ours %" PRIu64
                     " bytes requested\n",
                     s->match.real.requested_peak, s->match.ours.requested_peak);
        return;
    }
    if (!s->has_peaks)
        return;
    vs_text_addf(out, "  %-15s %14s %14s\n", "", "recorded", "ours");
    add_peak("allocated", s->peaks.allocated, s->sum.peak.allocated, out);
    add_peak("requested", s->peaks.requested, s->sum.peak.requested, out);
    add_peak("reserved", s->peaks.reserved, s->sum.peak.reserved, out);
}

static void add_text(const struct session *s, const char *list, struct vs_text *out)
{
    vs_text_addf(out, "%s: matched %" PRIu64 " of %" PRIu64 " events (%s)\n", list,
                 s->match.same_events, s->match.events, rpl_match_scope_name(s->match.scope));
    if (s->match.reordered)
        vs_text_addf(out, "of these in another order: %zu frees\n", s->match.reordered);
    add_left_out(&s->match, out);
    add_peaks(s, out);
    rpl_match_text(&s->match, out);
}

/* ---- JSON ---- */

static void peaks_json(const char *key, const struct eng_record_peaks *peaks, struct vs_json *json)
{
    vs_json_key(json, key);
    vs_json_object_flat(json);
    vs_json_put_uint(json, "allocated", peaks->allocated);
    vs_json_put_uint(json, "requested", peaks->requested);
    vs_json_put_uint(json, "reserved", peaks->reserved);
    vs_json_end(json);
}

static void add_json(const struct session *s, const struct cli_args *args, struct vs_text *out)
{
    struct eng_record_peaks ours = {s->sum.peak.allocated, s->sum.peak.requested,
                                    s->sum.peak.reserved};
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "net", s->net.name);
    vs_json_put_string(&json, "list", args->positionals[1]);
    rpl_match_json(&s->match, &json);
    vs_json_put_uint(&json, "requested_peak_recorded", s->match.real.requested_peak);
    vs_json_put_uint(&json, "requested_peak_ours", s->match.ours.requested_peak);
    if (s->match.scope == RPL_MATCH_ALL) {
        vs_json_put_bool(&json, "peaks_equal", are_peaks_equal(s));
        if (s->has_peaks)
            peaks_json("peaks_recorded", &s->peaks, &json);
        peaks_json("peaks_ours", &ours, &json);
    }
    vs_json_end(&json);
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct session s;
    int status;

    if (session_fill(args, &s, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        add_json(&s, args, &text);
    else
        add_text(&s, args->positionals[1], &text);
    status = cli_print(&text);
    if (!status && !(rpl_match_is_equal(&s.match) && are_peaks_equal(&s)))
        status = 1;
out:
    vs_text_release(&text);
    session_release(&s);
    return status;
}

const struct cli_cmd cli_cmd_match = {
    .name = "match",
    .usage = "NET LIST [--TOGGLE VALUE …] [--events WHAT] [-D NAME=VALUE] [--from STEP] [--json]",
    .summary = "Compare a net with what PyTorch recorded on a GPU, event by event",
    .help =
        "The net is run without data and compared with LIST, what PyTorch recorded of the same "
        "program: the kind of each event, its bytes, and\n"
        "which allocation is freed. LIST is a memory snapshot of PyTorch's, or "
        "comma- or tab-separated (columns kind, bytes, id\n"
        "or address; more in docs/internals/fidelity.md), or a compact list of tests/golden/alloc; "
        "gzip is "
        "unpacked. Nothing in a snapshot is ever run. The first difference is shown with its op "
        "and line.\n"
        "Exit status 0: all agree, 1: not.\n\n"
        "  vramscope match sample_nets/lm4.py -D LENGTH=100 "
        "tests/golden/alloc/lm4_train_ctx100.0.txt\n",
    .options = OPTIONS,
    .positionals_min = 2,
    .positionals_max = 2,
    .toggles = true,
    .run = run,
};
