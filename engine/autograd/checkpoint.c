/*
 * engine/autograd/checkpoint.c - see checkpoint.h.
 *
 * Must not know:  the net language.
 * Invariant:      placeholder i of the first run and save i of a recomputation are the same tensor; a recomputed tensor
 *                 is returned once, and then held by its user only.
 */
#include "engine/autograd/checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"

/* One tensor saved by the first run. */
struct holder {
    bool is_gone; /* its node was freed without needing it */
    bool is_filled;
    uint8_t dtype, ndim; /* of the tensor of the first run, for the check */
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *tensor; /* recomputed, counted */
    uint32_t version;          /* of the tensor when it was recomputed */
};

struct eng_checkpoint {
    uint32_t refs; /* placeholders, and one for the first run while it lasts */
    struct eng *eng;
    struct eng_checkpoint_calls calls;
    struct eng_checkpoint *outer;    /* the enclosing one that collected before this one began */
    struct eng_node *inputs;         /* a node that only saves the arguments */
    struct eng_selective *selective; /* or NULL */
    int input_count;
    struct holder *holders;
    size_t count, cap;
    bool early_stop, preserve_rng;
    struct eng_rng_state rng;
    struct eng_autocast autocast;
    uint64_t task_id; /* of the backward for which the tensors were recomputed */
    /* during recomputation */
    bool is_rerun;
    size_t next; /* index of the next save */
    /* source location of the call */
    const char *module, *func;
    uint32_t line;
};

struct eng_checkpoint *eng_checkpoint_ref(struct eng_checkpoint *c)
{
    c->refs++;
    return c;
}

void eng_checkpoint_unref(struct eng_checkpoint *c)
{
    if (!c || --c->refs)
        return;
    c->eng->live_checkpoints--;
    for (size_t i = 0; i < c->count; i++)
        eng_unref(c->holders[i].tensor);
    eng_selective_unref(c->selective); /* the last cell of the closure that runs it again */
    if (c->calls.free_user)
        c->calls.free_user(c->calls.user);
    eng_node_unref(
        c->inputs); /* free_user has released the function and its keyword arguments before */
    vs_free(c->holders);
    vs_free(c);
}

bool eng_checkpoint_is_rerun(const struct eng_checkpoint *c)
{
    return c->is_rerun;
}

struct eng_checkpoint *eng_checkpoint_begin(struct eng *e, const struct eng_checkpoint_calls *calls,
                                            struct eng_tensor *const *inputs, int count,
                                            struct eng_selective *selective, bool early_stop,
                                            bool preserve_rng)
{
    struct eng_checkpoint *c = vs_calloc(1, sizeof(*c));

    c->refs = 1;
    c->eng = e;
    e->live_checkpoints++;
    c->calls = *calls;
    c->early_stop = early_stop;
    c->preserve_rng = preserve_rng;
    c->rng = e->rng;
    c->autocast = e->autocast;
    c->module = e->module;
    c->func = e->func;
    c->line = e->line;
    c->input_count = count;
    /* Before this call collects, because inside another checkpoint the arguments are placeholders of that one. */
    c->inputs = eng_node_new(e, ENG_NODE_CUSTOM, "NoopSaveInputs",
                             (struct eng_node_counts){.saves = count});
    c->inputs->is_checkpoint = true;
    for (int i = 0; i < count && e->grad_enabled; i++) {
        if (inputs[i])
            eng_node_save_at(c->inputs, i, inputs[i], false);
    }
    c->outer = e->checkpoint;
    e->checkpoint = c;
    if (e->grad_enabled)
        c->selective = eng_selective_ref(selective);
    eng_selective_enter(e, c->selective, c->inputs->id, false);
    return c;
}

void eng_checkpoint_end(struct eng *e, struct eng_checkpoint *checkpoint)
{
    VS_ASSERT(e->checkpoint == checkpoint);
    eng_selective_leave(e, checkpoint->selective);
    e->checkpoint = checkpoint->outer;
    checkpoint->outer = NULL;
    eng_checkpoint_unref(checkpoint);
}

