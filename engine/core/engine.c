/*
 * engine/core/engine.c - the context: see engine.h.
 *
 * Must not know:  ops, the net language.
 * Invariant:      a location id is determined only when an event needs one.
 */
#include "engine/core/engine.h"
#include "base/target.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/core/engine_internal.h"

const struct vs_error *eng_failed(const struct eng *e)
{
    return e->failed ? &e->error : NULL;
}

enum vs_status eng_failure_take(struct eng *e, struct vs_error *err)
{
    if (!e->failed)
        return VS_OK;
    e->failed = false;
    *err = e->error;
    return err->status;
}

void *eng_fail(struct eng *e, enum vs_status status, const char *fmt, ...)
{
    va_list ap;

    if (e->failed)
        return NULL;
    e->failed = true;
    va_start(ap, fmt);
    vs_failv(&e->error, status, fmt, ap);
    va_end(ap);
    return NULL;
}

void eng_device_wait(struct eng *e)
{
    struct vs_error err = VS_ERROR_INIT;

    if (e->device && !e->failed && e->device->wait(&err))
        eng_fail(e, err.status, "%s", err.text);
}

bool eng_has_data(const struct eng *e)
{
    return e->kernels != NULL;
}

struct eng_alloc *eng_alloc_of(struct eng *e)
{
    return e->alloc;
}

bool eng_oom_get(const struct eng *e, struct eng_oom *out)
{
    if (e->has_oom)
        *out = e->oom;
    return e->has_oom;
}

bool eng_grad_enabled(const struct eng *e)
{
    return e->grad_enabled;
}

bool eng_set_grad_enabled(struct eng *e, bool on)
{
    bool before = e->grad_enabled;

    e->grad_enabled = on;
    return before;
}

uint32_t eng_stream(const struct eng *e)
{
    return e->stream;
}

uint32_t eng_set_stream(struct eng *e, uint32_t stream)
{
    uint32_t before = e->stream;

    VS_ASSERT(stream <= UINT16_MAX);
    e->stream = stream;
    return before;
}

void eng_record_stream(struct eng_tensor *t, uint32_t stream)
{
    if (t->storage->block)
        eng_alloc_record_stream(t->storage->eng->alloc, t->storage->block, stream);
}

bool eng_set_offload(struct eng *e, bool on)
{
    bool before = e->offload;

    e->offload = on;
    return before;
}

bool eng_set_offload_pinned(struct eng *e, bool on)
{
    bool before = e->offload_pinned;

    e->offload_pinned = on;
    return before;
}

bool eng_set_anomaly(struct eng *e, bool on)
{
    bool before = e->anomaly;

    e->anomaly = on;
    return before;
}

struct eng_rng_state eng_rng_get(const struct eng *e)
{
    return e->rng;
}

void eng_rng_set(struct eng *e, struct eng_rng_state state)
{
    e->rng = state;
}

struct eng_counters eng_counters_get(const struct eng *e)
{
    return e->counters;
}

enum vs_category eng_category_default(struct eng *e, enum vs_category category)
{
    enum vs_category before = e->category;

    e->category = category;
    return before;
}

void eng_empty_cache(struct eng *e)
{
    eng_alloc_empty_cache(e->alloc);
}

void eng_set_torch(struct eng *e, int minor)
{
    e->torch_before_newest = (uint8_t)(ENG_TORCH_NEWEST - minor);
}

int eng_torch(const struct eng *e)
{
    return ENG_TORCH_NEWEST - e->torch_before_newest;
}

const struct vs_target *eng_target(const struct eng *e)
{
    return e->target;
}

void eng_set_target(struct eng *e, const struct vs_target *target, enum eng_workspace_policy policy,
                    bool bound)
{
    struct eng_alloc_conf conf = *eng_alloc_conf_get(e->alloc);

    e->target = target;
    e->workspace_policy = (uint8_t)policy;
    if (!target || !bound)
        return;
    eng_sim_driver_set_total(e->sim, target->capacity_bytes);
    eng_alloc_set_conf(e->alloc, &conf); /* limits are fractions of the total */
}

/* ---- source locations and events ---- */

/* Why this search is not base/table.h: see struct eng_string_slot. */

static struct eng_string_slot *string_slot(const struct eng_string_ids *ids, const char *text)
{
    size_t at = eng_string_hash(text, ids->size);

    while (ids->slots[at].text && ids->slots[at].text != text)
        at = (at + 1) & (ids->size - 1);
    return &ids->slots[at];
}

static void string_ids_grow(struct eng_string_ids *ids)
{
    struct eng_string_ids old = *ids;

    ids->size = old.size * 2;
    ids->slots = vs_calloc(ids->size, sizeof(*ids->slots));
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].text)
            *string_slot(ids, old.slots[i].text) = old.slots[i];
    vs_free(old.slots);
}

uint32_t eng_string_id_find(struct eng *e, const char *text)
{
    struct eng_string_slot *slot;

    if (!text || !e->observer)
        return 0;
    if (e->strings.count * 4 >= e->strings.size)
        string_ids_grow(&e->strings);
    slot = string_slot(&e->strings, text);
    if (!slot->text) {
        slot->text = text;
        slot->id = e->observer->string(e->observer->user, text);
        e->strings.count++;
    }
    return slot->id;
}

