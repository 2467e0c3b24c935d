/*
 * engine/core/storage.c - storages: their blocks, their categories, and which of them autograd holds.
 *
 * Must not know:  ops, layouts of tensors.
 * Invariant:      alloc and free events of blocks are emitted only here, one of each per block. A storage has one block
 *                 at a time; eng_free_storage and eng_alloc_storage replace it.
 */
#include "base/mem.h"
#include "engine/core/engine_internal.h"

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

/* Records the failure and emits the last event. */
static void out_of_memory(struct eng *e, const struct eng_oom *oom)
{
    struct vs_error err = VS_ERROR_INIT;

    /* a failed device returns no memory either, but its own error is the one to be reported */
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

    if (eng_alloc_get(e->alloc, s->bytes, e->stream, &s->block, &oom) != VS_OK) {
        if (!is_try)
            out_of_memory(e, &oom);
        return false;
    }
    s->block_id = ++e->next_block_id;
    e->counters.events++;
    return true;
}

/* Host memory for the values, or the block's own; none on meta. */
static void storage_data_get(struct eng_storage *s)
{
    struct eng *e = s->eng;

    if (s->bytes && e->device && s->block)
        s->data = (void *)(uintptr_t)eng_block_address(s->block);
    else if (s->bytes && e->kernels)
        s->data = e->kernels->mem_get(s->bytes);
}

/* Frees the block, if there is one, and the values. */
static void storage_memory_free(struct eng_storage *s)
{
    struct eng *e = s->eng;
    const bool is_own_data = s->data && !(e->device && s->block);

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
    if (is_own_data)
        e->kernels->mem_put(s->data, s->bytes);
    s->block = NULL;
    s->data = NULL;
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
    storage_data_get(s);
    e->live_storages++;
    return s;
}

struct eng_storage *eng_storage_new(struct eng *e, uint64_t bytes, bool on_host)
{
    return storage_new(e, bytes, on_host, false);
}

void eng_storage_emit_alloc(struct eng *e, const struct eng_storage *s, uint32_t tensor_id)
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

    e->kernels = NULL; /* its contents are never used, so no host memory is needed for them */
    s = bytes ? storage_new(e, bytes, false, is_try) : NULL;
    e->kernels = kernels;
    eng_category_default(e, before);
    if (s && e->observer)
        eng_storage_emit_alloc(e, s, 0);
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

void eng_set_pending(struct eng_tensor *t, struct eng_tensor *input)
{
    struct eng_storage *s = t->storage, *last = s->eng->collective;
    struct eng_tensor *ended = last && (last == s || input) ? last->pending : NULL;

    if (ended) {
        last->pending = NULL;
        s->eng->collective = NULL;
    }
    if (input) {
        s->pending = eng_ref(input);
        s->eng->collective = s;
    }
    eng_unref(ended);
}

void eng_storage_unref(struct eng_storage *s)
{
    struct eng *e;

    if (!s || --s->refs)
        return;
    e = s->eng;
    if (e->collective == s)
        e->collective = NULL;
    eng_unref(s->pending);
    storage_memory_free(s);
    e->live_storages--;
    vs_pool_put(&e->pool, s, sizeof(*s));
}

void eng_free_storage(struct eng_tensor *t)
{
    if (!t->storage->on_host)
        storage_memory_free(t->storage);
}

void eng_alloc_storage(struct eng *e, struct eng_tensor *t)
{
    struct eng_storage *s = t->storage;

    if (e->failed || s->on_host || !s->bytes || s->block || !storage_block_get(s, false))
        return;
    storage_data_get(s);
    if (t->name)
        t->id = 0; /* announced again: the new block has its name, too */
    if (e->observer)
        eng_storage_emit_alloc(e, s, eng_tensor_id(e, t));
}

void eng_storage_set_category(struct eng_storage *s, enum vs_category category)
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

/* ---- tensors saved by autograd ---- */

static bool counts_as_saved(const struct eng_storage *s)
{
    return s->category != VS_CAT_PARAMETER && s->category != VS_CAT_BUFFER &&
           s->category != VS_CAT_INPUT;
}

/*
 * What only checkpoints keep is `checkpoint`, what a backward node needs is `saved`; parameters, buffers, the batch and
 * others keep the category of what they are.
 */
static void category_by_savers(struct eng_storage *s)
{
    const bool is_only_input = s->saved_count == s->checkpoint_count;
    const enum vs_category category = is_only_input ? VS_CAT_CHECKPOINT : VS_CAT_SAVED;

    if (s->category != category &&
        (s->category == VS_CAT_ACTIVATION || s->category == VS_CAT_TEMPORARY ||
         s->category == VS_CAT_SAVED || s->category == VS_CAT_CHECKPOINT))
        eng_storage_set_category(s, category);
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

    if (!s->block_id)
        return;
    s->checkpoint_count += is_checkpoint;
    if (!s->saved_count++) {
        e->counters.saved_bytes_all += s->bytes;
        if (counts_as_saved(s)) {
            e->counters.saved_tensors++;
            e->counters.saved_bytes += s->bytes;
        }
    }
    category_by_savers(s);
    emit_saved(e, VS_EV_SAVE, t, node_id, is_checkpoint);
}

void eng_saved_drop(struct eng *e, struct eng_tensor *t, uint64_t node_id, bool is_checkpoint)
{
    struct eng_storage *s = t->storage;

    if (!s->block_id)
        return;
    emit_saved(e, VS_EV_UNSAVE, t, node_id, is_checkpoint);
    s->checkpoint_count -= is_checkpoint;
    if (--s->saved_count) {
        category_by_savers(s);
        return;
    }
    e->counters.saved_bytes_all -= s->bytes;
    if (counts_as_saved(s)) {
        e->counters.saved_tensors--;
        e->counters.saved_bytes -= s->bytes;
    }
    /* Mostly it goes now; only what something else still holds changes its category. */
    if ((s->category == VS_CAT_SAVED || s->category == VS_CAT_CHECKPOINT) && s->refs > 1)
        eng_storage_set_category(s, VS_CAT_ACTIVATION);
}
