/*
 * engine/core/engine_internal.h - the inside of a context, for the engine's own files.
 *
 * For:            engine/ only.
 * Must not know:  anything above the engine.
 * Invariant:      `failed` is set once and stays until it is taken; while it is set nothing is allocated.
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

/* Ids of strings by pointer: events name the same few thousand over and over. text NULL: free. */
struct eng_string_slot {
    const char *text;
    uint32_t id;
};

struct eng_string_ids {
    struct eng_string_slot *slots;
    size_t size; /* a power of two, never more than a quarter full */
    size_t count;
};

/* A signature taken apart. */
struct eng_signature {
    struct eng_param params[ENG_MAX_ARGS];
    int count;
    /* what `saves` says, per entry: index of the argument, or -1-k for result k; condition: argument index or -1 */
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
    struct eng_tensor *key; /* counted, so that its address is not met again as another tensor's */
    struct eng_tensor *cast;
};

struct eng {
    const struct eng_kernels *kernels;
    const struct eng_device *device; /* NULL: memory is counted, not had */
    const struct eng_observer *observer;
    struct eng_sim_driver *sim;
    struct eng_alloc *alloc;
    struct eng_signature *signatures; /* ENG_OP_COUNT of them */

    struct vs_pool pool;    /* storages, versions, nodes */
    struct vs_pool tensors; /* these alone, so that they can be gone through */

    bool failed;
    struct vs_error error;
    bool has_oom;
    struct eng_oom oom;

    bool grad_enabled;
    bool anomaly;
    struct eng_autocast autocast;
    int autocast_depth;
    struct eng_cast_entry *cast_cache;
    size_t cast_count, cast_cap;
    struct eng_rng_state rng;

    /* where the program is; location_id is valid while !location_dirty */
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
    const char *scope; /* that of the last hold or drop, which is most often that of the next */
    uint32_t scope_id;

    uint64_t tensors_born;
    uint64_t next_block_id;
    uint32_t next_tensor_id;
    uint64_t next_seq;
    uint64_t next_node_id;
    uint64_t task_id; /* of the running backward; 0 outside */
    uint64_t next_task_id;
    bool (*stop)(void *user); /* of eng_options, NULL: none */
    void *stop_user;
    int kernel_depth;   /* > 0 inside an op's forward: no autograd, no autocast, not counted */
    int backward_depth; /* > 0 inside a backward node's formula */
    int recompute_depth;
    int recompute_outer[ENG_RECOMPUTE_MAX]; /* backward_depth outside each running re-run */
    struct eng_checkpoint *checkpoint;      /* innermost collecting one */
    uint32_t live_checkpoints;
    struct eng_counters counters;
    /* of counters.total_flops: those of ops that have ended; a backward node ends with what its formula did besides */
    uint64_t reported_flops;
    uint64_t live_storages;
    /* modules on trial, see eng_set_writer */
    uint32_t writer;
    bool is_blaming;
    struct eng_blame *blames;
    size_t blame_count, blame_cap;
    /* the GPU it is for, NULL: tensors only; the workspaces cuBLAS keeps there, of forward's thread and of autograd's */
    const struct vs_target *target;
    uint8_t workspace_policy; /* enum eng_workspace_policy */
    struct eng_storage *workspaces[2];
    struct eng_workspaces *rooms; /* of a device of its own, or one that is repeated; else NULL */
    struct eng_ready *ready;      /* of ready.c; NULL: nobody asks for the order of gradients */
};

/* ---- engine.c ---- */
uint32_t eng_string_id_find(struct eng *e, const char *text);
/*
 * Texts that were made one after the other stand side by side, as the items of a list are walked in that order; but only those of the same
 * KiB of memory: of longer stretches that fall together the table would be full in places.
 */
static inline size_t eng_string_hash(const char *text, size_t size)
{
    uint64_t at = (uint64_t)(uintptr_t)text;

    return (size_t)((at >> 4) + ((at >> 10) * UINT64_C(0x9E3779B97F4A7C15) >> 40)) & (size - 1);
}
/* 0 for NULL, and where nobody ever listened. */
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
/* Fills place; observer must be there. */
static inline void eng_emit(struct eng *e, struct vs_event *event)
{
    if (e->location_dirty)
        eng_location_id_find(e);
    event->location = e->location_id;
    e->observer->emit(e->observer->user, event);
}
const char *eng_set_op(struct eng *e, const char *op);

/* ---- tensor.c ---- */
struct eng_storage *eng_storage_new(struct eng *e, uint64_t bytes, bool on_host);
/* Memory without a tensor, of category `workspace`; tells the observer. NULL: failed, or bytes is 0. */
struct eng_storage *eng_scratch_new(struct eng *e, uint64_t bytes);
/* The same; where memory is not to be had NULL is all that happens, but that the cache was given back to find some. */
struct eng_storage *eng_scratch_try(struct eng *e, uint64_t bytes);
struct eng_storage *eng_storage_ref(struct eng_storage *s);
void eng_storage_unref(struct eng_storage *s);
struct eng_tensor *eng_tensor_on(struct eng_storage *s_taken, struct eng_version *version_taken);
uint32_t eng_tensor_id(struct eng *e, struct eng_tensor *t); /* announces it to the observer */
void eng_view_of(const struct eng_tensor *t, struct eng_view *out);
void eng_saved_hold(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint);
void eng_saved_drop(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint);

/* ---- dispatch.c ---- */
void eng_emit_use(struct eng *e,
                  struct eng_tensor *t); /* the running op or node reads t; NULL: nothing */

/* ---- signature.c ---- */
const char *eng_str_word(
    const char *text); /* the table's own copy of a word such as "mean"; NULL: not a known word */

#endif
