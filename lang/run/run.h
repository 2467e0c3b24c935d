/*
 * lang/run/run.h - runs a net file once with the built-in training loop and the given toggles.
 *
 * For:            the record command, what-if analysis, tests.
 * Must not know:  traces, terminals.
 * Invariant:      the same settings give the same events; lang_run has released everything but *result when it returns.
 *
 *     struct lang_settings settings = {.file_name = "net.py", .text = text, .len = len, .toggles = &toggles};
 *     struct lang_result result = {0};
 *     st = lang_run(&settings, &result, err);
 *     …
 *     lang_result_release(&result);
 */
#ifndef LANG_RUN_H
#define LANG_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/toggle.h"
#include "engine/alloc/alloc.h"
#include "engine/core/engine.h"
#include "engine/core/observer.h"
#include "lang/value/warning.h"

struct eng_kernels;
struct eng_tensor;
struct lang_library;
struct vs_ranks;
struct lang_inplace_checks;
struct lang_plans;

/*
 * The progress of a run. `step` counts from 0 and is -1 during set-up; `steps` is the number of steps. loss_known:
 * `loss` is the loss of this step, which is known from the end of the loss phase on and never on meta.
 */
struct lang_progress {
    int64_t step;
    int64_t steps;
    enum vs_phase phase;
    bool loss_known;
    double loss;
};

/*
 * An optimizer step that a GradScaler skipped. call: the index, from 0, of the call of GradScaler.step within the
 * training step.
 */
struct lang_skip {
    int64_t step;
    uint64_t call;
};

/*
 * What to run. All members but the text may be zero, which means the default or nothing. All pointers are borrowed for
 * the time of lang_run().
 *
 * file_name, text, len  the net file, UTF-8; file_name is only used in messages
 * kernels      kernels that compute on the host (eng_kernels_cpu()); NULL: the run is on meta, without data
 * device       a real device, used instead of kernels; NULL: none
 * observer     receives all events up to the end of the last step; NULL: none
 * toggles      explicitly set toggles; the others take the value in the file's `defaults`, else the table's default
 * capacity     device memory in bytes; 0: unlimited
 * seed         seed of all random numbers
 * library      the parsed standard library (lang/run/library.h); NULL: it is parsed for this run
 * inplace_checks  results of in-place checks of this net with this seed, which are reused and added to
 *              (lang/run/inplace_checks.h); NULL: this run makes all checks itself
 * plans        placements of checkpoints that are known of this net with this seed, which are reused and added to
 *              (lang/run/plan.h); NULL: checkpoint=auto searches anew
 * ranks        only with data: the other processes that train this net with this one (ranks/ranks.h), which run it
 *              with the same settings; NULL: their values are assumed to be this one's
 * skips        only on meta: the optimizer steps that a GradScaler skipped in a run of this net with data; skip_count
 *              entries
 * segment_addresses  addresses at which the driver places the first segments; segment_count entries, see struct
 *              eng_options
 * workspaces   only on meta: the library workspaces measured on a real device, as text, which this run reproduces
 *              (engine/workspace/workspace.h); NULL: none
 * all_steps    the result has the phases, losses and figures of all steps; otherwise those of the last step, and its
 *              memory does not grow with the number of steps
 * formula      weights and data follow the formula of tests/oracle/README.md instead of being random, and dropout is
 *              off; for comparing numbers with PyTorch
 * user         first argument of the callbacks; each callback may be NULL
 * started      called when the toggles are final and before anything runs, with the value of each toggle and whether
 *              it is the table's default
 * progress     called at the end of each phase; returning false stops the run (VS_E_STOPPED)
 * stop         polled every few thousand statements and every few dozen nodes of a backward, also during in-place
 *              checks; returning true stops the run (VS_E_STOPPED)
 * warn         called with each warning when it is found, once per text; the result has all of them
 * print        called with the text that the net prints; NULL: it goes to stdout
 * dump         called with each gradient before each optimizer step (kind "gradient" in the first step, "gradient 1" in
 *              the second and so on; the true gradient is `t` times `scale`; where the net has a train_step, the
 *              gradient after it), and with each parameter and buffer after the last step ("parameter", "buffer"); `t`
 *              is borrowed
 */
struct lang_settings {
    const char *file_name;
    const char *text;
    size_t len;
    const struct eng_kernels *kernels;
    const struct eng_device *device;
    const struct eng_observer *observer;
    const struct vs_toggles *toggles;
    uint64_t capacity;
    uint64_t seed;
    const struct lang_library *library;
    struct lang_inplace_checks *inplace_checks;
    struct lang_plans *plans;
    const struct vs_ranks *ranks;
    const struct lang_skip *skips;
    size_t skip_count;
    const uint64_t *segment_addresses;
    size_t segment_count;
    const char *workspaces;
    bool all_steps;
    bool formula;
    void *user;
    void (*started)(void *user, const struct vs_toggles *in_force, const bool *is_default);
    bool (*progress)(void *user, const struct lang_progress *progress);
    bool (*stop)(void *user);
    void (*warn)(void *user, const struct lang_warning *warning);
    void (*print)(void *user, const char *text, size_t len);
    void (*dump)(void *user, const char *kind, const char *name, struct eng_tensor *t,
                 double scale);
};

/*
 * The figures of torch.cuda.memory_stats() at the end of a phase, in bytes; a peak is the highest value since the end
 * of the previous phase. `micro` is the index of the micro-batch within the step, from 0; it is 0 for the phases
 * optimizer and zero_grad.
 */
