/*
 * engine/autograd/autocast.c - the casts that autocast inserts before an op, and its cache of cast weights.
 *
 * Must not know:  which op needs which policy: that is in the op's row.
 * Invariant:      casts are recorded by autograd like any op, so the cast tensor is what is saved; the cache is kept
 *                 until the outermost region is left.
 */
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

struct eng_autocast eng_autocast_get(const struct eng *e)
{
    return e->autocast;
}

void eng_cast_cache_clear(struct eng *e)
{
    for (size_t i = 0; i < e->cast_count; i++) {
        eng_drop(e, e->cast_cache[i].cast, VS_HOLD_CACHE, NULL, NULL);
        eng_unref(e->cast_cache[i].cast);
        eng_unref(e->cast_cache[i].key);
    }
    e->cast_count = 0;
}

struct eng_autocast eng_autocast_enter(struct eng *e, struct eng_autocast state)
{
    struct eng_autocast before = e->autocast;

    e->autocast = state;
    e->autocast_depth++;
    return before;
}

void eng_autocast_exit(struct eng *e, struct eng_autocast before)
{
    VS_ASSERT(e->autocast_depth > 0);
    if (!--e->autocast_depth)
        eng_cast_cache_clear(e);
    e->autocast = before;
}

int eng_autocast_depth(const struct eng *e)
{
    return e->autocast_depth;
}

static bool eligible(const struct eng_tensor *t)
{
    return t && vs_dtype_is_floating((enum vs_dtype)t->dtype) && t->dtype != VS_F64 &&
           !t->storage->on_host;
}

static void note_growth(struct eng *e, const struct eng_tensor *from, const struct eng_tensor *copy)
{
    const uint64_t bytes = copy->storage->bytes;

    if (vs_dtype_bytes((enum vs_dtype)copy->dtype) < vs_dtype_bytes((enum vs_dtype)from->dtype) &&
        bytes > from->storage->bytes && bytes > e->grown_cast.bytes)
        e->grown_cast = (struct eng_grown_cast){bytes, from->storage->bytes, e->line};
}

const struct eng_grown_cast *eng_grown_cast_get(const struct eng *e)
{
    return &e->grown_cast;
}

static struct eng_tensor *cast_new(struct eng *e, struct eng_tensor *t, enum vs_dtype to)
{
    enum vs_category category = eng_category_default(e, VS_CAT_CAST);
    struct eng_tensor *cast = eng_to_dtype(e, t, to);

    eng_category_default(e, category);
    if (cast) {
        note_growth(e, t, cast);
        cast->shares = t->shares;
    }
    if (cast && e->observer && cast->storage->block) {
        struct vs_event ev = {.kind = VS_EV_CAST,
                              .cast = {.block = cast->storage->block_id,
                                       .from_block = t->storage->block_id,
                                       .from_dtype = t->dtype,
                                       .to_dtype = (uint64_t)to}};

        eng_emit(e, &ev);
    }
    return cast;
}

/* Casts t if necessary. A new reference: t itself, its cached copy, or a new copy. */
static struct eng_tensor *cast_get(struct eng *e, struct eng_tensor *t, enum vs_dtype to)
{
    bool cached, grad = e->grad_enabled;
    struct eng_tensor *cast;

    if (!eligible(t) || t->dtype == to)
        return eng_ref(t);
    cached = e->autocast.cache_enabled && to == (enum vs_dtype)e->autocast.dtype &&
             t->dtype == VS_F32 && t->requires_grad && !t->grad_fn && !t->base;
    for (size_t i = 0; cached && i < e->cast_count; i++) {
        if (e->cast_cache[i].key == t)
            return eng_ref(e->cast_cache[i].cast);
    }
    if (cached) /* a cached copy may be used by calls that need a gradient, even if this one does not */
        eng_set_grad_enabled(e, true);
    cast = cast_new(e, t, to);
    eng_set_grad_enabled(e, grad);
    if (cached && cast) {
        e->cast_cache = vs_grow(e->cast_cache, e->cast_count, &e->cast_cap, sizeof(*e->cast_cache));
        e->cast_cache[e->cast_count].key = eng_ref(t);
        e->cast_cache[e->cast_count++].cast = eng_ref(cast);
        eng_hold(e, cast, VS_HOLD_CACHE, NULL, NULL);
    }
    return cast;
}

/* The common dtype of all eligible arguments under PROMOTE: float32 if one of them has it. */
static enum vs_dtype widest(const struct eng *e, const struct eng_arg *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (args[i].kind == ENG_A_TENSOR && eligible(args[i].v.tensor) &&
            args[i].v.tensor->dtype == VS_F32)
            return VS_F32;
    }
    return (enum vs_dtype)e->autocast.dtype;
}

/* For FP32_OUT: sets the dtype argument if the caller omitted it. */
static void set_out_dtype(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                          struct eng_arg *out)
{
    const struct eng_signature *sig = &e->signatures[id];

    if (!eligible(args[0].v.tensor))
        return;
    for (int i = 0; i < sig->count; i++) {
        if (sig->params[i].type == ENG_P_DTYPE && args[i].kind == ENG_A_NONE)
            out[i] = eng_ad(VS_F32);
    }
}

bool eng_autocast_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                       struct eng_ret *ret)
{
    enum eng_op_autocast policy = eng_op_get(id)->autocast;
    int count = e->signatures[id].count;
    struct eng_arg cast[ENG_MAX_ARGS];
    struct eng_tensor **lists[ENG_MAX_ARGS] = {0};
    enum vs_dtype to = policy == ENG_AC_FP32      ? VS_F32
                       : policy == ENG_AC_PROMOTE ? widest(e, args, count)
                                                  : (enum vs_dtype)e->autocast.dtype;
    bool ok;

    if (policy == ENG_AC_REFUSED) {
        eng_fail(e, VS_E_TYPE,
                 "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
                 "autocast: use binary_cross_entropy_with_logits or BCEWithLogitsLoss");
        return false;
    }
    memcpy(cast, args, sizeof(*cast) * (size_t)count);
    if (policy == ENG_AC_FP32_OUT) {
        set_out_dtype(e, id, args, cast);
        e->autocast.enabled = false;
        ok = eng_op_run(e, id, cast, false, ret);
        e->autocast.enabled = true;
        return ok;
    }
    /* autocast does not apply to the casts; the last argument is cast first, as in PyTorch's builds */
    e->autocast.enabled = false;
    for (int i = count - 1; i >= 0; i--) {
        if (args[i].kind == ENG_A_TENSOR) {
            cast[i].v.tensor = cast_get(e, args[i].v.tensor, to);
        } else if (args[i].kind == ENG_A_TENSORS) {
            lists[i] = vs_calloc(args[i].count ? args[i].count : 1, sizeof(*lists[i]));
            for (uint32_t k = 0; k < args[i].count; k++)
                lists[i][k] = cast_get(e, args[i].v.tensors[k], to);
            cast[i].v.tensors = lists[i];
        }
    }
    ok = !e->failed && eng_op_run(e, id, cast, false, ret);
    e->autocast.enabled = true;
    for (int i = 0; i < count; i++) {
        if (args[i].kind == ENG_A_TENSOR)
            eng_unref(cast[i].v.tensor);
        for (uint32_t k = 0; lists[i] && k < args[i].count; k++)
            eng_unref(lists[i][k]);
        vs_free(lists[i]);
    }
    return ok;
}
