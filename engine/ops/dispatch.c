/*
 * engine/ops/dispatch.c - running an op: see op.h.
 *
 * Must not know:  what any single op computes.
 * Invariant:      the order of a call is PyTorch's: autocast, then the node with its saved inputs, then the kernel,
 *                 then the history and the saved results.
 */
#include "engine/core/op.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/flops.h"
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/op_events.h"

static const struct eng_op OPS[ENG_OP_COUNT] = {
/* clang-format off */
#define NO NULL
#define OP(id, name, signature, where, kind, autocast, node, saves, forward, backward) \
    [ENG_OP_##id] = {name, signature, where, ENG_##kind, ENG_AC_##autocast, node, saves, forward, backward},
#include "engine/core/op.def"
#undef OP
#undef NO
    /* clang-format on */
};

const struct eng_op *eng_op_get(enum eng_op_id id)
{
    return &OPS[id];
}

const struct eng_param *eng_op_params(const struct eng *e, enum eng_op_id id, int *param_count)
{
    *param_count = e->signatures[id].count;
    return e->signatures[id].params;
}

/* ---- results ---- */

void eng_ret_release(struct eng_ret *ret)
{
    for (uint32_t i = 0; i < ret->count; i++)
        eng_unref(ret->tensors[i]);
    if (ret->tensors != ret->few)
        vs_free(ret->tensors);
    ret->tensors = ret->few;
    ret->count = 0;
}

void eng_c_give(struct eng_op_call *c, struct eng_tensor *t)
{
    VS_ASSERT(c->ret->count < sizeof(c->ret->few) / sizeof(c->ret->few[0]));
    c->ret->few[c->ret->count++] = t;
}

void eng_c_give_list(struct eng_op_call *c, struct eng_tensor **ts, uint32_t count)
{
    c->ret->is_list = true;
    c->ret->count = count;
    if (count > sizeof(c->ret->few) / sizeof(c->ret->few[0]))
        c->ret->tensors = vs_alloc(sizeof(*ts) * count);
    if (count)
        memcpy(c->ret->tensors, ts, sizeof(*ts) * count);
}

/* ---- the node of a call ---- */

static bool arg_requires_grad(const struct eng_arg *a)
{
    if (a->kind == ENG_A_TENSOR)
        return eng_requires_grad(a->v.tensor);
    if (a->kind == ENG_A_TENSORS) {
        for (uint32_t i = 0; i < a->count; i++) {
            if (eng_requires_grad(a->v.tensors[i]))
                return true;
        }
    }
    return false;
}

static bool any_requires_grad(const struct eng_arg *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (arg_requires_grad(&args[i]))
            return true;
    }
    return false;
}

static int count_edges(const struct eng_arg *args, int count)
{
    int edges = 0;

    for (int i = 0; i < count; i++) {
        if (args[i].kind == ENG_A_TENSOR)
            edges++;
        else if (args[i].kind == ENG_A_TENSORS)
            edges += (int)args[i].count;
        else if (args[i].kind == ENG_A_NONE)
            edges++; /* an absent tensor keeps its place */
    }
    return edges;
}

static int count_ints(const struct eng_arg *args, int count)
{
    int ints = 0;

    for (int i = 0; i < count; i++)
        ints += args[i].kind == ENG_A_INTS ? (int)args[i].count : 0;
    return ints;
}

/* Saves an argument that is not a tensor for backward; a list of integers is copied to `ints`. */
static void arg_keep(struct eng_arg *out, const struct eng_arg *in, int64_t *ints)
{
    *out = *in;
    switch (in->kind) {
    case ENG_A_TENSOR:
        out->v.tensor = NULL;
        break;
    case ENG_A_TENSORS:
        out->v.tensors = NULL;
        break;
    case ENG_A_INTS:
        if (in->count)
            memcpy(ints, in->v.ints, sizeof(*ints) * in->count);
        out->v.ints = ints;
        break;
    case ENG_A_STR:
        out->v.str = eng_str_word(in->v.str);
        break;
    case ENG_A_FLOATS:
    case ENG_A_INDEX:
        vs_die("an op with a derivative takes an index or a list of numbers");
    case ENG_A_NONE:
    case ENG_A_SCALAR:
    case ENG_A_BOOL:
    case ENG_A_DTYPE:
    case ENG_A_DEVICE:
        break;
    }
}

