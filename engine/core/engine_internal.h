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
#include "engine/autograd/autograd.h"
#include "engine/autograd/checkpoint.h"
#include "engine/core/engine.h"
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

    /* where the program is; place_id is valid while !place_dirty */
    struct vs_place place;
    uint32_t place_id;
    bool place_dirty;
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
    uint64_t told_flops;
    uint64_t live_storages;
    /* modules on trial, see eng_set_writer */
    uint32_t writer;
    bool is_blaming;
    struct eng_blame *blames;
    size_t blame_count, blame_cap;
    /* the GPU it is for, NULL: tensors only; the workspaces cuBLAS keeps there, of forward's thread and of autograd's */
    const struct vs_target *target;
    uint8_t workspace_manner; /* enum eng_workspace_manner */
    struct eng_storage *workspaces[2];
    struct eng_rooms *rooms; /* of a device of its own, or one that is repeated; else NULL */
    struct eng_ready *ready; /* of ready.c; NULL: nobody asks for the order of gradients */
};

/* A saved tensor in a node. */
struct eng_saved {
    struct eng_tensor *tensor;         /* counted; NULL when absent, released, or a placeholder */
    struct eng_checkpoint *checkpoint; /* counted; not NULL for a placeholder */
    uint32_t index;                    /* the placeholder's number in its checkpoint */
    /* what a placeholder's recomputed twin gets back (of arguments and what custom functions save), counted */
    struct eng_node *grad_fn;
    uint16_t output_nr;
    bool requires_grad;
    uint32_t version;
    bool is_output;
};

