/*
 * engine/core/tensor.c - see tensor.h.
 *
 * Must not know:  ops.
 * Invariant:      alloc and free events are emitted here and nowhere else, one pair a block.
 */
#include "engine/core/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/core/engine_internal.h"

/* ---- storage ---- */

static enum vs_category default_category(const struct eng *e)
{
    if (e->category != VS_CATEGORY_COUNT)
        return e->category;
    switch (e->phase) {
    case VS_PHASE_DATA:
        return VS_CAT_INPUT;
    case VS_PHASE_FORWARD:
    case VS_PHASE_LOSS:
        return VS_CAT_ACTIVATION;
    case VS_PHASE_BACKWARD:
        return e->recompute_depth && !e->backward_depth ? VS_CAT_ACTIVATION : VS_CAT_TEMPORARY;
    case VS_PHASE_OPTIMIZER:
    case VS_PHASE_ZERO_GRAD:
        return VS_CAT_TEMPORARY;
    case VS_PHASE_SETUP:
    case VS_PHASE_COUNT:
        break;
    }
    return VS_CAT_OTHER;
}

/* The run is over: what was asked for, what was there, and the last event. */
static void out_of_memory(struct eng *e, const struct eng_oom *oom)
{
    struct vs_error err = VS_ERROR_INIT;

    /* a device that failed has no memory either: that is not what was wrong */
    eng_device_wait(e);
    if (e->failed)
        return;
    e->has_oom = true;
    e->oom = *oom;
    if (e->observer) {
        struct vs_event ev = {.kind = VS_EV_OOM,
                              .oom = {.requested_bytes = oom->requested_bytes,
                                      .segment_bytes = oom->segment_bytes,
                                      .device_free_bytes = oom->device_free_bytes}};

        eng_emit(e, &ev);
        eng_observer_stop(e);
    }
    eng_oom_describe(oom, &err);
    eng_fail(e, VS_E_OOM, "%s", err.text);
}

static bool storage_block_get(struct eng_storage *s, bool is_try)
{
    struct eng *e = s->eng;
    struct eng_oom oom;

    if (eng_alloc_get(e->alloc, s->bytes, 0, &s->block, &oom) != VS_OK) {
        if (!is_try)
            out_of_memory(e, &oom);
        return false;
    }
    s->block_id = ++e->next_block_id;
    e->counters.events++;
    return true;
}

static struct eng_storage *storage_new(struct eng *e, uint64_t bytes, bool on_host, bool is_try)
{
    struct eng_storage *s;

    if (e->failed)
        return NULL;
    s = vs_pool_get_zeroed(&e->pool, sizeof(*s));
    s->eng = e;
    s->bytes = bytes;
    s->refs = 1;
    s->on_host = on_host;
    s->category = (uint8_t)default_category(e);
    if (bytes && !on_host && !storage_block_get(s, is_try)) {
        vs_pool_put(&e->pool, s, sizeof(*s));
        return NULL;
    }
    if (bytes && e->device && s->block)
        s->data = (void *)(uintptr_t)eng_block_address(s->block);
    else if (bytes && e->kernels)
        s->data = e->kernels->mem_get(bytes);
    e->live_storages++;
    return s;
}

struct eng_storage *eng_storage_new(struct eng *e, uint64_t bytes, bool on_host)
{
    return storage_new(e, bytes, on_host, false);
}

/* What the observer hears of a new block; tensor_id 0: it is no tensor's. */
static void emit_alloc(struct eng *e, const struct eng_storage *s, uint32_t tensor_id)
{
    struct vs_event ev = {0};

    ev.kind = VS_EV_ALLOC;
    ev.alloc.tensor = tensor_id;
    ev.alloc.block = s->block_id;
    ev.alloc.requested_bytes = s->bytes;
    ev.alloc.block_bytes = eng_block_bytes(s->block);
    ev.alloc.address = eng_block_address(s->block);
    ev.alloc.category = s->category;
    eng_emit(e, &ev);
}

static struct eng_storage *scratch_new(struct eng *e, uint64_t bytes, bool is_try)
{
    const struct eng_kernels *kernels = e->kernels;
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_storage *s;

    e->kernels = NULL; /* nobody reads or writes it: no memory of the host's */
    s = bytes ? storage_new(e, bytes, false, is_try) : NULL;
    e->kernels = kernels;
    eng_category_default(e, before);
    if (s && e->observer)
        emit_alloc(e, s, 0);
    return s;
}

struct eng_storage *eng_scratch_new(struct eng *e, uint64_t bytes)
{
    return scratch_new(e, bytes, false);
}

struct eng_storage *eng_scratch_try(struct eng *e, uint64_t bytes)
{
    return scratch_new(e, bytes, true);
}

struct eng_storage *eng_storage_ref(struct eng_storage *s)
{
    s->refs++;
    return s;
}

void eng_storage_unref(struct eng_storage *s)
{
    struct eng *e;

    if (!s || --s->refs)
        return;
    e = s->eng;
    e->counters.events += s->block != NULL;
    if (s->block) {
        if (e->observer) {
            struct vs_event ev = {0};

            ev.kind = VS_EV_FREE;
            ev.free.block = s->block_id;
            ev.free.requested_bytes = s->bytes;
            ev.free.block_bytes = eng_block_bytes(s->block);
            ev.free.address = eng_block_address(s->block);
            eng_emit(e, &ev);
        }
        eng_alloc_put(e->alloc, s->block);
    }
    if (s->data && !(e->device && s->block))
        e->kernels->mem_put(s->data, s->bytes);
    e->live_storages--;
    vs_pool_put(&e->pool, s, sizeof(*s));
}

