/*
 * engine/core/engine.h - the context of one training run: device, allocator, observer, modes, source location, random
 * state, first failure. Created and freed by engine/context.h.
 *
 * For:            code that runs a net: lang/, tests.
 * Must not know:  the net language, files.
 * Invariant:      a context is used by one thread, and all state of a run is in it.
 *
 * Failure. An op that fails returns NULL (or false) and records the first reason in the context. From then on every op
 * returns NULL at once, and every function accepts NULL tensors. Formulas therefore need no checks between their ops,
 * and the caller checks eng_failed() once, at the end. Running out of device memory is such a failure (VS_E_OOM), and
 * is also an event.
 */
#ifndef ENG_ENGINE_H
#define ENG_ENGINE_H

#include "base/error.h"
#include "engine/alloc/alloc.h"
#include "engine/core/observer.h"
#include "engine/core/tensor.h"

/* From now on no event is emitted. */
void eng_observer_stop(struct eng *e);
/* Emits an event of the training loop's gradient scaler, at the source location of the preceding event. */
void eng_emit_scale(struct eng *e, uint64_t scale, uint64_t old_scale);
/*
 * Emits that GradScaler.step skipped the optimizer. call: index, from 0, of the call of step within the training step.
 */
void eng_emit_skip_step(struct eng *e, uint64_t call);

/* The first failure since the last eng_failure_take, or NULL. */
const struct vs_error *eng_failed(const struct eng *e);
/* Moves the failure into `err` and clears it, so that ops run again. Returns its status, or VS_OK if there was none. */
enum vs_status eng_failure_take(struct eng *e, struct vs_error *err);
/* For ops and bindings: records a failure, unless one is recorded already. Returns NULL, for `return eng_fail(...)`. */
void *eng_fail(struct eng *e, enum vs_status status, const char *fmt, ...) VS_PRINTF(3, 4);

/* Whether tensors have values: false on meta. */
bool eng_has_data(const struct eng *e);
/* Waits until a real device has finished its work; an error that it reports becomes the context's failure. */
void eng_device_wait(struct eng *e);
struct eng_alloc *eng_alloc_of(struct eng *e);
/* What was requested and what was free when the device ran out of memory. False if that has not happened. */
bool eng_oom_get(const struct eng *e, struct eng_oom *out);

/* Modes. Each setter returns the previous value, so that the caller can restore it. */
bool eng_grad_enabled(const struct eng *e);
bool eng_set_grad_enabled(struct eng *e, bool on);
/*
 * Anomaly detection: check the gradients that each backward node computes for NaN. Finding one fails the run
 * (VS_E_RAISED). Has no effect without data.
 */
bool eng_set_anomaly(struct eng *e, bool on);
/*
 * From now on what autograd saves goes to the host, and comes back when backward reads it: torch.autograd.graph's
 * save_on_cpu(). A checkpoint's own tensors stay placeholders; its arguments go to the host. Returns the old setting.
 * pinned: save_on_cpu(pin_memory=True), whose copies are contiguous, so that a transposed tensor is copied on the
 * device first.
 */
bool eng_set_offload(struct eng *e, bool on);
bool eng_set_offload_pinned(struct eng *e, bool on);
/*
 * Streams of the device, for the allocator: a block belongs to the stream on which it was allocated, and only that
 * stream's requests reuse it. All work runs in order on one stream, whatever the numbers. 0 is the default stream.
 *
 * eng_set_stream     the current stream from now on; returns the one before
 * eng_record_stream  another stream uses the tensor: its block, once freed, is reused from the next allocation on (the
 *                    device is taken to be done by then)
 */
uint32_t eng_stream(const struct eng *e);
uint32_t eng_set_stream(struct eng *e, uint32_t stream);
void eng_record_stream(struct eng_tensor *t, uint32_t stream);

struct eng_autocast {
    bool enabled;
    bool cache_enabled;
    uint8_t dtype; /* enum vs_dtype: VS_F16 or VS_BF16 */
};
struct eng_autocast eng_autocast_get(const struct eng *e);
/*
 * Enters an autocast region; pass the result to eng_autocast_exit. Leaving the outermost region clears the cast cache.
 */
struct eng_autocast eng_autocast_enter(struct eng *e, struct eng_autocast state);
void eng_autocast_exit(struct eng *e, struct eng_autocast before);
/* How many regions have been entered and not left, those with enabled=False included. */
int eng_autocast_depth(const struct eng *e);

/* State of the random number generators: one counter for the host, one for the device. */
struct eng_rng_state {
    uint64_t seed;
    uint64_t host_offset;
    uint64_t device_offset;
};
struct eng_rng_state eng_rng_get(const struct eng *e);
void eng_rng_set(struct eng *e, struct eng_rng_state state);

/*
 * The current source location. Setting it costs no event and no lookup: its id is determined when an event needs it.
 * A string must stay valid while it is set, and its address must never hold another text later, because ids are kept by
 * address.
 */
