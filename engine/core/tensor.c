/*
 * engine/core/tensor.c - tensor objects: creating, freeing, layouts, names; see tensor.h.
 *
 * Must not know:  ops, the allocator (storage.c).
 * Invariant:      a tensor object refers to one storage, and keeps it until the last reference to the object is
 *                 released.
 */
#include "engine/core/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/core/engine_internal.h"

struct eng_tensor *eng_tensor_on(struct eng_storage *s_taken, struct eng_version *version_taken)
{
    struct eng *e = s_taken->eng;
    struct eng_tensor *t = vs_pool_get_zeroed(&e->tensors, sizeof(*t));

    t->refs = 1;
    t->storage = s_taken;
    t->born = ++e->tensors_born;
    if (version_taken) {
        t->version = version_taken;
    } else {
        t->version = vs_pool_get_zeroed(&e->pool, sizeof(*t->version));
        t->version->refs = 1;
    }
    return t;
}

/*
 * Releases in the order of PyTorch's TensorImpl: the base of a view, the history, the gradient, the storage. A DTensor
 * has its part as an attribute, which goes first.
 */
void eng_tensor_free(struct eng_tensor *t)
{
    struct eng *e = t->storage->eng;
    const bool is_dtensor = t->grad_fn && t->grad_fn->is_dtensor;

    if (t->hooks) {
        t->hooks->free_user(t->hooks->user);
        vs_free(t->hooks);
    }
    eng_unref(t->base);
    if (is_dtensor)
        eng_storage_unref(t->storage);
    eng_node_unref(t->grad_fn);
    eng_unref(t->grad);
    if (!is_dtensor)
        eng_storage_unref(t->storage);
    if (!--t->version->refs)
        vs_pool_put(&e->pool, t->version, sizeof(*t->version));
    vs_pool_put(&e->tensors, t, sizeof(*t));
}

void eng_slot_set(struct eng_tensor **slot, struct eng_tensor *t)
{
    struct eng_tensor *old = *slot;

    *slot = t;
    eng_unref(old);
}

int64_t eng_numel(const struct eng_tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->ndim; i++)
        n *= t->sizes[i];
    return n;
}

uint64_t eng_nbytes(const struct eng_tensor *t)
{
    return (uint64_t)eng_numel(t) * vs_dtype_bytes((enum vs_dtype)t->dtype);
}

bool eng_requires_grad(const struct eng_tensor *t)
{
    return t && (t->requires_grad || t->grad_fn);
}

bool eng_is_contiguous(const struct eng_tensor *t)
{
    int64_t expect = 1;

    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->sizes[i] == 0)
            return true;
        if (t->sizes[i] == 1)
            continue;
        if (t->strides[i] != expect)
            return false;
        expect *= t->sizes[i];
    }
    return true;
}

/* The k-th dim of a channels-last image from the innermost: channels, the image's dims from the last one, batch. */
static int channels_last_dim(const struct eng_tensor *t, int k)
{
    return k == 0 ? 1 : k == t->ndim - 1 ? 0 : t->ndim - k;
}

bool eng_is_channels_last(const struct eng_tensor *t)
{
    int64_t expect = 1;

    if (t->ndim != 4 && t->ndim != 5)
        return false;
    for (int k = 0; k < t->ndim; k++) {
        int i = channels_last_dim(t, k);

        if (t->sizes[i] != 1 && t->strides[i] != expect)
            return false;
        expect *= t->sizes[i];
    }
    return true;
}

/* c10/core/MemoryFormat.h, is_channels_last_strides_2d and _3d: ambiguous strides count as row-major. */
bool eng_suggests_channels_last(const struct eng_tensor *t)
{
    int64_t least = 0;

    if ((t->ndim != 4 && t->ndim != 5) || t->strides[1] == 0)
        return false;
    for (int k = 0; k < t->ndim; k++) {
        int i = channels_last_dim(t, k);

        if (t->sizes[i] == 0 || t->strides[i] < least || (i == 0 && least == t->strides[1]))
            return false;
        least = t->strides[i] * (t->sizes[i] > 1 ? t->sizes[i] : 1);
    }
    return true;
}

bool eng_is_non_overlapping_and_dense(const struct eng_tensor *t)
{
    int order[VS_MAX_DIMS];
    int count = 0;
    int64_t expect = 1;

    if (eng_is_contiguous(t))
        return true;
    for (int i = 0; i < t->ndim; i++) {
        int k = count;

        if (t->sizes[i] < 2)
            continue;
        while (k > 0 && t->strides[order[k - 1]] > t->strides[i]) {
            order[k] = order[k - 1];
            k--;
        }
        order[k] = i;
        count++;
    }
    for (int k = 0; k < count; k++) {
        if (t->strides[order[k]] != expect)
            return false;
        expect *= t->sizes[order[k]];
    }
    return true;
}

