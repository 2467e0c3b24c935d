/*
 * replay/report/report.h - the report on a trace: what fills the peak, what holds it, and what could be freed.
 *
 * For:            `vramscope report`, and `vramscope record` after an out-of-memory error.
 * Must not know:  terminals, arguments, where the text goes.
 * Invariant:      the same trace gives the same text, byte for byte.
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
#include "replay/inspect/leak_owner.h"
#include "replay/report/account.h"
#include "replay/report/mistakes.h"
#include "replay/report/non_pytorch.h"
#include "replay/report/parameters.h"
#include "replay/report/summary.h"
#include "replay/report/traffic.h"
#include "replay/trace/trace.h"
#include "replay/trace/work.h"

/*
 * trace     borrowed; must outlive the report
 * sum       figures of the whole trace
 * at        event that all of the following describes: the refused allocation where there is one, otherwise the peak;
 *           0: nothing was allocated
 * by_category, blocks_by_category   allocated bytes, and number of blocks, right after `at`
 * lines, modules, layers   allocation sites of the blocks alive at `at` (replay/inspect/alloc_sites.h)
 * top       number of the largest blocks to list, as given to rpl_report_fill
 * largest   the largest_count largest blocks alive at `at`, the largest first
 * is_future_unknown  the recording ends at `at` or was imported, so later uses are not known and `kept` is empty
 * kept      the unused blocks at `at`; kept_why has one for each of kept.items
 * leak      what the training steps leak; leak_why has one for each of leak.blocks, at leak.at; leak_owner: the name
 *           that keeps it alive
 * work      what a GPU executed, where that was measured (replay/trace/work.h)
 * parameters  of each module when the first step begins
 * traffic   bytes that ops read and write
 * mistakes  likely mistakes of a recorded program
 * account   the parts of the figure that nvidia-smi prints
 * non_pytorch  the device memory that other libraries and the program itself took beside PyTorch's allocator, for a
 *           program that was also recorded at the driver; NULL: not known. Borrowed; the caller sets it after
 *           rpl_report_fill
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
    struct rpl_leak_owner leak_owner;
    struct rpl_work work;
    struct rpl_parameters parameters;
    struct rpl_traffic traffic;
    struct rpl_account account;
    struct rpl_mistakes mistakes;
    const struct rpl_non_pytorch *non_pytorch;
};

/*
 * Fill the report; `top` is the number of the largest tensors to list. The caller zero-initialises `out` and releases
 * it, also after a failure. Where the file has no index and the same steps repeat, it reads a few of them
 * (replay/report/fold.h). Otherwise it reads the whole trace once each for the summary and for the bytes that ops read
 * and write, unless these figures are stored beside the index (replay/report/figures.h), and opens the index, which is
 * built first where the file has none (rpl_index_open; a built index is stored in the file). Parameters need the set-up
 * alone; the work of a GPU, where it was measured, and the driver's account, where the trace has it, are one more
 * reading each. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_report_fill(struct rpl_report *out, struct rpl_trace *trace,
                                           size_t top, struct vs_error *err);
void rpl_report_release(struct rpl_report *report);

/* Append the report as text, 100 columns wide where names allow it. `name` names the trace in the first line. */
void rpl_report_text(const struct rpl_report *report, const char *name, struct vs_text *out);
/* Append the report as a JSON object; docs/formats/json.md lists the fields. */
void rpl_report_json(const struct rpl_report *report, struct vs_text *out);
/* The same members into the JSON object that is open, to which the caller may add others. */
void rpl_report_members_json(const struct rpl_report *report, struct vs_json *json);

/*
 * What a run that ran out of memory would have needed. `free` is the report on the same run without a limit
 * (whatif/whatif.h); its `top` may be 0. Its unused blocks are listed as well, which the trace of the run that ended
 * cannot show.
 */
void rpl_report_need_text(const struct rpl_report *free, uint64_t capacity, struct vs_text *out);

/*
 * The part on the work of a GPU, as text and as the JSON member gpu_work. The text is empty where the run was on no
 * GPU.
 */
void rpl_report_work_text(const struct rpl_report *report, struct vs_text *out);
void rpl_report_work_json(const struct rpl_report *report, struct vs_json *json);

/*
 * The name that keeps `leaked` bytes alive: a line of text, nothing where it is not known; and a JSON object or null.
 */
void rpl_leak_owner_text(const struct rpl_trace *trace, const struct rpl_leak_owner *owner,
                         uint64_t leaked, struct vs_text *out);
void rpl_leak_owner_json(const struct rpl_trace *trace, const struct rpl_leak_owner *owner,
                         struct vs_json *json);

/* Write the JSON object of a live block, as a row of `largest`. */
void rpl_why_json(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_json *json);

/* Write the JSON object of a peak: {"allocated": …, "by_category": {…}}. */
void rpl_peak_json(const struct rpl_trace *trace, const struct rpl_peak *peak,
                   struct vs_json *json);
/*
 * Whether `peak`, in allocated bytes, is exact or a lower bound: a line of text, nothing where it is exact; and the
 * JSON member `bound`. `uncertainty` was filled from `trace`.
 */
void rpl_uncertainty_text(const struct rpl_trace *trace, const struct rpl_uncertainty *uncertainty,
                          uint64_t peak, struct vs_text *out);
void rpl_uncertainty_json(const struct rpl_trace *trace, const struct rpl_summary *sum,
                          struct vs_json *json);

/*
 * What to say where an event of `trace` has no op: of a net that it was between two ops; of what others recorded it is
 * not known.
 */
const char *rpl_no_op_text(const struct rpl_trace *trace);

#endif