/* Slots that rule i takes: a list of tensors takes one each. */
static int rule_slots(const struct eng_save_rule *rule, const struct eng_arg *args)
{
    return rule->source >= 0 && args[rule->source].kind == ENG_A_TENSORS
               ? (int)args[rule->source].count
               : 1;
}

static int count_slots(const struct eng_signature *sig, const struct eng_arg *args)
{
    int slots = 0;

    for (int i = 0; i < sig->save_count; i++)
        slots += rule_slots(&sig->saves[i], args);
    return slots;
}

static struct eng_node *call_node(struct eng *e, enum eng_op_id id, const struct eng_signature *sig,
                                  const struct eng_arg *args)
{
    struct eng_node *n =
        eng_node_new(e, ENG_NODE_OP, OPS[id].node,
                     (struct eng_node_counts){.edges = count_edges(args, sig->count),
                                              .saves = count_slots(sig, args),
                                              .args = sig->count,
                                              .ints = count_ints(args, sig->count)});
    int64_t *ints = n->ints;
    int edge = 0;

    n->op = id;
    for (int i = 0; i < sig->count; i++) {
        arg_keep(&n->args[i], &args[i], ints);
        ints += args[i].kind == ENG_A_INTS ? args[i].count : 0;
        n->arg_edge[i] = (uint8_t)edge;
        if (args[i].kind == ENG_A_TENSOR) {
            eng_edge_set(&n->edges[edge++], args[i].v.tensor);
        } else if (args[i].kind == ENG_A_TENSORS) {
            for (uint32_t k = 0; k < args[i].count; k++)
                eng_edge_set(&n->edges[edge++], args[i].v.tensors[k]);
        } else if (args[i].kind == ENG_A_NONE) {
            edge++;
        }
    }
    return n;
}

/* A number (as in mul by 2) has no edge and needs no gradient. */
static bool condition_holds(const struct eng_node *n, int arg)
{
    return arg < 0 ||
           (n->args[arg].kind == ENG_A_TENSOR && n->edges[n->arg_edge[arg]].node != NULL);
}

/*
 * Saves inputs before the kernel runs. In place, an input that will be overwritten is saved as a clone (or the result
 * is saved later instead).
 */
static void save_inputs(struct eng *e, struct eng_node *n, const struct eng_signature *sig,
                        const struct eng_arg *args, bool inplace)
{
    int slot = 0;

    for (int i = 0; i < sig->save_count && !e->failed;
         slot += rule_slots(&sig->saves[i], args), i++) {
        const struct eng_save_rule *rule = &sig->saves[i];
        struct eng_tensor *t;

        if (rule->source < 0 || rule->is_late || !condition_holds(n, rule->condition))
            continue;
        if (args[rule->source].kind == ENG_A_TENSORS) {
            for (uint32_t k = 0; k < args[rule->source].count; k++)
                eng_node_save_at(n, slot + (int)k, args[rule->source].v.tensors[k], false);
            continue;
        }
        t = args[rule->source].kind == ENG_A_TENSOR ? args[rule->source].v.tensor : NULL;
        if (!t || (inplace && rule->inplace_result))
            continue;
        if (inplace && rule->source == 0) {
            struct eng_tensor *copy;
            bool grad = eng_set_grad_enabled(e, false);

            copy = eng_clone(e, t);
            eng_set_grad_enabled(e, grad);
            eng_node_save_at(n, slot, copy, false);
            eng_unref(copy);
            continue;
        }
        eng_node_save_at(n, slot, t, false);
    }
}