/* Sets the phase and emits a `phase` event. */
void eng_location_phase(struct eng *e, enum vs_phase phase);
/* Sets the step and emits a `step` event; -1 is the set-up. */
void eng_location_step(struct eng *e, int64_t step);
/* These return the previous value. */
const char *eng_location_module(struct eng *e, const char *path);
const char *eng_location_func(struct eng *e, const char *qualname);
uint32_t eng_location_line(struct eng *e, uint32_t line);
/* The module path as it was set, or NULL. */
const char *eng_module_get(const struct eng *e);

/*
 * Emits that a holder acquired or released a reference to t: `name` in `scope`, see base/holder.def. Both may be NULL.
 */
void eng_hold(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope);
void eng_drop(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope);
/* The name of a holder that is emitted often. id: its string id in the one context that uses it; 0 until first used. */
struct eng_name {
    const char *text;
    uint32_t id;
};
/* eng_hold (on) or eng_drop (off) with such a name. */
void eng_hold_named(struct eng *e, struct eng_tensor *t, enum vs_holder holder,
                    struct eng_name *name, const char *scope, bool on);

/* Counters of the run. All only grow, except `saved_*`, which describe what autograd holds now. */
struct eng_counters {
    /* aten ops run during recomputation, including views, excluding detach and ops with empty results */
    uint64_t recomputed_ops;
    uint64_t recomputed_kernels; /* without views */
    uint64_t recompute_flops;
    uint64_t total_flops;
    /* distinct storages held by autograd, excluding parameters, buffers and the batch */
    uint64_t saved_tensors;
    uint64_t saved_bytes;     /* requested bytes of these storages */
    uint64_t saved_bytes_all; /* including parameters, buffers and the batch */
    uint64_t events;          /* alloc and free events, counted with or without an observer */
    uint64_t backwards;       /* backward passes begun */
    uint64_t host_bytes;      /* of saved tensors, copied to the host and back (eng_set_offload) */
};
struct eng_counters eng_counters_get(const struct eng *e);

/*
 * The largest copy that autocast made in a smaller dtype and that is nevertheless larger than the storage it was copied
 * from: the tensor was expanded. line: of the net; bytes 0: there was none.
 */
struct eng_grown_cast {
    uint64_t bytes;
    uint64_t from_bytes;
    uint32_t line;
};
const struct eng_grown_cast *eng_grown_cast_get(const struct eng *e);

/*
 * Sets the category of blocks allocated from now on; VS_CATEGORY_COUNT: it follows from the phase. Returns the old one.
 */
enum vs_category eng_category_default(struct eng *e, enum vs_category category);

/* The value of t, which must have exactly one element, as .item() returns it; NaN or 0 on meta. False: failed. */
struct eng_scalar;
VS_MUST_USE bool eng_item(struct eng *e, struct eng_tensor *t, struct eng_scalar *out);

void eng_empty_cache(struct eng *e);

/*
 * The PyTorch whose behaviour is followed, by its minor version: 15 is 2.15, the newest and the default. To be set
 * before the first op. What differs between versions: docs/internals/versions.md.
 */
#define ENG_TORCH_NEWEST 15
void eng_set_torch(struct eng *e, int minor);
int eng_torch(const struct eng *e);

/* How long the workspaces of cuBLAS are kept: the values of the toggle `workspace`. */
enum eng_workspace_policy {
    ENG_WORKSPACE_PER_CALL, /* PyTorch 2.15: allocated and freed by every matrix product */
    ENG_WORKSPACE_KEPT,     /* PyTorch 2.9: one per thread, never freed; cuBLASLt uses the same */
    ENG_WORKSPACE_KEPT_BOTH, /* PyTorch 2.11: two per thread, never freed; the second is that of cuBLASLt */
    ENG_WORKSPACE_KEPT_AND_LT, /* PyTorch 2.8 and before: one per thread, never freed; cuBLASLt has its own per call */
};

/*
 * Sets the GPU whose memory use is simulated: library workspaces and kernel scratch are allocated as PyTorch does on it
 * (engine/workspace/scratch.h), and, if `bound` is set, the device has its capacity. NULL: tensors only. Must be called
 * before the first allocation. Borrows target.
 */
struct vs_target;
void eng_set_target(struct eng *e, const struct vs_target *target, enum eng_workspace_policy policy,
                    bool bound);
/* The GPU that was set; NULL: tensors only. */
const struct vs_target *eng_target(const struct eng *e);

/*
 * The workspaces measured on a real GPU (engine/workspace/workspace.h) and what was noted about them, as texts to be
 * stored in a trace; NULL where there is nothing.
 *
 * measured    one line per convolution
 * unmeasured  location ids at which a convolution ran that was not measured, separated by commas
 * shortages   one line per location at which the fastest algorithm's workspace could not be allocated
 */
struct eng_workspaces_notes {
    char *measured;
    char *unmeasured;
    char *shortages;
};
struct eng_workspaces_notes eng_workspaces_notes_make(const struct eng *e);
void eng_workspaces_notes_release(struct eng_workspaces_notes *notes);

#endif
