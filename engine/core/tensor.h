/*
 * engine/core/tensor.h - tensors: reference-counted objects over reference-counted storages, with sizes, strides and a
 * version counter.
 *
 * For:            all code that uses tensors: ops, autograd, the net language's values.
 * Must not know:  how ops compute, what Python is.
 * Invariant:      a block is returned to the allocator exactly when the last reference to its storage is released, or
 *                 when eng_free_storage is called, never later or earlier: lifetimes are what this program measures.
 *
 * A tensor object and its storage have separate reference counts, as in PyTorch (TensorImpl, StorageImpl): whether a
 * gradient may be stolen, or added to in place, depends on both counts.
 */
#ifndef ENG_TENSOR_H
#define ENG_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/dtype.h"
#include "base/event.h"

struct eng;
struct eng_block;
struct eng_hooks;
struct eng_node;

/* The memory of one or more tensors. */
struct eng_storage {
    struct eng *eng;
    /* device storage: the allocator's block; NULL on the host, for 0 bytes, and after eng_free_storage */
    struct eng_block *block;
    void *data;     /* the values; NULL on meta and for 0 bytes */
    uint64_t bytes; /* requested bytes */
    uint64_t
        block_id; /* id in the trace, from 1, of its block or the last it had; 0 on the host and for 0 bytes */
    /* in-place checks: tensors with a smaller `born` must not be read any more (eng_overwritten); 0: none */
    uint64_t overwritten;
    /* how often eng_overwritten was called, and for which module the last time */
    uint32_t overwrites;
    uint32_t overwriter;
    /* the version when eng_watch was called */
    uint32_t watched_at;
    bool is_watched;
    uint32_t refs;
    uint32_t saved_count;      /* number of saved slots and checkpoint inputs that hold it now */
    uint32_t checkpoint_count; /* of these, the checkpoint inputs */
    uint8_t category;          /* enum vs_category */
    bool on_host;
    /* what a collective reads until an op uses its result, which this is; counted, NULL: nothing. eng_set_pending */
    struct eng_tensor *pending;
};

/*
 * The version counter that a tensor, its views and its detached aliases share; in-place ops increment it. op, func and
 * line: of the last in-place op, with its source location; op is NULL before the first.
 */
struct eng_version {
    uint32_t refs;
    uint32_t value;
    uint32_t writer; /* the module whose forward made this value: see eng_set_writer */
    uint32_t line;
    const char *op;
    const char *func;
};

/* How a view was made: autograd supports in-place writes only to a plain one. */
enum eng_view_kind {
    ENG_VIEW_PLAIN,
    ENG_VIEW_ONE_OF_SEVERAL, /* of split, chunk, unbind */
    ENG_VIEW_NO_GRAD,        /* made while gradients were off */
    ENG_VIEW_CUSTOM,         /* an input that a custom function returned, or a view of one */
};