/* Shape of what flows along an edge. */
struct eng_edge {
    struct eng_node *node; /* counted; NULL: nobody wants this gradient */
    uint16_t input_nr;
    uint8_t dtype;
    uint8_t ndim;
    bool on_host;
    bool is_defined; /* there was a tensor in this argument */
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

enum eng_node_kind { ENG_NODE_OP, ENG_NODE_ACCUMULATE, ENG_NODE_CUSTOM, ENG_NODE_COPY_SLICES };

struct eng_node {
    uint32_t refs;
    enum eng_node_kind kind;
    uint64_t seq; /* UINT64_MAX for accumulators */
    uint64_t id;  /* in the trace */
    struct eng *eng;
    enum eng_op_id op;
    const char *name;      /* "MulBackward0" */
    uint16_t output_count; /* of the forward op = gradients coming in */
    uint16_t edge_count;
    uint16_t saved_count;
    uint16_t arg_count;
    bool released;
    bool is_inplace;
    bool has_own_saves; /* eng_node_saves_make */
    bool is_pruned;     /* the running eng_grad asks for nothing that lies behind this node */
    uint32_t
        bytes; /* of this block: the node and what the next five point to, but for the saved ones of a custom node */
    struct eng_edge *edges;
    struct eng_saved *saved;
    struct eng_arg *args; /* the call's arguments; tensors are replaced by none; ints are copies */
    int64_t *ints;        /* the copies */
    uint8_t *arg_edge;    /* first edge of each argument */
    /* accumulators: the leaf, not counted while it has the accumulator alone; see node.c */
    struct eng_tensor *variable;
    struct eng_custom custom;
    struct eng_copy_slices *slices;
    /* where the forward ran, so that backward's events name the line */
    const char *module;
    const char *func;
    uint32_t line;
    uint32_t writer; /* the module on trial in whose forward it was made; 0: none */
    /* the running backward, see backward.c */
    struct eng_task *task;
    uint32_t task_slot;
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
void eng_place_id_find(struct eng *e);
/* Fills place; observer must be there. */
static inline void eng_emit(struct eng *e, struct vs_event *event)
{
    if (e->place_dirty)
        eng_place_id_find(e);
    event->place = e->place_id;
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

/* ---- node.c ---- */
/* How many of each a node has. ints: in the lists of integers among its arguments, all together. */
struct eng_node_counts {
    int edges;
    int saves;
    int args;
    int ints;
};
struct eng_node *eng_node_new(struct eng *e, enum eng_node_kind kind, const char *name,
                              struct eng_node_counts counts);
/* Places for `count` saved tensors in a node that was made with none. */
void eng_node_saves_make(struct eng_node *n, int count);
struct eng_node *eng_node_ref(struct eng_node *n);
void eng_node_unref(struct eng_node *n);
void eng_node_release_saved(struct eng_node *n);
void eng_fail_second_backward(const struct eng_node *n); /* what was saved is gone */
/* The accumulator of a leaf that requires grad, or the grad_fn of a result (a new reference), NULL where no gradient is wanted. */
struct eng_node *eng_gradient_node(struct eng_tensor *t);
void eng_edge_set(struct eng_edge *edge, struct eng_tensor *t);
void eng_node_save_at(struct eng_node *n, int i, struct eng_tensor *t, bool is_output);
/* A new reference, or NULL (absent, or failed). */
struct eng_tensor *eng_node_unpack(struct eng_node *n, int i);
void eng_set_history(struct eng_tensor *t, struct eng_node *n, int output_nr);
/*
 * False where the overwriting cannot be noted as the fault of one module (eng_blame_begin) and has to fail. The first: s, saved by n, is
 * needed; the second: storage is read under an old name.
 */
VS_MUST_USE bool eng_blame_saved(const struct eng_node *n, const struct eng_saved *s,
                                 const char *why);
VS_MUST_USE bool eng_blame_read(struct eng *e, const struct eng_storage *storage, const char *why);
void eng_blame_release(struct eng *e);

/* t was overwritten by the op of n: its history continues through n; where t is a view, its base's history does too. */
void eng_inplace_history(struct eng_tensor *t, struct eng_node *n);

/* ---- dispatch.c ---- */
void eng_emit_use(struct eng *e,
                  struct eng_tensor *t); /* the running op or node reads t; NULL: nothing */

/* ---- signature.c ---- */
const char *eng_str_word(
    const char *text); /* the table's own copy of a word such as "mean"; NULL: not a known word */

/* ---- copy_slices.c ---- */
void eng_copy_slices_run(struct eng *e, struct eng_node *n, struct eng_tensor *grad,
                         struct eng_tensor **out);
void eng_copy_slices_release(
    struct eng_copy_slices *slices); /* lets go of the op's own node and what that saved */
void eng_copy_slices_free(struct eng_copy_slices *slices);

/* ---- leaf.c ---- */

/* A gradient has arrived at a leaf (`*taken` is NULL then, and may be before): it is accumulated, then the leaf's hooks are called. */
void eng_leaf_reached(struct eng *e, struct eng_tensor *variable, struct eng_tensor **taken);

/* ---- backward.c ---- */
/* Run the formulas of one op node on given gradients; fills out[], one per edge. */
void eng_run_op_backward(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                         struct eng_tensor **out);

/* ---- checkpoint.c ---- */
struct eng_checkpoint *eng_checkpoint_ref(struct eng_checkpoint *c);
void eng_checkpoint_unref(struct eng_checkpoint *c);
uint32_t eng_checkpoint_pack(struct eng *e, struct eng_checkpoint *c, struct eng_tensor *t);
bool eng_checkpoint_is_rerun(const struct eng_checkpoint *c);
struct eng_tensor *eng_checkpoint_unpack(struct eng *e, struct eng_checkpoint *c, uint32_t index);
void eng_checkpoint_forget(struct eng_checkpoint *c, uint32_t index); /* its placeholder is gone */

/* ---- ready.c ---- */
void eng_ready_free(struct eng_ready *ready);
/* A leaf has got its gradient; e->ready is there. */
void eng_ready_note(struct eng *e, const struct eng_tensor *leaf);
/* An outermost backward is over; e->ready is there. */
void eng_ready_backward_end(struct eng *e);

/* ---- autocast.c ---- */
bool eng_autocast_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                       struct eng_ret *ret);
bool eng_op_run(struct eng *e, enum eng_op_id id, const struct eng_arg *args, bool inplace,
                struct eng_ret *ret);
void eng_cast_cache_clear(struct eng *e);

#endif