struct lang_run_phase {
    int64_t step;
    uint32_t micro;
    enum vs_phase phase;
    uint64_t allocated_end;
    uint64_t allocated_peak;
    uint64_t requested_end;
    uint64_t requested_peak;
    uint64_t reserved_end;
    uint64_t reserved_peak;
};

/*
 * A training step. loss: the mean over its micro-batches; loss_known is false on meta and where the net's train_step
 * returned neither a tensor nor a number. skipped: the GradScaler found a gradient that was not finite.
 */
struct lang_run_step {
    int64_t step;
    bool loss_known;
    double loss;
    bool skipped;
    uint64_t recomputed_ops;     /* aten ops that checkpoints ran again, with views */
    uint64_t recomputed_kernels; /* without views */
};

/* In each of so many consecutive steps checkpoints ran `ops` ops again. */
struct lang_recomputed {
    uint64_t ops;
    uint64_t steps;
};

/* The loss of one micro-batch. */
struct lang_run_loss {
    int64_t step;
    uint32_t micro;
    double value;
};

/*
 * A part of a toggle that was not applied: the path of a module, or the value of the toggle, and the reason as a
 * sentence.
 */
struct lang_refusal {
    char *toggle;
    char *path;
    char *reason;
};

/*
 * What this process gives to the collectives of one name, as NCCL calls it ("ncclAllGather").
 *
 * count, bytes  how often it was called, and with how many bytes of this process; bytes of a broadcast are those of its
 *               root
 * sent          bytes that this process sends to others in a ring, which is the least (docs/internals/distributed.md)
 * step_…        the same since the last step began
 */
struct lang_collective {
    char *name;
    uint64_t count;
    uint64_t bytes;
    uint64_t sent;
    uint64_t step_count;
    uint64_t step_bytes;
    uint64_t step_sent;
};

/*
 * The result of a run. After a failure it holds everything up to the failure.
 *
 * toggles, is_default  the values in force; lr: learning rate of the built-in optimizer
 * warnings             what was warned of, in this order; each text is owned
 * inplace              paths of the modules that worked in place because of the toggle, in the model's order
 * segments_max         how many parts the net has, where it has too few for checkpoint=segments=N; else 0
 * placement            the checkpoints of checkpoint=auto as text (lang/run/plan_chain.h); NULL: another value
 * parameters           number of elements of all parameters
 * saved_*              tensors and bytes that autograd had saved for backward at the end of the last loss phase;
 *                      saved_known is false where no loss phase ended
 * phases, steps, losses  of the last step, or with all_steps of all, and of the set-up before them
 * steps_begun          number of steps
 * recomputed           how many ops checkpoints ran again in each step: as runs of steps with the same number
 * peak_*               highest bytes over all phases; `peak_phase` is the first phase that reached peak_allocated,
 *                      where has_peak
 * *_flops              floating-point operations of all steps, and those that checkpoints ran again
 * collectives          of the toggle `shard`, sorted by name
 * events               number of allocations and frees
 * oom                  where has_oom: the failed allocation
 * workspace_notes      measured or missing library workspaces, on a real device and where `workspaces` was given
 */
struct lang_result {
    struct vs_toggles toggles;
    bool is_default[VS_TOGGLE_COUNT];
    double lr;
    struct lang_run_phase *phases;
    size_t phase_count, phase_cap;
    struct lang_run_step *steps;
    size_t step_count, step_cap;
    struct lang_run_loss *losses;
    size_t loss_count, loss_cap;
    uint64_t steps_begun;
    struct lang_recomputed *recomputed;
    size_t recomputed_count, recomputed_cap;
    struct lang_refusal *refusals;
    size_t refusal_count, refusal_cap;
    struct lang_warning *warnings;
    size_t warning_count, warning_cap;
    char **inplace;
    size_t inplace_count, inplace_cap;
    char *placement;
    uint64_t segments_max;
    uint64_t parameters;
    bool saved_known;
    uint64_t saved_tensors;
    uint64_t saved_bytes;
    uint64_t saved_bytes_all;
    uint64_t peak_allocated;
    uint64_t peak_requested;
    uint64_t peak_reserved;
    bool has_peak;
    struct lang_run_phase peak_phase;
    uint64_t recompute_flops;
    uint64_t total_flops;
    uint64_t host_bytes; /* of saved tensors, copied to the host and back */
    struct lang_collective *collectives;
    size_t collective_count, collective_cap;
    uint64_t events; /* allocations and frees */
    bool has_oom;
    struct eng_oom oom;
    struct eng_workspaces_notes workspace_notes;
};

/*
 * Runs the net. *result must be zeroed or released; the caller releases it with lang_result_release(), also after a
 * failure.
 *
 * VS_E_SYNTAX, VS_E_NAME, VS_E_TYPE, VS_E_SHAPE, VS_E_RAISED and similar: the net has an error; the text has the file,
 * the line number and the source line. VS_E_VALUE: a toggle does not fit the net, or the file's `defaults` are wrong.
 * VS_E_OOM: the device ran out of memory (see result->oom). VS_E_STOPPED: `progress` or `stop` stopped the run.
 */
VS_MUST_USE enum vs_status lang_run(const struct lang_settings *settings,
                                    struct lang_result *result, struct vs_error *err);

/* Frees what *result holds and zeroes it. */
void lang_result_release(struct lang_result *result);

#endif