bool eng_same_sizes(const struct eng_tensor *a, const struct eng_tensor *b)
{
    return a->ndim == b->ndim && !memcmp(a->sizes, b->sizes, sizeof(a->sizes[0]) * a->ndim);
}

void eng_contiguous_strides(const int64_t *sizes, int ndim, int64_t *strides)
{
    int64_t stride = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        /* overflow for sizes too large for a tensor; those are refused when their bytes are computed */
        stride = (int64_t)((uint64_t)stride * (uint64_t)(sizes[i] > 1 ? sizes[i] : 1));
    }
}

/* sizes and strides of a 0-dim tensor may be NULL */
static void dims_set(struct eng_tensor *t, const int64_t *sizes, const int64_t *strides, int ndim)
{
    t->ndim = (uint8_t)ndim;
    for (int d = 0; d < ndim; d++) {
        t->sizes[d] = sizes[d];
        t->strides[d] = strides[d];
    }
}

/* Bytes from the first to the last element; false on overflow. */
static bool span_bytes(const int64_t *sizes, const int64_t *strides, int ndim, enum vs_dtype dtype,
                       uint64_t *out)
{
    uint64_t elems = 1;

    for (int i = 0; i < ndim; i++) {
        uint64_t reach;

        if (sizes[i] == 0) {
            *out = 0;
            return true;
        }
        if (!vs_bytes_mul((uint64_t)(sizes[i] - 1), (uint64_t)strides[i], &reach) ||
            !vs_bytes_add(elems, reach, &elems))
            return false;
    }
    return vs_bytes_mul(elems, vs_dtype_bytes(dtype), out) && *out <= INT64_MAX;
}

struct eng_tensor *eng_empty_strided(struct eng *e, const int64_t *sizes, const int64_t *strides,
                                     int ndim, enum vs_dtype dtype, bool on_host)
{
    struct eng_storage *s;
    struct eng_tensor *t;
    uint64_t bytes = 0;

    if (e->failed)
        return NULL;
    for (int i = 0; i < ndim; i++) {
        if (sizes[i] < 0)
            return eng_fail(e, VS_E_SHAPE,
                            "a tensor cannot have a negative dimension (%" PRId64 ")", sizes[i]);
    }
    if (!span_bytes(sizes, strides, ndim, dtype, &bytes))
        return eng_fail(e, VS_E_OVERFLOW,
                        "a tensor of this shape has more bytes than 64 bits can count");
    s = eng_storage_new(e, bytes, on_host);
    if (!s)
        return NULL;
    t = eng_tensor_on(s, NULL);
    t->dtype = (uint8_t)dtype;
    dims_set(t, sizes, strides, ndim);
    if (e->observer && s->block)
        eng_storage_emit_alloc(e, s, eng_tensor_id(e, t));
    return t;
}

struct eng_tensor *eng_empty(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host)
{
    int64_t strides[VS_MAX_DIMS];

    eng_contiguous_strides(sizes, ndim, strides);
    return eng_empty_strided(e, sizes, strides, ndim, dtype, on_host);
}

struct eng_tensor *eng_as_strided(struct eng_tensor *t, const int64_t *sizes,
                                  const int64_t *strides, int ndim, uint64_t offset)
{
    struct eng_tensor *view;

    if (!t)
        return NULL;
    t->version->refs++;
    view = eng_tensor_on(eng_storage_ref(t->storage), t->version);
    view->dtype = t->dtype;
    dims_set(view, sizes, strides, ndim);
    view->offset = offset;
    return view;
}

struct eng_tensor *eng_alias(struct eng_tensor *t)
{
    return t ? eng_as_strided(t, t->sizes, t->strides, t->ndim, t->offset) : NULL;
}

struct eng_tensor *eng_alias_apart(struct eng_tensor *t)
{
    struct eng_tensor *alias = eng_tensor_on(eng_storage_ref(t->storage), NULL);

    alias->dtype = t->dtype;
    dims_set(alias, t->sizes, t->strides, t->ndim);
    alias->offset = t->offset;
    return alias;
}

struct eng_tensor *eng_gradient_edge(struct eng *e, struct eng_tensor *t)
{
    struct eng_tensor *edge = eng_tensor_on(eng_storage_new(e, 0, t->storage->on_host), NULL);

    edge->dtype = t->dtype;
    dims_set(edge, t->sizes, t->strides, t->ndim);
    edge->grad_fn = eng_node_ref(t->grad_fn);
    edge->output_nr = t->output_nr;
    edge->requires_grad = t->requires_grad;
    return edge;
}