void eng_location_id_find(struct eng *e)
{
    struct vs_location location;

    location.phase = (uint32_t)e->phase;
    location.module = eng_string_id(e, e->module);
    location.func = eng_string_id(e, e->func);
    location.line = e->line;
    location.op = eng_string_id(e, e->op);
    e->location_id = e->observer->location(e->observer->user, &location);
    e->location_dirty = false;
}

void eng_emit_scale(struct eng *e, uint64_t scale, uint64_t old_scale)
{
    struct vs_event ev = {.kind = VS_EV_SCALE,
                          .location = e->location_id,
                          .scale = {.scale = scale, .old_scale = old_scale}};

    if (e->observer)
        e->observer->emit(e->observer->user, &ev);
}

void eng_emit_skip_step(struct eng *e, uint64_t call)
{
    struct vs_event ev = {
        .kind = VS_EV_SKIP_STEP, .location = e->location_id, .skip_step.call = call};

    if (e->observer)
        e->observer->emit(e->observer->user, &ev);
}

void eng_observer_stop(struct eng *e)
{
    e->observer = NULL;
}

void eng_location_phase(struct eng *e, enum vs_phase phase)
{
    struct vs_event ev = {.kind = VS_EV_PHASE, .phase = {.phase = (uint64_t)phase}};

    eng_device_wait(e);
    e->phase = phase;
    e->location_dirty = true;
    if (e->observer)
        eng_emit(e, &ev);
}

void eng_location_step(struct eng *e, int64_t step)
{
    struct vs_event ev = {.kind = VS_EV_STEP, .step = {.number_plus_one = (uint64_t)(step + 1)}};

    e->step = step;
    if (e->observer)
        eng_emit(e, &ev);
}

const char *eng_location_module(struct eng *e, const char *path)
{
    const char *before = e->module;

    e->location_dirty |= before != path;
    e->module = path;
    return before;
}

const char *eng_module_get(const struct eng *e)
{
    return e->module;
}

const char *eng_location_func(struct eng *e, const char *qualname)
{
    const char *before = e->func;

    e->location_dirty |= before != qualname;
    e->func = qualname;
    return before;
}

uint32_t eng_location_line(struct eng *e, uint32_t line)
{
    uint32_t before = e->line;

    e->location_dirty |= before != line;
    e->line = line;
    return before;
}

const char *eng_set_op(struct eng *e, const char *op)
{
    const char *before = e->op;

    e->location_dirty |= before != op;
    e->op = op;
    return before;
}

const char *eng_location_text(uint32_t line, const char *func, char *buf)
{
    if (!line)
        (void)snprintf(buf, ENG_LOCATION_TEXT_MAX, "the training loop");
    else if (func && *func && *func != '<') /* <module>: outside of functions */
        (void)snprintf(buf, ENG_LOCATION_TEXT_MAX, "line %" PRIu32 " of %s", line, func);
    else
        (void)snprintf(buf, ENG_LOCATION_TEXT_MAX, "line %" PRIu32, line);
    return buf;
}

static inline bool is_emitted(const struct eng *e, const struct eng_tensor *t)
{
    return e->observer && t && t->storage->block;
}

static inline void scope_find(struct eng *e, const char *scope)
{
    if (scope != e->scope) {
        e->scope = scope;
        e->scope_id = eng_string_id(e, scope);
    }
}

static inline void emit_holder(struct eng *e, enum vs_event_kind kind, struct eng_tensor *t,
                               enum vs_holder holder, uint32_t name)
{
    struct vs_event ev = {0};

    ev.kind = (uint8_t)kind;
    ev.hold.block = t->storage->block_id;
    ev.hold.tensor = t->id ? t->id : eng_tensor_id(e, t);
    ev.hold.name = name;
    ev.hold.scope = e->scope_id;
    ev.hold.holder = (uint8_t)holder;
    eng_emit(e, &ev);
}

void eng_hold(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope)
{
    if (!is_emitted(e, t))
        return;
    scope_find(e, scope);
    emit_holder(e, VS_EV_HOLD, t, holder, eng_string_id(e, name));
}

void eng_drop(struct eng *e, struct eng_tensor *t, enum vs_holder holder, const char *name,
              const char *scope)
{
    if (!is_emitted(e, t))
        return;
    scope_find(e, scope);
    emit_holder(e, VS_EV_DROP, t, holder, eng_string_id(e, name));
}

void eng_hold_named(struct eng *e, struct eng_tensor *t, enum vs_holder holder,
                    struct eng_name *name, const char *scope, bool on)
{
    if (!is_emitted(e, t))
        return;
    scope_find(e, scope);
    if (!name->id)
        name->id = e->observer->string(e->observer->user, name->text);
    emit_holder(e, on ? VS_EV_HOLD : VS_EV_DROP, t, holder, name->id);
}

bool eng_item(struct eng *e, struct eng_tensor *t, struct eng_scalar *out)
{
    struct eng_view view;

    memset(out, 0, sizeof(*out));
    if (e->failed || !t)
        return false;
    if (eng_numel(t) != 1) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_VALUE,
                 "a tensor of shape %s has no single value: only one-element tensors can be turned "
                 "into a number",
                 eng_shape_text(t, shape));
        return false;
    }
    if (!t->storage->data) {
        out->is_int = !vs_dtype_is_floating((enum vs_dtype)t->dtype);
        out->f = out->is_int ? 0.0 : (double)NAN;
        return true;
    }
    eng_view_of(t, &view);
    *out = e->kernels->item(&view);
    return true;
}
