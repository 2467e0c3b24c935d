/*
 * engine/core/engine_internal.h - the contents of a context, for the engine's own files.
 *
 * For:            engine/ only.
 * Must not know:  anything above the engine.
 * Invariant:      `failed` stays set until eng_failure_take; while it is set nothing is allocated.
 */
#ifndef ENG_ENGINE_INTERNAL_H
#define ENG_ENGINE_INTERNAL_H

#include "base/pool.h"
#include "engine/alloc/driver.h"
#include "engine/core/engine.h"
#include "engine/core/graph.h"
#include "engine/core/op.h"
#include "engine/device/kernels.h"
#include "engine/device/plugin.h"

/*
 * Ids of strings by the string's address. Open addressing with a search of its own instead of base/table.h, because it
 * is on the path of every event: keys are compared as pointers, nothing is ever removed, the search is inlined into
 * the callers, and a slot holds key and id side by side, so that a hit reads one cache line.
 */
struct eng_string_slot {
    /* NULL: the slot is free */
    const char *text;
    uint32_t id;
};

struct eng_string_ids {
    struct eng_string_slot *slots;
    size_t size; /* a power of two, never more than a quarter full */
    size_t count;
};

/* A parsed signature. */
struct eng_signature {
    struct eng_param params[ENG_MAX_ARGS];
    int count;
    /* the parsed column `saves`. source: argument index, or -1-k for result k; condition: argument index or -1 */
    struct eng_save_rule {
        int8_t source;
        int8_t condition;
        bool inplace_result;
        bool is_late; /* an input that is saved after the kernel, with the results */
    } saves[ENG_MAX_SAVES];
    int save_count;
    int first_tensor; /* index of the first tensor parameter, -1: none */
};

#define ENG_RECOMPUTE_MAX 64

struct eng_cast_entry {
    struct eng_tensor *key; /* counted, so that its address cannot be reused by another tensor */
    struct eng_tensor *cast;
};

struct eng {
    const struct eng_kernels *kernels;
    const struct eng_device *device; /* NULL: memory is simulated */
    const struct eng_observer *observer;
    struct eng_sim_driver *sim;
    struct eng_alloc *alloc;
    struct eng_signature *signatures; /* ENG_OP_COUNT of them */

    struct vs_pool pool;    /* storages, versions, nodes */
    struct vs_pool tensors; /* of tensors only, so that all of them can be visited */

    bool failed;
    struct vs_error error;
    bool has_oom;
    struct eng_oom oom;

    bool grad_enabled;
    uint32_t
        stream; /* what is allocated belongs to this stream of the device; 0: the default one */
    bool anomaly;
    bool offload; /* see eng_set_offload */
    bool offload_pinned;
    struct eng_autocast autocast;
    int autocast_depth;
    struct eng_cast_entry *cast_cache;
    size_t cast_count, cast_cap;
    struct eng_rng_state rng;

    /* the current source location; location_id is valid while !location_dirty */
    struct vs_location location;
    uint32_t location_id;
    bool location_dirty;
    const char *module;
    const char *func;
    uint32_t line;
    const char *op;
    int64_t step;
    enum vs_phase phase;
    enum vs_category category; /* VS_CATEGORY_COUNT: by phase */
    struct eng_string_ids strings;
    const char *scope; /* that of the last hold or drop: the next one often has the same */
    uint32_t scope_id;

    uint64_t tensors_born;
    uint64_t next_block_id;
    uint32_t next_tensor_id;
    uint64_t next_seq;
    uint64_t next_node_id;
    uint64_t task_id; /* of the running backward; 0 outside */
    uint64_t next_task_id;
    bool (*stop)(void *user); /* see eng_options; may be NULL */
    void *stop_user;
    int kernel_depth;   /* > 0 inside an op's forward: no autograd, no autocast, not counted */
    int backward_depth; /* > 0 inside a backward node's formula */
    int recompute_depth;
    int recompute_outer[ENG_RECOMPUTE_MAX]; /* backward_depth outside each running recomputation */
    struct eng_checkpoint *checkpoint;      /* the innermost one that collects saved tensors */
    struct eng_selective *selective;        /* the innermost one that ops reach */
    uint32_t live_checkpoints;
    struct eng_counters counters;
    struct eng_grown_cast grown_cast;
    uint64_t live_storages;
    /* the result of the last collective, while it has `pending`; not counted */
    struct eng_storage *collective;
    /* in-place checks, see eng_set_writer */
    uint32_t writer;
    bool is_blaming;
    struct eng_blame *blames;
    size_t blame_count, blame_cap;
    /*
     * the simulated GPU, NULL: tensors only; and the workspaces cuBLAS keeps there, for the main and autograd's thread
     */
    const struct vs_target *target;
    uint8_t workspace_policy;    /* enum eng_workspace_policy */
    uint8_t torch_before_newest; /* versions between the PyTorch that is followed and the newest */
    struct eng_storage *cublas_workspaces[2];
    struct eng_storage *cublaslt_workspaces[2];
    struct eng_workspaces
        *workspaces; /* of a real device, or of a run that repeats one; else NULL */
    struct eng_node_hook *after_backward; /* see eng_after_backward; NULL: none */
    struct eng_ready
        *ready; /* see autograd/ready.h; NULL: the order of gradients is not recorded */
};