static void save_results(struct eng *e, struct eng_node *n, const struct eng_signature *sig,
                         const struct eng_arg *args, const struct eng_ret *ret, bool inplace)
{
    int slot = 0;

    for (int i = 0; i < sig->save_count && !e->failed;
         slot += rule_slots(&sig->saves[i], args), i++) {
        const struct eng_save_rule *rule = &sig->saves[i];
        uint32_t k;

        if (!condition_holds(n, rule->condition))
            continue;
        if (rule->is_late)
            eng_node_save_at(n, slot, args[rule->source].v.tensor, false);
        if (rule->source < 0)
            k = (uint32_t)(-1 - rule->source);
        else if (inplace && rule->inplace_result)
            k = 0;
        else
            continue;
        if (k < ret->count && ret->tensors[k])
            eng_node_save_at(n, slot, ret->tensors[k], true);
    }
}

/*
 * The differentiable results: all of a list, otherwise the first; the others are indices and statistics, except in a
 * few ops.
 */
static uint32_t differentiable_results(const struct eng_node *n, const struct eng_ret *ret)
{
    if (ret->is_list)
        return ret->count;
    if (n->op == ENG_OP_cudnn_rnn)
        return 3;
    return n->op == ENG_OP_fused_lstm_cell ? 2 : 1;
}

static void set_histories(struct eng_node *n, const struct eng_ret *ret)
{
    uint32_t differentiable = differentiable_results(n, ret);

    n->output_count = (uint16_t)ret->count;
    for (uint32_t i = 0; i < differentiable && i < ret->count; i++) {
        struct eng_tensor *t = ret->tensors[i];

        if (t && vs_dtype_is_floating((enum vs_dtype)t->dtype))
            eng_set_history(t, n, (int)i);
    }
}

/*
 * A view keeps a reference to its base in every grad mode: an in-place op on the view must reach the base, and a
 * gradient that is a view does not own its memory alone, so it must not be accumulated into in place.
 */
static void set_bases(const struct eng *e, const struct eng_arg *self, const struct eng_ret *ret)
{
    struct eng_tensor *base = self->v.tensor->base ? self->v.tensor->base : self->v.tensor;
    enum eng_view_kind kind = !e->grad_enabled ? ENG_VIEW_NO_GRAD
                              : ret->is_list   ? ENG_VIEW_ONE_OF_SEVERAL
                                               : ENG_VIEW_PLAIN;

    for (uint32_t i = 0; i < ret->count; i++) {
        struct eng_tensor *t = ret->tensors[i];

        if (!t || t == self->v.tensor || t->storage != base->storage || t->base)
            continue;
        t->base = eng_ref(base);
        t->view_kind = (uint8_t)(kind == ENG_VIEW_PLAIN ? self->v.tensor->view_kind : kind);
    }
}

/* ---- in place ---- */

static void bump(const struct eng *e, struct eng_version *version)
{
    version->value++;
    version->writer = e->writer;
    version->op = e->op;
    version->func = e->func;
    version->line = e->line;
}

bool eng_inplace_allowed(struct eng *e, const char *what, const char *remedy,
                         const struct eng_tensor *t)
{
    static const char *const REFUSED[] = {
        [ENG_VIEW_ONE_OF_SEVERAL] = "is one of several views that split, chunk or unbind gave",
        [ENG_VIEW_NO_GRAD] = "is a view that was made under no_grad",
        [ENG_VIEW_CUSTOM] = "is an input that a custom function (of the net, of fully_shard or of "
                            "DTensor) returned unchanged",
    };

    if (t->view_kind == ENG_VIEW_CUSTOM || (t->base && t->view_kind != ENG_VIEW_PLAIN)) {
        eng_fail(e, VS_E_AUTOGRAD, "%s: what it writes to %s: autograd cannot follow that; %s",
                 what, REFUSED[t->view_kind], remedy);
        return false;
    }
    if (t->requires_grad && !t->grad_fn) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "%s: a leaf tensor that requires grad is being used in an in-place operation",
                 what);
        return false;
    }
    if (t->base && t->base->requires_grad && !t->base->grad_fn) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "%s: a view of a leaf tensor that requires grad is being used in an in-place "
                 "operation",
                 what);
        return false;
    }
    return true;
}

