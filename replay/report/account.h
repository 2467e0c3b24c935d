/*
 * replay/report/account.h - why nvidia-smi says what it says: what the driver counts of a recorded run, taken apart.
 *
 * For:            the report.
 * Must not know:  how the driver is asked; the recorder did (cli/account.h).
 * Invariant:      nothing is estimated: a part that was not measured is unknown, and the parts that are known add up.
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
 * is_known    the trace has an account: the run was on a GPU
 * is_read     `used` is what nvidia-smi would have printed; otherwise it is made of what CUDA did not call free
 * is_oom      the moment is that of the refused allocation; otherwise the end of the last step
 * missing     why the driver's library was not asked; NULL: it was
 * event       the moment
 * reserved, allocated   of our allocator, right after `event`
 *
 * The others are bytes, RPL_UNKNOWN where they were not measured:
 * total       of the GPU
 * used        in use on the GPU then, by all
 * before      used before this run began CUDA: other programs, and what the driver takes
 * context     the CUDA context, with before where that is unknown
 * libraries   handles of cuBLAS and cuDNN, the stream
 * beside      taken since, not by the allocator: kernels loaded at their first call, scratch, workspaces of libraries. Negative: another
 *             program gave more back
 * others      what other programs took since; negative: gave back. Unknown where nvidia-smi's number was not read
 * process     of this process alone, by the driver's list
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

/* Reads the trace once, where it has an account. oom: of its summary. */
VS_MUST_USE enum vs_status rpl_account_fill(struct rpl_account *out, struct rpl_trace *trace,
                                            const struct rpl_oom *oom, struct vs_error *err);
/*
 * The same for who knows the state at any event: begin says whether there is an account, and at which event; once its `reserved` and `allocated` are those right after
 * that, finish fills the rest. Of `oom` event and device_free are looked at.
 */
VS_MUST_USE bool rpl_account_begin(struct rpl_account *out, const struct rpl_trace *trace,
                                   const struct rpl_oom *oom);
void rpl_account_finish(struct rpl_account *out, const struct rpl_trace *trace,
                        const struct rpl_oom *oom);

/* Nothing where nothing is known. The member is called nvidia_smi. */
void rpl_account_text(const struct rpl_account *account, struct vs_text *out);
void rpl_account_json(const struct rpl_account *account, struct vs_json *json);

#endif
