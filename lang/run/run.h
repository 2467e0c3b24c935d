/*
 * lang/run/run.h - trains a net file with the built-in loop, once, with given toggles.
 *
 * For:            the record command, what-if, tests.
 * Must not know:  traces, terminals.
 * Invariant:      the same settings give the same events; nothing of a run is left when lang_run returns.
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

struct eng_kernels;
struct eng_tensor;
struct lang_library;
struct lang_inplace_checks;

/*
 * Where a run is. `step` is -1 in setup. loss_known: `loss` is that of this step (after phase loss, where the device
 * has data).
 */
struct lang_progress {
    int64_t step;
    int64_t steps;
    enum vs_phase phase;
    bool loss_known;
    double loss;
};

/* An optimizer step that was skipped. call: which of the training step's calls of GradScaler.step it was, from 0. */
struct lang_skip {
    int64_t step;
    uint64_t call;
};

/*
 * What to run. Zero means the default, or nothing, for every member but the text.
 *
 * file_name, text, len  the net file; file_name is for messages
 * kernels      arithmetic of the device (eng_kernels_cpu()); NULL: `meta`, no data at all
 * device       a device of its own, instead of kernels; NULL: none. Must outlive the run
 * observer     gets all events until the last step is over; NULL: none
 * toggles      what is set explicitly; the file's `defaults` fill in, then the table
 * capacity     bytes of the device; 0: as much as is asked for
 * seed         of all random numbers
 * library      the standard library, parsed before (lang/run/library.h); NULL: it is parsed for this run
 * trials       what the in-place checks of this net, with this seed, found so far (lang/run/inplace_checks.h); NULL:
 *              each is run
 * skips        on `meta`: the optimizer steps that a GradScaler skipped where this net ran with data (skip_count of
 *              them)
 * segment_addresses  where the driver puts the first segments (segment_count of them): see struct eng_options
 * workspaces   on `meta`: what a device of its own was measured to work in, which is repeated
 *              (engine/workspace/workspace.h); NULL: none
 * formula      weights and data by the formula of tests/oracle/README.md instead of random, dropout off; for comparing
 *              numbers
 * user         given to the callbacks
 * started      the toggles are settled and nothing has run yet: a value for each, and which come from the table's
 *              defaults
 * progress     a phase is over. False: stop (VS_E_STOPPED)
 * stop         asked every few thousand statements and few dozen nodes of a backward, in the trials of `inplace` too.
 *              True: stop (VS_E_STOPPED)
 * warn         a warning PyTorch would give, once per text
 * print        what the net prints; NULL: stdout
 * dump         with each gradient before each optimizer step ("gradient" of the first step, "gradient 1" of the second
 *              and so on, times `scale`; where the net has a train_step, as that leaves it), each parameter and buffer
 *              after the last step ("parameter", "buffer"); `t` is lent. NULL: not wanted
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
    struct lang_inplace_checks *trials;
    const struct lang_skip *skips;
    size_t skip_count;
    const uint64_t *segment_addresses;
    size_t segment_count;
    const char *workspaces;
    bool formula;
    void *user;
    void (*started)(void *user, const struct vs_toggles *in_force, const bool *is_default);
    bool (*progress)(void *user, const struct lang_progress *progress);
    bool (*stop)(void *user);
    void (*warn)(void *user, const char *text);
    void (*print)(void *user, const char *text, size_t len);
    void (*dump)(void *user, const char *kind, const char *name, struct eng_tensor *t,
                 double scale);
};

/*
 * A phase that is over: torch.cuda.memory_stats() there, the peaks since the phase before ended. `micro` counts from 0
 * within a step; optimizer and zero_grad have 0.
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
 * A step. loss: the sum over its parts, which are divided by their number; loss_known is false on `meta` and where the
 * net's train_step gave no tensor or number. skipped: the GradScaler found a gradient that was not finite.
 */
struct lang_run_step {
    int64_t step;
    bool loss_known;
    double loss;
    bool skipped;
    uint64_t recomputed_ops;     /* aten ops inside re-runs, views included */
    uint64_t recomputed_kernels; /* without views */
};

/* One loss of one part of a step. */
struct lang_run_loss {
    int64_t step;
    uint32_t micro;
    double value;
};

/* A part of a toggle that was not applied: `path` of a module, and why. */
struct lang_refusal {
    char *toggle;
    char *path;
    char *reason;
};

/*
 * What came of it. Filled as far as the run got, also on failure.
 *
 * toggles, is_default  in force; lr: of the built-in optimizers
 * inplace              modules that worked in place because of the toggle, in order
 * saved_*              what autograd held when the last loss ended; saved_known is false where no loss ended
 * rooms                of a device of its own, and where one is repeated
 * peak_*               highest over all phases; `peak_phase` is an index into phases (the first that has it), SIZE_MAX:
 * none
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
    struct lang_refusal *refusals;
    size_t refusal_count, refusal_cap;
    char **inplace;
    size_t inplace_count, inplace_cap;
    uint64_t parameters;
    bool saved_known;
    uint64_t saved_tensors;
    uint64_t saved_bytes;
    uint64_t saved_bytes_all;
    uint64_t peak_allocated;
    uint64_t peak_requested;
    uint64_t peak_reserved;
    size_t peak_phase;
    uint64_t recompute_flops;
    uint64_t total_flops;
    uint64_t events; /* allocations and frees */
    bool has_oom;
    struct eng_oom oom;
    struct eng_workspaces_notes rooms;
};

/*
 * Run the net. *result must be zeroed or released; the caller releases it, also on failure.
 *
 * VS_E_SYNTAX, VS_E_NAME, VS_E_TYPE, VS_E_SHAPE, VS_E_RAISED and the like: the net is wrong; the text has file, line,
 * the line itself. VS_E_VALUE: a toggle does not fit the net, or the file's defaults are wrong. VS_E_OOM: the device
 * ran out of memory (see oom). VS_E_STOPPED: `progress` or `stop` said so.
 */
VS_MUST_USE enum vs_status lang_run(const struct lang_settings *settings,
                                    struct lang_result *result, struct vs_error *err);

void lang_result_release(struct lang_result *result);

#endif