static bool inplace_allowed(struct eng *e, const struct eng_op *op, const struct eng_tensor *t,
                            bool differentiates)
{
    char what[64], remedy[128];

    if (!e->grad_enabled || !(differentiates || eng_requires_grad(t)))
        return true;
    if (!t->base && t->view_kind == ENG_VIEW_PLAIN && (!t->requires_grad || t->grad_fn))
        return true; /* the common case, in which no text is built */
    snprintf(what, sizeof(what), "%s_", op->name);
    snprintf(remedy, sizeof(remedy), "use %s without the underscore", op->name);
    return eng_inplace_allowed(e, what, remedy, t);
}

void eng_bump_version(struct eng_tensor *t)
{
    bump(t->storage->eng, t->version);
}

/* PyTorch counts dispatched calls: views count, detach and empty results do not. */
static void count_op(struct eng *e, enum eng_op_id id, const struct eng_ret *ret)
{
    if (!e->recompute_depth || e->backward_depth || id == ENG_OP_detach)
        return;
    if (ret->count == 1 && ret->tensors[0] && !ret->tensors[0]->storage->bytes)
        return;
    e->counters.recomputed_ops++;
    e->counters.recomputed_kernels += OPS[id].kind != ENG_VIEW;
}

/* ---- the call ---- */

static bool args_complete(struct eng *e, const struct eng_signature *sig,
                          const struct eng_arg *args)
{
    for (int i = 0; i < sig->count; i++) {
        if (sig->params[i].type == ENG_P_TENSOR &&
            (args[i].kind != ENG_A_TENSOR || !args[i].v.tensor)) {
            VS_ASSERT(e->failed); /* bindings check types; only a failure makes a NULL */
            return false;
        }
    }
    return true;
}

/* False, and failed, where an argument is an old name of a value that was overwritten (eng_overwritten). */
static bool reads_allowed(struct eng *e, const struct eng_op *op, const struct eng_arg *args,
                          int count)
{
    for (int i = 0; i < count; i++) {
        struct eng_tensor *const *tensors =
            args[i].kind == ENG_A_TENSOR ? &args[i].v.tensor : args[i].v.tensors;
        uint32_t n = args[i].kind == ENG_A_TENSOR    ? 1
                     : args[i].kind == ENG_A_TENSORS ? args[i].count
                                                     : 0;

        for (uint32_t k = 0; k < n; k++) {
            if (tensors[k] && tensors[k]->born < tensors[k]->storage->overwritten) {
                char why[VS_ERROR_TEXT_MAX];

                snprintf(why, sizeof(why), "the old value is read again by %s", op->name);
                if (eng_blame_read(e, tensors[k]->storage, why))
                    continue;
                eng_fail(e, VS_E_INPLACE, "%s", why);
                return false;
            }
        }
    }
    return true;
}

/* Collectives whose results the op uses have ended when it runs: eng_set_pending. */
static void wait_for_args(const struct eng_arg *args, int count)
{
    for (int i = 0; i < count; i++) {
        if (args[i].kind == ENG_A_TENSOR)
            eng_wait(args[i].v.tensor);
        for (uint32_t k = 0; args[i].kind == ENG_A_TENSORS && k < args[i].count; k++)
            eng_wait(args[i].v.tensors[k]);
    }
}

static void bump_versions(const struct eng *e, const struct eng_arg *written)
{
    if (written->kind == ENG_A_TENSOR)
        bump(e, written->v.tensor->version);
    for (uint32_t i = 0; written->kind == ENG_A_TENSORS && i < written->count; i++)
        bump(e, written->v.tensors[i]->version);
}

static struct eng_tensor *written_tensor(const struct eng_arg *args, bool inplace)
{
    return inplace && args[0].kind == ENG_A_TENSOR ? args[0].v.tensor : NULL;
}

/* Runs the kernel without recording history. */
static bool run_kernel(struct eng_op_call *c)
{
    struct eng *e = c->e;

    e->kernel_depth++;
    OPS[c->id].forward(c);
    e->kernel_depth--;
    if (e->failed) {
        eng_ret_release(c->ret);
        return false;
    }
    if (c->is_inplace)
        bump_versions(e, &c->a[0]);
    return true;
}

