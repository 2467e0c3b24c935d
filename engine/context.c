/*
 * engine/context.c - creates and frees the parts of a context, see context.h.
 */
#include "engine/context.h"

#include <math.h>

#include "base/mem.h"
#include "engine/alloc/driver.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/ops/signature.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

/* Bytes of a device without a stated capacity: more than any net requests. */
#define UNBOUNDED_DEVICE (UINT64_C(16) << 40)
#define FIRST_STRINGS 1024

static void on_alloc_event(void *user, const struct eng_alloc_event *ev)
{
    static const uint8_t KINDS[ENG_ALLOC_EV_COUNT] = {
        [ENG_ALLOC_EV_SEGMENT_ALLOC] = VS_EV_SEGMENT_ALLOC,
        [ENG_ALLOC_EV_SEGMENT_FREE] = VS_EV_SEGMENT_FREE,
        [ENG_ALLOC_EV_SEGMENT_MAP] = VS_EV_SEGMENT_MAP,
        [ENG_ALLOC_EV_SEGMENT_UNMAP] = VS_EV_SEGMENT_UNMAP,
    };
    struct eng *e = user;
    struct vs_event out = {0};

    /* alloc, free and oom are emitted by engine/core/storage.c, which has the block id */
    if (!e->observer || !KINDS[ev->kind])
        return;
    out.kind = KINDS[ev->kind];
    out.segment.stream = ev->stream;
    out.segment.bytes = ev->bytes;
    out.segment.address = ev->address;
    out.segment.size_pool = ev->is_small ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
    eng_emit(e, &out);
}

enum vs_status eng_new(const struct eng_options *options, struct eng **out, struct vs_error *err)
{
    struct eng_alloc_conf conf;
    struct eng *e;
    enum vs_status st;

    *out = NULL;
    eng_alloc_conf_init(&conf);
    if (options->alloc_conf) {
        st = eng_alloc_conf_parse(options->alloc_conf, &conf, err);
        if (st)
            return st;
    }
    e = vs_calloc(1, sizeof(*e));
    e->kernels = options->device ? options->device->kernels : options->kernels;
    e->device = options->device;
    e->observer = options->observer;
    e->sim = eng_sim_driver_new(&(struct eng_sim_options){
        .total_bytes = options->capacity ? options->capacity : UNBOUNDED_DEVICE});
    for (size_t i = 0; i < options->segment_count; i++)
        eng_sim_driver_push_address(e->sim, options->segment_addresses[i]);
    e->alloc = eng_alloc_new(&(struct eng_alloc_options){
        .driver = e->device ? e->device->driver : eng_sim_driver_get(e->sim),
        .conf = &conf,
        .listener = {.user = e, .event = on_alloc_event},
    });
    if (e->device)
        e->workspaces = eng_workspaces_new(e->device->info.capability, NULL);
    else if (options->workspaces)
        e->workspaces = eng_workspaces_new(0, options->workspaces);
    if (e->device && options->capacity)
        eng_alloc_set_memory_fraction(
            e->alloc, fmin(1.0, (double)options->capacity / (double)e->device->info.total_bytes));
    e->signatures = eng_signatures_new();
    e->strings.size = FIRST_STRINGS;
    e->strings.slots = vs_calloc(FIRST_STRINGS, sizeof(*e->strings.slots));
    e->grad_enabled = true;
    e->autocast.dtype = VS_F16;
    e->autocast.cache_enabled = true;
    e->rng.seed = options->seed;
    e->stop = options->stop;
    e->stop_user = options->stop_user;
    e->location_dirty = true;
    e->step = -1;
    e->phase = VS_PHASE_SETUP;
    e->category = VS_CATEGORY_COUNT;
    *out = e;
    return VS_OK;
}

void eng_free(struct eng *e)
{
    if (!e)
        return;
    eng_observer_stop(e);
    eng_cast_cache_clear(e);
    eng_scratch_release(e);
    eng_workspaces_free(e->workspaces);
    vs_free(e->cast_cache);
    eng_cycles_break(e);
    if (e->device)
        eng_alloc_empty_cache(e->alloc);
    eng_alloc_free(e->alloc);
    eng_sim_driver_free(e->sim);
    eng_signatures_free(e->signatures);
    vs_free(e->strings.slots);
    eng_blame_release(e);
    eng_ready_free(e->ready);
    vs_pool_release(&e->tensors);
    vs_pool_release(&e->pool);
    vs_free(e);
}
