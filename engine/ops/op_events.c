/*
 * engine/ops/op_events.c - see op_events.h.
 *
 * Must not know:  what any single op computes.
 * Invariant:      the fields are functions of the call: equal calls of two steps emit equal events but for their ids.
 */
#include "engine/ops/op_events.h"

#include "engine/core/engine_internal.h"

static void emit_use_by(struct eng *e, struct eng_tensor *t, uint32_t op)
{
    struct vs_event ev = {0};

    if (!t || !t->storage->block)
        return;
    ev.kind = VS_EV_USE;
    ev.use.block = t->storage->block_id;
    ev.use.tensor = t->id ? t->id : eng_tensor_id(e, t);
    ev.use.op = op;
    eng_emit(e, &ev);
}

void eng_emit_use(struct eng *e, struct eng_tensor *t)
{
    if (e->observer)
        emit_use_by(e, t, eng_string_id(e, e->op));
}

static void emit_op(struct eng *e, struct vs_event *ev, const char *name)
{
    ev->op.name = eng_string_id(e, name);
    ev->op.role = e->backward_depth    ? VS_OP_BACKWARD
                  : e->recompute_depth ? VS_OP_RECOMPUTE
                                       : VS_OP_FORWARD;
    eng_emit(e, ev);
}

static void emit_uses(struct eng *e, const struct eng_arg *args, int count)
{
    uint32_t op = eng_string_id(e, e->op);

    for (int i = 0; i < count; i++) {
        if (args[i].kind == ENG_A_TENSOR)
            emit_use_by(e, args[i].v.tensor, op);
        else if (args[i].kind == ENG_A_TENSORS)
            for (uint32_t k = 0; k < args[i].count; k++)
                emit_use_by(e, args[i].v.tensors[k], op);
    }
}

/* Bytes of the tensors that an op in place overwrites. */
static uint64_t overwritten_bytes(const struct eng_arg *written)
{
    uint64_t bytes = 0;

    if (written->kind == ENG_A_TENSOR)
        return written->v.tensor ? eng_nbytes(written->v.tensor) : 0;
    for (uint32_t i = 0; written->kind == ENG_A_TENSORS && i < written->count; i++)
        bytes += eng_nbytes(written->v.tensors[i]);
    return bytes;
}

void eng_emit_op_begin(struct eng *e, const char *name, uint64_t node_id, uint64_t flops,
                       const struct eng_arg *args, int count, bool inplace)
{
    struct vs_event ev = {.kind = VS_EV_OP_BEGIN};

    ev.op.node = node_id;
    ev.op.flops = flops;
    ev.op.overwritten_bytes = inplace ? overwritten_bytes(&args[0]) : 0;
    emit_op(e, &ev, name);
    emit_uses(e, args, count);
}

void eng_emit_op_end(struct eng *e, const char *name, uint64_t flops)
{
    struct vs_event ev = {.kind = VS_EV_OP_END};

    ev.op.flops = flops;
    emit_op(e, &ev, name);
}