/* ---- tensors ---- */

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

/* The order is that of PyTorch's TensorImpl: what it is a view of, its history, its gradient, its memory. */
void eng_tensor_free(struct eng_tensor *t)
{
    struct eng *e = t->storage->eng;

    if (t->hooks) {
        t->hooks->free_user(t->hooks->user);
        vs_free(t->hooks);
    }
    eng_unref(t->base);
    eng_node_unref(t->grad_fn);
    eng_unref(t->grad);
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

bool eng_is_channels_last(const struct eng_tensor *t)
{
    static const int ORDER[] = {1, 3, 2, 0};
    int64_t expect = 1;

    if (t->ndim != 4)
        return false;
    for (int k = 0; k < 4; k++) {
        int i = ORDER[k];

        if (t->sizes[i] != 1 && t->strides[i] != expect)
            return false;
        expect *= t->sizes[i];
    }
    return true;
}

/* c10/core/MemoryFormat.h, is_channels_last_strides_2d: ambiguous strides count as row-major. */
bool eng_suggests_channels_last(const struct eng_tensor *t)
{
    static const int ORDER[] = {1, 3, 2, 0};
    int64_t least = 0;

    if (t->ndim != 4 || t->strides[1] == 0)
        return false;
    for (int k = 0; k < 4; k++) {
        int i = ORDER[k];

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
        /* sizes too large for a tensor wrap here: they are refused where their bytes are counted */
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

/* Bytes that sizes and strides span; false on overflow. */
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
        emit_alloc(e, s, eng_tensor_id(e, t));
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

static void storage_category_set(struct eng_storage *s, enum vs_category category)
{
    struct eng *e = s->eng;

    if (s->category == category)
        return;
    s->category = (uint8_t)category;
    if (e->observer && s->block) {
        struct vs_event ev = {.kind = VS_EV_CATEGORY,
                              .category = {.block = s->block_id, .category = (uint8_t)category}};

        eng_emit(e, &ev);
    }
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
        storage_category_set(p->storage, (enum vs_category)old->category);
    p->dtype = t->dtype;
    p->ndim = t->ndim;
    memcpy(p->sizes, t->sizes, sizeof(p->sizes));
    memcpy(p->strides, t->strides, sizeof(p->strides));
    p->offset = t->offset;
    /* An accumulator of the old place is for the old dtype: a new one is made when it is next needed. */
    p->accumulator = NULL;
    if (p->id && e->observer) {
        p->id = 0; /* another block: the trace meets it as a new tensor of the same name */
        eng_tensor_id(e, p);
    }
    eng_storage_unref(old);
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
    t->id = 0; /* announced anew, with its name */
    eng_tensor_id(e, t);
}

void eng_set_category(struct eng_tensor *t, enum vs_category category)
{
    if (t)
        storage_category_set(t->storage, category);
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

/* ---- what autograd holds ---- */

static bool counts_as_saved(const struct eng_storage *s)
{
    return s->category != VS_CAT_PARAMETER && s->category != VS_CAT_BUFFER &&
           s->category != VS_CAT_INPUT;
}

static void emit_saved(struct eng *e, enum vs_event_kind kind, struct eng_tensor *t,
                       uint64_t node_id, bool is_checkpoint)
{
    struct vs_event ev = {0};

    if (!e->observer)
        return;
    ev.kind = (uint8_t)kind;
    ev.save.block = t->storage->block_id;
    ev.save.tensor = eng_tensor_id(e, t);
    ev.save.node = node_id;
    ev.save.is_checkpoint_input = is_checkpoint;
    eng_emit(e, &ev);
}

void eng_saved_hold(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint)
{
    struct eng_storage *s = t->storage;

    if (!s->block)
        return;
    if (!s->saved_count++) {
        e->counters.saved_bytes_all += s->bytes;
        if (counts_as_saved(s)) {
            e->counters.saved_tensors++;
            e->counters.saved_bytes += s->bytes;
        }
        if (s->category == VS_CAT_ACTIVATION || s->category == VS_CAT_TEMPORARY)
            storage_category_set(s, is_checkpoint ? VS_CAT_CHECKPOINT : VS_CAT_SAVED);
    }
    emit_saved(e, VS_EV_SAVE, t, node_id, is_checkpoint);
}

void eng_saved_drop(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint)
{
    struct eng_storage *s = t->storage;

    if (!s->block)
        return;
    emit_saved(e, VS_EV_UNSAVE, t, node_id, is_checkpoint);
    if (--s->saved_count)
        return;
    e->counters.saved_bytes_all -= s->bytes;
    if (counts_as_saved(s)) {
        e->counters.saved_tensors--;
        e->counters.saved_bytes -= s->bytes;
    }
    /* Mostly it goes now; only what something else still holds changes its category. */
    if ((s->category == VS_CAT_SAVED || s->category == VS_CAT_CHECKPOINT) && s->refs > 1)
        storage_category_set(s, VS_CAT_ACTIVATION);
}