static bool run_leaf(struct eng *e, enum eng_op_id id, const struct eng_signature *sig,
                     const struct eng_arg *args, bool inplace, struct eng_ret *ret)
{
    const struct eng_op *op = &OPS[id];
    struct eng_op_call c = {.e = e,
                            .id = id,
                            .a = args,
                            .inplace = written_tensor(args, inplace),
                            .is_inplace = inplace,
                            .ret = ret};
    const uint64_t flops = eng_flops_of_call(id, args);
    const char *outer;
    struct eng_node *n = NULL;
    uint64_t done = 0;
    bool is_computed = true;
    bool ok;

    if (e->kernel_depth)
        return run_kernel(&c);
    outer = e->backward_depth ? e->op : eng_set_op(e, op->name);
    if (e->grad_enabled && op->backward && any_requires_grad(args, sig->count))
        n = call_node(e, id, sig, args);
    if (e->observer)
        eng_emit_op_begin(e, op->name, n ? n->id : 0, flops, args, sig->count, inplace);
    ok = eng_devices_allowed(e, id, sig, args, inplace) &&
         (e->backward_depth || reads_allowed(e, op, args, sig->count)) &&
         (!c.inplace || inplace_allowed(e, op, c.inplace, n != NULL));
    if (op->kind != ENG_VIEW)
        wait_for_args(args, sig->count);
    if (ok && n) {
        n->is_inplace = inplace;
        save_inputs(e, n, sig, args, inplace);
    }
    c.needs_grad = n != NULL;
    ok = ok && !e->failed &&
         (e->selective && !e->backward_depth
              ? eng_selective_run(&c, sig->count, run_kernel, &is_computed)
              : run_kernel(&c));
    if (ok &&
        is_computed) { /* also where recomputation for a checkpoint stops at saving the result */
        count_op(e, id, ret);
        eng_add_flops(e, flops);
        done = flops;
    }
    if (ok && n) {
        if (inplace)
            eng_inplace_history(args[0].v.tensor, n);
        else
            set_histories(n, ret);
        n->output_count = (uint16_t)ret->count;
        save_results(e, n, sig, args, ret, inplace);
        ok = !e->failed;
        if (!ok)
            eng_ret_release(ret);
    }
    if (ok && op->kind == ENG_VIEW && id != ENG_OP_unsafe_view)
        set_bases(e, &args[0], ret);
    eng_node_unref(n);
    if (e->observer)
        eng_emit_op_end(e, op->name, done);
    if (!e->backward_depth)
        eng_set_op(e, outer);
    return ok;
}

bool eng_op_run(struct eng *e, enum eng_op_id id, const struct eng_arg *args, bool inplace,
                struct eng_ret *ret)
{
    const struct eng_signature *sig = &e->signatures[id];

    if (OPS[id].kind == ENG_COMPOSITE) {
        struct eng_op_call c = {.e = e,
                                .id = id,
                                .a = args,
                                .inplace = written_tensor(args, inplace),
                                .is_inplace = inplace,
                                .ret = ret};

        OPS[id].forward(&c);
        if (!e->failed)
            return true;
        eng_ret_release(ret);
        return false;
    }
    return run_leaf(e, id, sig, args, inplace, ret);
}

static bool call(struct eng *e, enum eng_op_id id, const struct eng_arg *args, bool inplace,
                 struct eng_ret *ret)
{
    ret->count = 0;
    ret->is_list = false;
    ret->tensors = ret->few;
    if (e->failed || !args_complete(e, &e->signatures[id], args))
        return false;
    /* PyTorch's autocast lists contain no in-place ops: these run in the dtype of their arguments */
    if (e->autocast.enabled && !inplace && !e->kernel_depth && OPS[id].autocast != ENG_AC_NONE)
        return eng_autocast_call(e, id, args, ret);
    return eng_op_run(e, id, args, inplace, ret);
}

bool eng_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args, struct eng_ret *ret)
{
    return call(e, id, args, false, ret);
}

bool eng_call_inplace(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                      struct eng_ret *ret)
{
    return call(e, id, args, true, ret);
}

struct eng_tensor *eng_call1(struct eng *e, enum eng_op_id id, const struct eng_arg *args)
{
    struct eng_ret ret;

    if (!eng_call(e, id, args, &ret))
        return NULL;
    VS_ASSERT(ret.count == 1 && !ret.is_list);
    return ret.few[0];
}