/* ---- engine.c ---- */
uint32_t eng_string_id_find(struct eng *e, const char *text);
/*
 * Strings allocated one after the other get neighbouring slots, because the items of a list are visited in that order.
 * Only within a KiB: longer stretches that collide would fill parts of the table.
 */
static inline size_t eng_string_hash(const char *text, size_t size)
{
    uint64_t at = (uint64_t)(uintptr_t)text;

    return (size_t)((at >> 4) + ((at >> 10) * UINT64_C(0x9E3779B97F4A7C15) >> 40)) & (size - 1);
}
/* The string id of text; 0 for NULL, and 0 without an observer. text: see eng_location_phase about its lifetime. */
static inline uint32_t eng_string_id(struct eng *e, const char *text)
{
    size_t at = eng_string_hash(text, e->strings.size);

    if (!text)
        return 0;
    while (e->strings.slots[at].text && e->strings.slots[at].text != text)
        at = (at + 1) & (e->strings.size - 1);
    return e->strings.slots[at].text ? e->strings.slots[at].id : eng_string_id_find(e, text);
}
void eng_location_id_find(struct eng *e);
/* Fills in the event's location and emits it; there must be an observer. */
static inline void eng_emit(struct eng *e, struct vs_event *event)
{
    if (e->location_dirty)
        eng_location_id_find(e);
    event->location = e->location_id;
    e->observer->emit(e->observer->user, event);
}
const char *eng_set_op(struct eng *e, const char *op);
/*
 * A source location in messages: "line 12 of Net.forward", or "the training loop" for line 0, which is not of the net.
 * func may be NULL. buf has ENG_LOCATION_TEXT_MAX bytes and is returned; longer names are cut.
 */
#define ENG_LOCATION_TEXT_MAX 160
const char *eng_location_text(uint32_t line, const char *func, char *buf);

/* ---- storage.c ---- */
struct eng_storage *eng_storage_new(struct eng *e, uint64_t bytes, bool on_host);
/* Memory without a tensor, of category `workspace`; emits its allocation. NULL: failed, or bytes is 0. */
struct eng_storage *eng_scratch_new(struct eng *e, uint64_t bytes);
/* The same, but a lack of memory is no failure: NULL is returned, after the cache was emptied in the attempt. */
struct eng_storage *eng_scratch_try(struct eng *e, uint64_t bytes);
struct eng_storage *eng_storage_ref(struct eng_storage *s);
void eng_storage_unref(struct eng_storage *s);
/* Emits the allocation of the storage's block; tensor_id 0: it belongs to no tensor. There must be an observer. */
void eng_storage_emit_alloc(struct eng *e, const struct eng_storage *s, uint32_t tensor_id);
/* Sets the category; emits a `category` event if that changes it. */
void eng_storage_set_category(struct eng_storage *s, enum vs_category category);
/*
 * Counts and emits that the node has saved t, or has released it. is_checkpoint: as an input of a checkpointed
 * function.
 */
void eng_saved_hold(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint);
void eng_saved_drop(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint);

/* ---- tensor.c ---- */
/* A new tensor object over a storage; takes ownership of both references. version_taken NULL: a new counter. */
struct eng_tensor *eng_tensor_on(struct eng_storage *s_taken, struct eng_version *version_taken);
/* The id of t in the trace; on first use announces t to the observer. */
uint32_t eng_tensor_id(struct eng *e, struct eng_tensor *t);
void eng_view_of(const struct eng_tensor *t, struct eng_view *out);

/* ---- dispatch.c ---- */
/* Emits that the running op or node reads t; does nothing for NULL. */
void eng_emit_use(struct eng *e, struct eng_tensor *t);

/* ---- signature.c ---- */
/* The op table's own copy of a word such as "mean"; NULL if the table does not have it. */
const char *eng_str_word(const char *text);

#endif
