/*
 * replay/report/report.h - the report on a trace: what filled the device at its worst moment, who held it, what need not be held.
 *
 * For:            `vramscope report`, and the record command after an out-of-memory.
 * Must not know:  terminals, arguments, where the text goes.
 * Invariant:      a pure function of the trace: the same trace gives the same text, byte for byte.
 */
#ifndef RPL_REPORT_H
#define RPL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/alloc_sites.h"
#include "replay/report/account.h"
#include "replay/report/non_pytorch.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"
#include "replay/trace/work.h"

/*
 * trace     borrowed; must outlive the report
 * at        the event everything below is about: the refused allocation where there was one, else the peak; 0: nothing was allocated
 * by_category  allocated bytes right after `at`
 * lines, modules, layers   what made the blocks alive at `at`; see replay/inspect/alloc_sites.h. top: how many of the largest are shown
 * largest   largest_count blocks alive at `at`, the largest first
 * is_future_unknown  the recording ends there or was imported, so nothing can be said about what is read again, and `kept` is empty
 * work      what a GPU did, where that was measured; see replay/trace/work.h
 * account   why nvidia-smi says what it says
 * kept_why  one for each of kept.items; leak_why: of leak.blocks, at leak.at
 * outside   of a program that was recorded at the driver, too; NULL: not known. The caller's, set after rpl_report_fill
 */
struct rpl_report {
    struct rpl_trace *trace;
    struct rpl_summary sum;
    uint64_t at;
    uint64_t by_category[VS_CATEGORY_COUNT];
    uint64_t blocks_by_category[VS_CATEGORY_COUNT];
    struct rpl_alloc_sites lines, modules, layers;
    size_t top;
    struct rpl_why *largest;
    size_t largest_count;
    bool is_future_unknown;
    struct rpl_kept_list kept;
    struct rpl_why *kept_why;
    struct rpl_leak leak;
    struct rpl_why *leak_why;
    struct rpl_work work;
    struct rpl_account account;
    const struct rpl_non_pytorch *outside;
};

/*
 * Fill the report; `top` is the number of the largest tensors to list. The caller zero-initialises `out` and releases it, also
 * after a failure. Reads the whole trace once for the summary and opens its index, which is built first where the file has none
 * (rpl_index_open; a built index is stored in the file). Reads the trace once more each where the work of a GPU was measured
 * and where the driver's account is in it. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_report_fill(struct rpl_report *out, struct rpl_trace *trace,
                                           size_t top, struct vs_error *err);
void rpl_report_release(struct rpl_report *report);

/* For people, 100 columns wide where names allow it. `name` is what to call the trace in the first line. */
void rpl_report_text(const struct rpl_report *report, const char *name, struct vs_text *out);
/* For programs: the fields are listed in docs/formats/json.md. */
void rpl_report_json(const struct rpl_report *report, struct vs_text *out);
/* The same into an object that is open, for the caller to add to. */
void rpl_report_members_json(const struct rpl_report *report, struct vs_json *json);

/*
 * What a run that ran out of memory would have needed: `free` is the report on the same run without a limit (whatif/whatif.h), of which
 * `top` may be 0; what it keeps past its last use is told, which the run that ended cannot know.
 */
void rpl_report_need_text(const struct rpl_report *free, uint64_t capacity, struct vs_text *out);

/* The part on what a GPU did: nothing where the run was on none. */
void rpl_report_work_text(const struct rpl_report *report, struct vs_text *out);
void rpl_report_work_json(const struct rpl_report *report, struct vs_json *json);

/* The object `peak` of the JSON answers: {"allocated": …, "by_category": {…}}. */
void rpl_peak_json(const struct rpl_trace *trace, const struct rpl_peak *peak,
                   struct vs_json *json);
/* How sure the peak is: a line, or nothing where it is what it says; and the object `bound`. */
void rpl_uncertainty_text(const struct rpl_trace *trace, const struct rpl_uncertainty *bound,
                          uint64_t peak, struct vs_text *out);
void rpl_uncertainty_json(const struct rpl_trace *trace, const struct rpl_summary *sum,
                          struct vs_json *json);

#endif
