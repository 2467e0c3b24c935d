/*
 * engine/core/engine.h - one training run's context: device, allocator, observer, modes, place, random state, first failure.
 *
 * For:            whoever runs a net: lang/, tests.
 * Must not know:  the net language, files.
 * Invariant:      one context, one thread. Nothing of a run lives outside it.
 *
 * Failure. An op that cannot be done returns NULL (or false) and leaves the first reason in the context; from then on every op returns NULL at
 * once, and every function takes NULL tensors without harm. So formulas read as arithmetic, and the caller asks once, at the end,
 * with eng_failed(). Device out-of-memory is such a failure (VS_E_OOM), and an event.
 */
#ifndef ENG_ENGINE_H
#define ENG_ENGINE_H

#include "base/error.h"
#include "engine/alloc/alloc.h"
#include "engine/core/observer.h"
#include "engine/core/tensor.h"

/* The observer hears nothing from now on. */
void eng_observer_stop(struct eng *e);
/* Events of the training loop's gradient scaler, at the location of the event before them. */
void eng_emit_scale(struct eng *e, uint64_t scale, uint64_t old_scale);
/* call: which of the training step's calls of GradScaler.step was skipped, from 0 */
void eng_emit_skip_step(struct eng *e, uint64_t call);

/* The first failure since the last eng_failure_take, or NULL. */
const struct vs_error *eng_failed(const struct eng *e);
/* Moves the failure into `err`; the context works again. Returns its status, VS_OK when there was none. */
enum vs_status eng_failure_take(struct eng *e, struct vs_error *err);
/* For ops and bindings: note a failure (the first one counts). Returns NULL so that `return eng_fail(...)` works. */
void *eng_fail(struct eng *e, enum vs_status status, const char *fmt, ...) VS_PRINTF(3, 4);

bool eng_has_data(const struct eng *e); /* false on meta */
/* Waits for a device of its own; what failed there since the last time becomes the context's failure. Elsewhere nothing. */
void eng_device_wait(struct eng *e);
struct eng_alloc *eng_alloc_of(struct eng *e);
/* The device ran out of memory: what was asked for and what was there. False when it has not happened. */
bool eng_oom_get(const struct eng *e, struct eng_oom *out);

/* Modes. Each returns the old value, for the caller to put back. */
bool eng_grad_enabled(const struct eng *e);
bool eng_set_grad_enabled(struct eng *e, bool on);
/* Look for NaN in what each backward node gives; where there is data, finding one fails the run (VS_E_RAISED). */
bool eng_set_anomaly(struct eng *e, bool on);

struct eng_autocast {
    bool enabled;
    bool cache_enabled;
    uint8_t dtype; /* enum vs_dtype: VS_F16 or VS_BF16 */
};
struct eng_autocast eng_autocast_get(const struct eng *e);
/* Enter a region: returns the state to give to eng_autocast_exit. Leaving the outermost region drops the weight cache. */
struct eng_autocast eng_autocast_enter(struct eng *e, struct eng_autocast state);
void eng_autocast_exit(struct eng *e, struct eng_autocast before);

/* Random numbers: one counter for the host, one for the device. */
struct eng_rng_state {
    uint64_t seed;
    uint64_t host_offset;
    uint64_t device_offset;
};
struct eng_rng_state eng_rng_get(const struct eng *e);
void eng_rng_set(struct eng *e, struct eng_rng_state state);

/*
 * Where the program is. Cheap to set (no event, no lookup); the id is made when an event needs it. Strings must stay
 * valid while set; the id of a pointer is remembered: no other text may stand there later.
 */
void eng_location_phase(struct eng *e, enum vs_phase phase); /* emits a `phase` event */
void eng_location_step(struct eng *e, int64_t step);         /* emits a `step` event; -1 is setup */
const char *eng_location_module(struct eng *e,
                                const char *path); /* returns the old one, likewise below */
const char *eng_location_func(struct eng *e, const char *qualname);
uint32_t eng_location_line(struct eng *e, uint32_t line);
const char *eng_module_get(const struct eng *e); /* the path as set, or NULL */

/* A holder took or let go of t: `name` in `scope`, as in base/holder.def. Strings may be NULL (none). */
void eng_hold(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope);
void eng_drop(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope);
/* A name that is told of again and again. id: of the one context that it is for, 0 until it was told of there. */
struct eng_name {
    const char *text;
    uint32_t id;
};
/* eng_hold (on) or eng_drop by such a name. */
void eng_hold_named(struct eng *e, struct eng_tensor *t, enum vs_holder holder,
                    struct eng_name *name, const char *scope, bool on);

/* What the run has counted so far. All but the peaks only grow, save `saved_*`, which is what autograd holds now. */
struct eng_counters {
    /* aten ops dispatched inside re-runs, views included, without detach and empty results */
    uint64_t recomputed_ops;
    uint64_t recomputed_kernels; /* without views */
    uint64_t recompute_flops;
    uint64_t total_flops;
    /* distinct storages held by autograd, without parameters, buffers, batch */
    uint64_t saved_tensors;
    uint64_t saved_bytes;     /* their requested bytes */
    uint64_t saved_bytes_all; /* with parameters, buffers and batch */
    uint64_t events;          /* as counted here, observer or not: alloc and free */
};
struct eng_counters eng_counters_get(const struct eng *e);

/* Category given to blocks allocated from now on; VS_CATEGORY_COUNT: by phase. Returns the old one. */
enum vs_category eng_category_default(struct eng *e, enum vs_category category);

/* The one element of t as a number: what .item() gives. On meta NaN or 0. Fails when t has not exactly one element. */
struct eng_scalar;
VS_MUST_USE bool eng_item(struct eng *e, struct eng_tensor *t, struct eng_scalar *out);

void eng_empty_cache(struct eng *e);

/* How long cuBLAS workspaces live: the rows of the toggle `workspace`. */
enum eng_workspace_policy {
    ENG_WORKSPACE_A_CALL,      /* 2.15: taken and given back by every product */
    ENG_WORKSPACE_KEPT,        /* 2.9: one a thread, for ever; cuBLASLt uses the same */
    ENG_WORKSPACE_KEPT_AND_LT, /* 2.6: one a thread, for ever; cuBLASLt takes its own each time */
};

/*
 * The GPU the run is for: library workspaces and kernel scratch are taken as PyTorch would take them there (see scratch.h), and, where
 * `bound` is set, the device has its capacity. NULL: tensors only. Before the first allocation.
 */
struct vs_target;
void eng_set_target(struct eng *e, const struct vs_target *target, enum eng_workspace_policy manner,
                    bool bound);

/*
 * What a GPU of our own was measured to work in (engine/workspace/workspace.h), and what went on, as texts to keep; each NULL where there is none.
 *
 * measured    a line for each convolution
 * unmeasured  numbers of the places where a convolution was met that was not measured, with commas between
 * shortages   a line for each place where memory for the best way was not to be had
 */
struct eng_workspaces_notes {
    char *measured;
    char *unmeasured;
    char *shortages;
};
struct eng_workspaces_notes eng_workspaces_notes_make(const struct eng *e);
void eng_workspaces_notes_release(struct eng_workspaces_notes *notes);

#endif