/* A save during recomputation: the placeholder of the same number gets the recomputed tensor. */
static void rerun_pack(struct eng *e, struct eng_checkpoint *c, struct eng_tensor *t)
{
    char location[ENG_LOCATION_TEXT_MAX];
    struct holder *h;

    if (c->next >= c->count) {
        if (!c->early_stop)
            eng_fail(e, VS_E_AUTOGRAD,
                     "checkpoint of %s (%s): the re-run saves more tensors than the first run "
                     "(%zu): the function must do the same thing each time",
                     c->calls.name, eng_location_text(c->line, c->func, location), c->count);
        return;
    }
    h = &c->holders[c->next++];
    if (h->dtype != t->dtype || h->ndim != t->ndim ||
        memcmp(h->sizes, t->sizes, sizeof(*h->sizes) * h->ndim) != 0) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(
            e, VS_E_AUTOGRAD,
            "checkpoint of %s (%s): recomputed tensor %zu is %s %s, not what the first run saved",
            c->calls.name, eng_location_text(c->line, c->func, location), c->next - 1,
            vs_dtype_name((enum vs_dtype)t->dtype), eng_shape_text(t, shape));
        return;
    }
    if (!h->is_gone && !h->is_filled) {
        h->tensor = eng_alias(t);
        h->version = t->version->value;
        h->is_filled = true;
        eng_saved_hold(e, h->tensor, c->inputs->id, false);
    }
    if (c->early_stop && c->next == c->count)
        eng_fail(e, VS_E_STOPPED, "checkpoint: all recomputed");
}

uint32_t eng_checkpoint_pack(struct eng *e, struct eng_checkpoint *c, struct eng_tensor *t)
{
    struct holder *h;

    if (c->is_rerun) {
        rerun_pack(e, c, t);
        return 0;
    }
    c->holders = vs_grow(c->holders, c->count, &c->cap, sizeof(*c->holders));
    h = &c->holders[c->count];
    memset(h, 0, sizeof(*h));
    h->dtype = t->dtype;
    h->ndim = t->ndim;
    memcpy(h->sizes, t->sizes, sizeof(h->sizes));
    return (uint32_t)c->count++;
}

void eng_checkpoint_forget(struct eng_checkpoint *c, uint32_t index)
{
    struct holder *h = &c->holders[index];
    struct eng_tensor *t = h->tensor;

    h->is_gone = true;
    h->tensor = NULL;
    if (t) {
        eng_saved_drop(c->eng, t, c->inputs->id, false);
        eng_unref(t);
    }
}

/* The arguments, each a new reference; false on failure. */
static bool inputs_get(struct eng *e, struct eng_checkpoint *c, struct eng_tensor **inputs)
{
    for (int i = 0; i < c->input_count; i++) {
        const struct eng_saved *s = &c->inputs->saved[i];

        inputs[i] = s->tensor || s->checkpoint ? eng_node_unpack(c->inputs, i) : NULL;
    }
    return !e->failed;
}

