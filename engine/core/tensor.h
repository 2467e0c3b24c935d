/*
 * engine/core/tensor.h - tensors: counted references over counted storages, with sizes, strides and a version.
 *
 * For:            everyone who touches a tensor: ops, autograd, the net language's values.
 * Must not know:  how ops compute, what Python is.
 * Invariant:      a block is given back to the allocator at the very moment the last reference to its storage goes;
 *                 nothing is ever freed later or earlier. Lifetimes are the product.
 *
 * A tensor object and its storage are counted apart, as in PyTorch (TensorImpl, StorageImpl): whether a gradient may be
 * stolen or added to in place depends on both counts.
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

/* Memory of one or more tensors. */
struct eng_storage {
    struct eng *eng;
    /* device storage: the allocator's block; NULL on the host and for 0 bytes */
    struct eng_block *block;
    void *data;        /* the values; NULL on meta and for 0 bytes */
    uint64_t bytes;    /* requested bytes */
    uint64_t block_id; /* id in the trace, from 1; 0 on the host and for 0 bytes */
    /* tensors born before this must not be read any more (eng_overwritten); 0: none */
    uint64_t overwritten;
    /* how often that was said, and by whose writing the last time */
    uint32_t overwrites;
    uint32_t overwriter;
    /* the version when eng_watch saw it */
    uint32_t watched_at;
    bool is_watched;
    uint32_t refs;
    uint32_t saved_count; /* saved slots and checkpoint inputs that hold it now */
    uint8_t category;     /* enum vs_category */
    bool on_host;
};

/* The counter that a tensor, its views and its detached twins share; in-place ops raise it. */
struct eng_version {
    uint32_t refs;
    uint32_t value;
    uint32_t writer; /* who made this value: see eng_set_writer */
};

/* How a view came to be decides whether autograd can follow a write to it: only to a plain one. */
enum eng_view_kind {
    ENG_VIEW_PLAIN,
    ENG_VIEW_ONE_OF_SEVERAL, /* of split, chunk, unbind */
    ENG_VIEW_NO_GRAD,        /* made while gradients were off */
};

struct eng_tensor {
    struct eng_storage *storage;
    struct eng_version *version;
    struct eng_node *grad_fn; /* node that made it; NULL for a leaf. Counted. */
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
    uint32_t name; /* string id of its name ("layer1.0.conv1.weight"), 0 without */
    uint32_t
        user; /* of whoever gives names to tensors; 0 at first, the engine does not look at it */
    uint16_t output_nr;
    uint8_t dtype; /* enum vs_dtype */
    uint8_t ndim;
    /* asked for on a leaf; a result with a grad_fn counts as requiring it, see eng_requires_grad */
    bool requires_grad;
    bool is_parameter;
    /* a Python number on its way through an op: does not take part in promotion with its own kind */
    bool is_wrapped_number;
    uint8_t view_kind; /* enum eng_view_kind */
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
void eng_tensor_free(struct eng_tensor *t); /* the last reference went */
static inline void eng_unref(struct eng_tensor *t)
{
    if (t && !--t->refs)
        eng_tensor_free(t);
}

/* Replace what `slot` holds; the old one goes after the new one is in place, as a Python name is rebound. Takes over t's reference. */
void eng_slot_set(struct eng_tensor **slot, struct eng_tensor *t);

int64_t eng_numel(const struct eng_tensor *t);
uint64_t
eng_nbytes(const struct eng_tensor *t); /* numel * itemsize of the view, not of its storage */
bool eng_requires_grad(const struct eng_tensor *t);
bool eng_is_contiguous(const struct eng_tensor *t);    /* row-major, dims of size 1 ignored */
bool eng_is_channels_last(const struct eng_tensor *t); /* 4-D, NHWC strides */
/* What PyTorch's suggest_memory_format() says: 4-D and in the order of NHWC strides, with gaps or without. */
bool eng_suggests_channels_last(const struct eng_tensor *t);
bool eng_is_non_overlapping_and_dense(const struct eng_tensor *t); /* a permutation of row-major */
bool eng_same_sizes(const struct eng_tensor *a, const struct eng_tensor *b);

/*
 * A new tensor with memory of its own. Fails (NULL, see eng_failed) on device out-of-memory or overflow.
 * sizes   ndim of them, each >= 0; strides row-major unless given
 */
struct eng_tensor *eng_empty(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host) VS_MUST_USE;
struct eng_tensor *eng_empty_strided(struct eng *e, const int64_t *sizes, const int64_t *strides,
                                     int ndim, enum vs_dtype dtype, bool on_host) VS_MUST_USE;
/* A tensor object over t's storage: same version counter, no autograd history. (`alias`: PyTorch's detach without dispatch.) */
struct eng_tensor *eng_alias(struct eng_tensor *t) VS_MUST_USE;
/*
 * An in-place op whose result is `t` has changed a value that its old names must not be read for any more: another object like t,
 * history included. From now on an op (outside of backward formulas) that reads an older tensor of the same storage fails with VS_E_INPLACE. For
 * finding out which modules may work in place.
 */
struct eng_tensor *eng_overwritten(struct eng_tensor *t) VS_MUST_USE;
/*
 * A module on trial may overwrite t now. A checkpoint's re-run that has saved t before, or another version of it, fails with VS_E_INPLACE where
 * backward asks for what it saved: PyTorch checks no version there, and reads what the module wrote.
 */
void eng_watch(struct eng_tensor *t);
/*
 * Several modules on trial at once. `writer`: number of the one whose forward runs from now on, from 1; 0: none. Returns the old one.
 * From eng_blame_begin on, a value that is read or needed for a gradient although it was overwritten is noted, and the run goes on,
 * where one module alone did it and would do it whatever the others do; everything else fails as ever.
 *
 * writer  the module that is at fault
 * with    it is if this one works in place, too; 0: in any case
 * text    the failure that it would be
 */
struct eng_blame {
    uint32_t writer;
    uint32_t with;
    char *text;
};
uint32_t eng_set_writer(struct eng *e, uint32_t writer);
void eng_blame_begin(struct eng *e);
/* Number `i` (from 0) in the order in which they were met; NULL past the end. Lent. */
const struct eng_blame *eng_blame_at(const struct eng *e, size_t i);
/* As eng_alias with other sizes, strides and offset (elements from the storage's start). */
struct eng_tensor *eng_as_strided(struct eng_tensor *t, const int64_t *sizes,
                                  const int64_t *strides, int ndim, uint64_t offset) VS_MUST_USE;
/* `p.data = t`: p shows t's memory from now on; what it showed before is let go of. */
void eng_set_data(struct eng_tensor *p, struct eng_tensor *t);

/* Row-major strides for sizes. */
void eng_contiguous_strides(const int64_t *sizes, int ndim, int64_t *strides);
/* "[2, 3, 224, 224]"; buf of ENG_SHAPE_TEXT_MAX bytes, returns buf. */
#define ENG_SHAPE_TEXT_MAX 200
const char *eng_shape_text(const struct eng_tensor *t, char *buf);

/* Say what a block is for. A change is an event. */
void eng_set_category(struct eng_tensor *t, enum vs_category category);
/* Give a tensor its name in the trace (parameter or buffer name). */
void eng_set_name(struct eng_tensor *t, const char *name);

#endif
