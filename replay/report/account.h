/*
 * replay/report/account.h - the parts of the memory that nvidia-smi shows as used, for a recorded run.
 *
 * For:            the report.
 * Must not know:  how the driver is queried; the recorder did that (cli/account.h) and stored the figures in the trace.
 * Invariant:      nothing is estimated: a part that was not measured is unknown, and the known parts add up.
 *
 *     used = before + context + libraries + reserved + beside + others
 */
#ifndef RPL_ACCOUNT_H
#define RPL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

#define RPL_UNKNOWN INT64_MIN

/*
 * is_known    whether the trace has these figures: the run was on a GPU
 * is_read     true: `used` is the figure of nvidia-smi; false: it is computed from CUDA's count of free bytes
 * is_oom      true: the figures are those at the refused allocation; false: those at the end of the last step
 * missing     why the driver's library was not queried; NULL: it was. Borrowed from the trace
 * event       the event that the figures belong to
 * reserved, allocated   bytes of the caching allocator right after `event`
 *
 * The others are bytes, RPL_UNKNOWN where they were not measured:
 *
 * total       capacity of the GPU
 * used        in use on the GPU at `event`, by all programs
 * before      in use before this run initialised CUDA: other programs and the driver
 * context     the CUDA context; includes `before` where that is unknown
 * libraries   handles of cuBLAS and cuDNN, and the stream
 * beside      taken since then outside the allocator: kernels loaded at their first call, scratch, library workspaces.
 *             Negative: another program freed more
 * others      taken by other programs since then; negative: freed. Unknown where nvidia-smi's figure was not read
 * process     in use by this process, as the driver lists it
 */
struct rpl_account {
    bool is_known;
    bool is_read;
    bool is_oom;
    const char *missing;
    uint64_t event;
    uint64_t reserved, allocated;
    int64_t total, used, before, context, libraries, beside, others, process;
};

/*
 * Fill `out`. `oom` is that of the trace's summary. Reads the trace once where it has these figures. Errors: those of
 * reading it.
 */
VS_MUST_USE enum vs_status rpl_account_fill(struct rpl_account *out, struct rpl_trace *trace,
                                            const struct rpl_oom *oom, struct vs_error *err);
/*
 * The same in two steps, for callers that have the allocator's state at any event. rpl_account_begin sets `event` and
 * returns whether the trace has the figures; the caller then sets `reserved` and `allocated` to those right after that
 * event and calls rpl_account_finish. Of `oom` only event and device_free are used.
 */
VS_MUST_USE bool rpl_account_begin(struct rpl_account *out, const struct rpl_trace *trace,
                                   const struct rpl_oom *oom);
void rpl_account_finish(struct rpl_account *out, const struct rpl_trace *trace,
                        const struct rpl_oom *oom);

/* Append the parts as text, nothing where is_known is false; write the JSON member nvidia_smi, null in that case. */
void rpl_account_text(const struct rpl_account *account, struct vs_text *out);
void rpl_account_json(const struct rpl_account *account, struct vs_json *json);

#endif