struct eng_tensor {
    struct eng_storage *storage;
    struct eng_version *version;
    struct eng_node *grad_fn; /* the node that made it, counted; NULL for a leaf */
    /* a leaf's gradient accumulator while one is alive. Not counted. */
    struct eng_node *accumulator;
    struct eng_tensor *grad; /* .grad, counted; NULL is None */
    /* the tensor this is a differentiable view of, counted; NULL otherwise */
    struct eng_tensor *base;
    struct eng_hooks *hooks; /* of eng_set_hooks, owned; NULL: none */
    uint64_t offset;         /* elements from the storage's start */
    uint64_t born;           /* number of the tensor object in its context, from 1 */
    uint32_t refs;
    uint32_t id;   /* id in the trace, from 1; 0 until first mentioned */
    uint32_t name; /* string id of its name ("layer1.0.conv1.weight"); 0: it has none */
    uint32_t
        user; /* user data of the code that names tensors; 0 at first, not used by the engine */
    uint16_t output_nr;
    uint8_t dtype; /* enum vs_dtype */
    uint8_t ndim;
    /* set on a leaf; a result with a grad_fn counts as requiring it, see eng_requires_grad */
    bool requires_grad;
    bool is_parameter;
    bool had_grad; /* .grad was set at least once */
    /* of a leaf that is a part of a tensor: its gradients have the shape of the whole one, as those of an embedding */
    bool has_whole_grad;
    /* a Python number during an op: in type promotion it counts less than tensors */
    bool is_wrapped_number;
    uint8_t view_kind; /* enum eng_view_kind */
    /* of a leaf, what eng_set_grad_dtype asked for: enum vs_dtype + 1; 0: the tensor's own */
    uint8_t grad_dtype;
    /* of a bias and of autocast's copy of it: addmm adds one of so many equal parts of it; 0: all of it */
    uint32_t shares;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

/* References. All accept NULL (unref does nothing, ref returns NULL). */
static inline struct eng_tensor *eng_ref(struct eng_tensor *t)
{
    if (t)
        t->refs++;
    return t;
}
void eng_tensor_free(struct eng_tensor *t); /* for eng_unref: the count is 0 */
static inline void eng_unref(struct eng_tensor *t)
{
    if (t && !--t->refs)
        eng_tensor_free(t);
}

/*
 * Stores t in a slot and takes ownership of its reference. The old tensor is released after the new one is stored, as
 * when a Python name is rebound.
 */
void eng_slot_set(struct eng_tensor **slot, struct eng_tensor *t);

int64_t eng_numel(const struct eng_tensor *t);
/* numel * itemsize of this tensor, not the size of its storage */
uint64_t eng_nbytes(const struct eng_tensor *t);
bool eng_requires_grad(const struct eng_tensor *t);
bool eng_is_contiguous(const struct eng_tensor *t);    /* row-major, dims of size 1 ignored */
bool eng_is_channels_last(const struct eng_tensor *t); /* 4-D or 5-D, NHWC or NDHWC strides */
/* PyTorch's suggest_memory_format(): 4-D or 5-D, with strides in NHWC or NDHWC order, dense or not. */
bool eng_suggests_channels_last(const struct eng_tensor *t);
bool eng_is_non_overlapping_and_dense(const struct eng_tensor *t); /* a permutation of row-major */
bool eng_same_sizes(const struct eng_tensor *a, const struct eng_tensor *b);

/*
 * A new tensor with its own memory. Fails (NULL, see eng_failed) if the device is out of memory, or on overflow.
 * sizes   ndim of them, each >= 0; strides are row-major unless given
 */
struct eng_tensor *eng_empty(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host) VS_MUST_USE;
struct eng_tensor *eng_empty_strided(struct eng *e, const int64_t *sizes, const int64_t *strides,
                                     int ndim, enum vs_dtype dtype, bool on_host) VS_MUST_USE;
/*
 * t.untyped_storage().resize_(0), and resize_ to the size it was made with: frees the memory of a storage that tensors
 * still refer to, and allocates it again, as another block, with undefined values. Whoever frees it sees to it that
 * nobody reads those tensors until then. The new block has the name of t, if it has one. Nothing happens where the
 * memory is as wanted already, on the host, and for 0 bytes. eng_alloc_storage fails (see eng_failed) if the device is
 * out of memory.
 */
void eng_free_storage(struct eng_tensor *t);
void eng_alloc_storage(struct eng *e, struct eng_tensor *t);
/*
 * t is the result of a collective that still runs and reads `input`, whose memory therefore stays until an op that is
 * no view uses t, or a tensor that shares its memory, or t is gone, or the next collective begins: there a process
 * group releases what collectives that have ended have read. input NULL: it runs no longer.
 */
void eng_set_pending(struct eng_tensor *t, struct eng_tensor *input);
static inline void eng_wait(struct eng_tensor *t)
{
    if (t && t->storage->pending)
        eng_set_pending(t, NULL);
}
/*
 * A tensor object with t's storage and version counter, without autograd history: PyTorch's detach, without dispatch.
 */
struct eng_tensor *eng_alias(struct eng_tensor *t) VS_MUST_USE;
/* The same with a version counter of its own, so that writing to one does not count as a change of the other. */
struct eng_tensor *eng_alias_apart(struct eng_tensor *t) VS_MUST_USE;
/*
 * get_gradient_edge(t): a tensor object of t's sizes that stands for t's history alone: a backward may begin from it,
 * with a given gradient, after t and its memory are gone. It has no memory, so nothing may read it.
 */
struct eng_tensor *eng_gradient_edge(struct eng *e, struct eng_tensor *t) VS_MUST_USE;
/*
 * In-place checks: finding out which modules may work in place. The in-place op whose result is `t` has overwritten a
 * value. Returns another tensor object like t, with its history. From now on an op outside of backward formulas that
 * reads an older tensor object of the same storage fails with VS_E_INPLACE.
 */
struct eng_tensor *eng_overwritten(struct eng_tensor *t) VS_MUST_USE;
/*
 * The module under check may overwrite t from now on. If a checkpoint's recomputation has saved t before, or another
 * version of it, it fails with VS_E_INPLACE when backward unpacks it: PyTorch checks no version there and would compute
 * with what the module wrote.
 */
void eng_watch(struct eng_tensor *t);
/*
 * Several modules checked in one run. `writer`: number of the module whose forward runs from now on, from 1; 0: none.
 * eng_set_writer returns the old one. After eng_blame_begin, reading a value that was overwritten, or needing it for a
 * gradient, is recorded and does not fail the run, provided that one module alone is the cause and would be the cause
 * whatever the other modules do; everything else fails as usual.
 *
 * writer  the module that must not work in place
 * with    only if this module works in place, too; 0: in any case
 * text    the error message of the failure that it would cause
 */
struct eng_blame {
    uint32_t writer;
    uint32_t with;
    char *text;
};
uint32_t eng_set_writer(struct eng *e, uint32_t writer);
void eng_blame_begin(struct eng *e);
/* Entry `i` (from 0) in the order of detection; NULL past the end. Borrowed. */
const struct eng_blame *eng_blame_at(const struct eng *e, size_t i);
/* As eng_alias with other sizes, strides and offset (elements from the storage's start). */
struct eng_tensor *eng_as_strided(struct eng_tensor *t, const int64_t *sizes,
                                  const int64_t *strides, int ndim, uint64_t offset) VS_MUST_USE;
/* `p.data = t`: p uses t's storage from now on and releases its former one. */
void eng_set_data(struct eng_tensor *p, struct eng_tensor *t);
/*
 * `t.resize_(sizes)`, with at most VS_MAX_DIMS of them, of a tensor at the start of its storage, whose memory stays; t
 * is dense afterwards. VS_E_VALUE, and t as it was: it begins elsewhere, or its storage has not as many bytes.
 */
void eng_resize(struct eng_tensor *t, const int64_t *sizes, int ndim);

/* Row-major strides for sizes. */
void eng_contiguous_strides(const int64_t *sizes, int ndim, int64_t *strides);
/* "[2, 3, 224, 224]"; buf of ENG_SHAPE_TEXT_MAX bytes, returns buf. */
#define ENG_SHAPE_TEXT_MAX 200
const char *eng_shape_text(const struct eng_tensor *t, char *buf);

/* Sets what a block is used for. A change is an event. */
void eng_set_category(struct eng_tensor *t, enum vs_category category);
/* Sets the name of a tensor in the trace (parameter or buffer name). */
void eng_set_name(struct eng_tensor *t, const char *name);

#endif