void eng_watch(struct eng_tensor *t)
{
    t->storage->is_watched = true;
    t->storage->watched_at = t->version->value;
}

struct eng_tensor *eng_overwritten(struct eng_tensor *t)
{
    struct eng_tensor *fresh = eng_alias(t);

    if (!fresh)
        return NULL;
    fresh->grad_fn = eng_node_ref(t->grad_fn);
    fresh->output_nr = t->output_nr;
    fresh->requires_grad = t->requires_grad;
    fresh->base = eng_ref(t->base);
    fresh->storage->overwritten = fresh->born;
    fresh->storage->overwrites++;
    fresh->storage->overwriter = t->version->writer;
    return fresh;
}

void eng_set_data(struct eng_tensor *p, struct eng_tensor *t)
{
    struct eng_storage *old;
    struct eng *e;

    if (!p || !t)
        return;
    old = p->storage;
    e = old->eng;
    p->storage = eng_storage_ref(t->storage);
    if (old->category == VS_CAT_PARAMETER ||
        old->category == VS_CAT_BUFFER) /* it stays what it is, in new memory */
        eng_storage_set_category(p->storage, (enum vs_category)old->category);
    /* The accumulator checks the old dtype: a new one is created when it is next needed. */
    if (p->dtype != t->dtype || old->on_host != p->storage->on_host)
        p->accumulator = NULL;
    p->dtype = t->dtype;
    p->ndim = t->ndim;
    memcpy(p->sizes, t->sizes, sizeof(p->sizes));
    memcpy(p->strides, t->strides, sizeof(p->strides));
    p->offset = t->offset;
    if (p->id && e->observer) {
        p->id = 0; /* another block: the trace meets it as a new tensor of the same name */
        eng_tensor_id(e, p);
    }
    eng_storage_unref(old);
}

void eng_resize(struct eng_tensor *t, const int64_t *sizes, int ndim)
{
    int64_t strides[VS_MAX_DIMS];
    uint64_t bytes = 0;

    eng_contiguous_strides(sizes, ndim, strides);
    if (t->offset || !span_bytes(sizes, strides, ndim, (enum vs_dtype)t->dtype, &bytes) ||
        bytes > t->storage->bytes)
        eng_fail(
            t->storage->eng, VS_E_VALUE,
            "resize_: only a tensor at the start of its storage is resized here, within its bytes");
    else
        dims_set(t, sizes, strides, ndim);
}

uint32_t eng_tensor_id(struct eng *e, struct eng_tensor *t)
{
    struct vs_tensor_desc desc;

    if (t->id || !e->observer)
        return t->id;
    t->id = ++e->next_tensor_id;
    memset(&desc, 0, sizeof(desc));
    desc.block = t->storage->block_id;
    desc.id = t->id;
    desc.name = t->name;
    desc.dtype = t->dtype;
    desc.ndim = t->ndim;
    memcpy(desc.sizes, t->sizes, sizeof(desc.sizes));
    memcpy(desc.strides, t->strides, sizeof(desc.strides));
    desc.offset_elems = t->offset;
    e->observer->tensor(e->observer->user, &desc);
    return t->id;
}

void eng_set_name(struct eng_tensor *t, const char *name)
{
    struct eng *e = t->storage->eng;
    uint32_t id = eng_string_id(e, name);

    if (!id || id == t->name)
        return;
    t->name = id;
    t->id = 0; /* announced again, with its name */
    eng_tensor_id(e, t);
}

void eng_set_category(struct eng_tensor *t, enum vs_category category)
{
    if (t)
        eng_storage_set_category(t->storage, category);
}

const char *eng_shape_text(const struct eng_tensor *t, char *buf)
{
    size_t used = 0;

    used += (size_t)snprintf(buf, ENG_SHAPE_TEXT_MAX, "[");
    for (int i = 0; i < t->ndim; i++)
        used += (size_t)snprintf(buf + used, ENG_SHAPE_TEXT_MAX - used, "%s%" PRId64, i ? ", " : "",
                                 t->sizes[i]);
    snprintf(buf + used, ENG_SHAPE_TEXT_MAX - used, "]");
    return buf;
}

void eng_view_of(const struct eng_tensor *t, struct eng_view *out)
{
    uint64_t skip = t->offset * vs_dtype_bytes((enum vs_dtype)t->dtype);

    out->data = t->storage->data ? (char *)t->storage->data + skip : NULL;
    out->dtype = (enum vs_dtype)t->dtype;
    out->ndim = t->ndim;
    memcpy(out->sizes, t->sizes, sizeof(out->sizes));
    memcpy(out->strides, t->strides, sizeof(out->strides));
}