static void rerun(struct eng *e, struct eng_checkpoint *c)
{
    struct eng_rng_state rng = e->rng;
    struct eng_autocast autocast;
    struct eng_checkpoint *collecting = e->checkpoint;
    struct eng_tensor **inputs = vs_calloc((size_t)c->input_count + 1, sizeof(*inputs));
    const char *module = e->module;
    const char *func = e->func;
    uint32_t line = e->line;
    bool grad;
    struct vs_error err;

    if (!inputs_get(e, c, inputs)) /* an outer checkpoint's recomputation may have failed */
        goto out;
    eng_recompute_begin(e, c->calls.name);
    grad = eng_set_grad_enabled(e, true);
    autocast = eng_autocast_enter(e, c->autocast);
    if (c->preserve_rng)
        e->rng = c->rng;
    eng_location_module(e, c->module);
    eng_location_func(e, c->func);
    eng_location_line(e, c->line);
    c->is_rerun = true;
    c->next = 0;
    e->checkpoint = c;
    eng_selective_enter(e, c->selective, c->inputs->id, true);
    c->calls.rerun(c->calls.user, inputs, c->input_count);
    eng_selective_leave(e, c->selective);
    e->checkpoint = collecting;
    c->is_rerun = false;
    if (e->failed && e->error.status == VS_E_STOPPED)
        eng_failure_take(e, &err);
    if (c->preserve_rng)
        e->rng = rng;
    eng_autocast_exit(e, autocast);
    eng_set_grad_enabled(e, grad);
    eng_location_module(e, module);
    eng_location_func(e, func);
    eng_location_line(e, line);
    eng_recompute_end(e, c->calls.name);
    if (c->calls.left)
        c->calls.left(c->calls.user);
out:
    for (int i = 0; i < c->input_count; i++)
        eng_unref(inputs[i]);
    vs_free(inputs);
}

static void holders_clear(struct eng_checkpoint *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct holder *h = &c->holders[i];
        struct eng_tensor *t = h->tensor;

        h->tensor = NULL;
        h->is_filled = false;
        if (t) {
            eng_saved_drop(c->eng, t, c->inputs->id, false);
            eng_unref(t);
        }
    }
}

struct eng_tensor *eng_checkpoint_unpack(struct eng *e, struct eng_checkpoint *c, uint32_t index)
{
    struct holder *h = &c->holders[index];
    char location[ENG_LOCATION_TEXT_MAX];
    struct eng_tensor *t;

    if (c->task_id != e->task_id) { /* another backward: everything is recomputed for it */
        holders_clear(c);
        c->task_id = e->task_id;
    }
    if (!h->is_filled) {
        eng_checkpoint_ref(c);
        rerun(e, c);
        h = &c->holders[index];
        eng_checkpoint_unref(c);
        if (e->failed)
            return NULL;
        if (!h->is_filled)
            return eng_fail(e, VS_E_AUTOGRAD,
                            "checkpoint of %s (%s): the re-run saved fewer tensors than the first "
                            "run: the function must do the same thing each time",
                            c->calls.name, eng_location_text(c->line, c->func, location));
    }
    t = h->tensor;
    if (!t)
        return eng_fail(e, VS_E_AUTOGRAD,
                        "checkpoint of %s (%s): a recomputed tensor was requested twice",
                        c->calls.name, eng_location_text(c->line, c->func, location));
    if (t->storage->is_watched && h->version <= t->storage->watched_at &&
        t->version->value > t->storage->watched_at)
        return eng_fail(e, VS_E_INPLACE, "the old value is read again by the backward of %s",
                        c->calls.name);
    h->tensor = NULL; /* from now on only the caller holds it */
    eng_saved_drop(e, t, c->inputs->id, false);
    return t;
}

static void emit_recompute(struct eng *e, enum vs_event_kind kind, const char *name)
{
    struct vs_event ev = {0};

    if (!e->observer)
        return;
    ev.kind = (uint8_t)kind;
    ev.recompute.name = eng_string_id(e, name);
    eng_emit(e, &ev);
}

void eng_recompute_begin(struct eng *e, const char *name)
{
    VS_ASSERT(e->recompute_depth < ENG_RECOMPUTE_MAX);
    e->recompute_outer[e->recompute_depth++] = e->backward_depth;
    e->backward_depth = 0;
    emit_recompute(e, VS_EV_RECOMPUTE_BEGIN, name);
}

void eng_recompute_end(struct eng *e, const char *name)
{
    emit_recompute(e, VS_EV_RECOMPUTE_END, name);
    e->backward_depth = e->recompute_outer[--e->recompute_depth];
}
