/*
 * export/rows.c - see rows.h.
 *
 * Must not know:  the output format.
 * Invariant:      base/event.h defines the fields of events; a value that a kind of event does not have is EXP_NONE.
 */
#include "export/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "replay/index/lifetimes.h"

/* clang-format off */
#define EVENT_COLUMNS(X) \
    X(SEQ, "seq") X(TIME, "time_ns") X(DEVICE, "device") X(STEP, "step") X(KIND, "kind") X(PHASE, "phase") \
    X(MODULE, "module") X(FUNC, "func") X(LINE, "line") X(OP, "op") X(BLOCK, "block") X(TENSOR, "tensor") \
    X(SIZE, "size") X(BLOCK_SIZE, "block_size") X(STREAM, "stream") X(ADDRESS, "address") X(CATEGORY, "category") \
    X(POOL, "pool") X(NODE, "node") X(FLOPS, "flops") X(ROLE, "role") X(NAME, "name") X(SCOPE, "scope") \
    X(HOLDER, "holder") X(FROM_BLOCK, "from_block") X(FROM_DTYPE, "from_dtype") X(TO_DTYPE, "to_dtype") \
    X(SCALE, "scale") X(OLD_SCALE, "old_scale") X(DEVICE_FREE, "device_free")
#define BLOCK_COLUMNS(X) \
    X(ID, "id") X(ALLOC_SEQ, "alloc_seq") X(FREE_SEQ, "free_seq") X(SIZE, "size") X(BLOCK_SIZE, "block_size") \
    X(ADDRESS, "address") X(CATEGORY, "category") X(TENSOR, "tensor") X(STEP, "step") X(PHASE, "phase") \
    X(MODULE, "module") X(FUNC, "func") X(LINE, "line") X(OP, "op") X(LAST_USE_SEQ, "last_use_seq") \
    X(NAME, "name") X(DTYPE, "dtype") X(SHAPE, "shape")
/* clang-format on */

#define EVENT_ID(id, name) EV_##id,
#define BLOCK_ID(id, name) BL_##id,
#define COLUMN_NAME(id, name) name,
enum event_column { EVENT_COLUMNS(EVENT_ID) EV_COUNT };
enum block_column { BLOCK_COLUMNS(BLOCK_ID) BL_COUNT };
static const char *const EVENT_NAMES[EV_COUNT] = {EVENT_COLUMNS(COLUMN_NAME)};
static const char *const BLOCK_NAMES[BL_COUNT] = {BLOCK_COLUMNS(COLUMN_NAME)};

/* Values of the current row. dims: text of a shape. */
struct making {
    struct rpl_trace *trace;
    struct exp_value values[(int)EV_COUNT > (int)BL_COUNT ? (int)EV_COUNT : (int)BL_COUNT];
    int64_t step;
    uint64_t device;
    char dims[VS_MAX_DIMS * 21 + 3];
};

const char *const *exp_columns(enum exp_table table, size_t *count)
{
    *count = table == EXP_TABLE_EVENTS ? EV_COUNT : BL_COUNT;
    return table == EXP_TABLE_EVENTS ? EVENT_NAMES : BLOCK_NAMES;
}

static struct exp_value uint_value(uint64_t number)
{
    return (struct exp_value){.kind = EXP_UINT, .number = number};
}

static struct exp_value uint_or_none(uint64_t number)
{
    return number ? uint_value(number) : (struct exp_value){.kind = EXP_NONE};
}

static struct exp_value text_value(const char *text)
{
    return (struct exp_value){.kind = text ? EXP_TEXT : EXP_NONE, .text = text};
}

/* String `id`, which may be one that the trace does not have. */
static struct exp_value string_value(const struct making *m, uint64_t id)
{
    return id && id <= rpl_trace_string_count(m->trace)
               ? text_value(rpl_trace_string(m->trace, (uint32_t)id))
               : text_value(NULL);
}

static struct exp_value category_value(uint64_t category)
{
    return text_value(category < VS_CATEGORY_COUNT ? vs_category_name((enum vs_category)category)
                                                   : NULL);
}

static struct exp_value phase_value(uint64_t phase)
{
    return text_value(phase < VS_PHASE_COUNT ? vs_phase_name((enum vs_phase)phase) : NULL);
}

static struct exp_value dtype_value(uint64_t dtype)
{
    return text_value(dtype < VS_DTYPE_COUNT ? vs_dtype_name((enum vs_dtype)dtype) : NULL);
}

/* Columns that both tables have, from `first` on: phase, module, func, line, op. */
static void location_fill(const struct making *m, uint32_t id, struct exp_value *first)
{
    const struct vs_location *location = rpl_trace_location(m->trace, id);

    if (!id || id > rpl_trace_location_count(m->trace))
        return;
    first[0] = phase_value(location->phase);
    first[1] = string_value(m, location->module);
    first[2] = string_value(m, location->func);
    first[3] = uint_or_none(location->line);
    first[4] = string_value(m, location->op);
}

/* ---- events ---- */

static const char *role_name(const char *const *names, size_t count, unsigned role)
{
    return role < count ? names[role] : NULL;
}

static void op_fill(struct making *m, const struct vs_event *event)
{
    static const char *const ROLES[] = {"forward", "backward", "recompute"};
    struct exp_value *v = m->values;

    v[EV_OP] = string_value(m, event->op.name);
    v[EV_NODE] = uint_or_none(event->op.node);
    v[EV_FLOPS] = uint_value(event->op.flops);
    v[EV_ROLE] = text_value(role_name(ROLES, 3, event->op.role));
}

static void save_fill(struct making *m, const struct vs_event *event)
{
    static const char *const ROLES[] = {"node", "checkpoint"};
    struct exp_value *v = m->values;

    v[EV_BLOCK] = uint_value(event->save.block);
    v[EV_TENSOR] = uint_value(event->save.tensor);
    v[EV_NODE] = uint_value(event->save.node);
    v[EV_ROLE] = text_value(role_name(ROLES, 2, event->save.is_checkpoint_input));
}

static void hold_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    v[EV_BLOCK] = uint_value(event->hold.block);
    v[EV_TENSOR] = uint_value(event->hold.tensor);
    v[EV_NAME] = string_value(m, event->hold.name);
    v[EV_SCOPE] = string_value(m, event->hold.scope);
    if (event->hold.holder < VS_HOLDER_COUNT)
        v[EV_HOLDER] = text_value(vs_holder_name((enum vs_holder)event->hold.holder));
}

static void block_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    v[EV_BLOCK] = uint_value(event->alloc.block);
    v[EV_SIZE] = uint_value(event->alloc.requested_bytes);
    v[EV_BLOCK_SIZE] = uint_value(event->alloc.block_bytes);
    v[EV_ADDRESS] = uint_value(event->alloc.address);
    if (event->kind != VS_EV_ALLOC)
        return;
    v[EV_TENSOR] = uint_or_none(event->alloc.tensor);
    v[EV_CATEGORY] = category_value(event->alloc.category);
}

static void cast_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    v[EV_BLOCK] = uint_value(event->cast.block);
    v[EV_FROM_BLOCK] = uint_value(event->cast.from_block);
    v[EV_FROM_DTYPE] = dtype_value(event->cast.from_dtype);
    v[EV_TO_DTYPE] = dtype_value(event->cast.to_dtype);
}

static void segment_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    v[EV_STREAM] = uint_value(event->segment.stream);
    v[EV_SIZE] = uint_value(event->segment.bytes);
    v[EV_ADDRESS] = uint_value(event->segment.address);
    if (event->segment.size_pool == VS_SEGMENT_SMALL)
        v[EV_POOL] = text_value("small");
    else if (event->segment.size_pool == VS_SEGMENT_LARGE)
        v[EV_POOL] = text_value("large");
}

static void oom_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    v[EV_STREAM] = uint_value(event->oom.stream);
    v[EV_SIZE] = uint_value(event->oom.requested_bytes);
    v[EV_BLOCK_SIZE] = uint_value(event->oom.segment_bytes);
    v[EV_DEVICE_FREE] = uint_value(event->oom.device_free_bytes);
}

static void kind_fill(struct making *m, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
    case VS_EV_FREE:
    case VS_EV_FREE_COMPLETED:
        block_fill(m, event);
        break;
    case VS_EV_ANY_SEGMENT:
        segment_fill(m, event);
        break;
    case VS_EV_OOM:
        oom_fill(m, event);
        break;
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
        save_fill(m, event);
        break;
    case VS_EV_HOLD:
    case VS_EV_DROP:
        hold_fill(m, event);
        break;
    case VS_EV_CATEGORY:
        v[EV_BLOCK] = uint_value(event->category.block);
        v[EV_CATEGORY] = category_value(event->category.category);
        break;
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
        op_fill(m, event);
        break;
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
        v[EV_NAME] = string_value(m, event->recompute.name);
        break;
    case VS_EV_PHASE:
        v[EV_PHASE] = phase_value(event->phase.phase);
        break;
    case VS_EV_CAST:
        cast_fill(m, event);
        break;
    case VS_EV_SCALE:
        v[EV_SCALE] = uint_value(event->scale.scale);
        v[EV_OLD_SCALE] = uint_value(event->scale.old_scale);
        break;
    case VS_EV_USE:
        v[EV_BLOCK] = uint_value(event->use.block);
        v[EV_TENSOR] = uint_value(event->use.tensor);
        v[EV_OP] = string_value(m, event->use.op);
        break;
    case VS_EV_STEP:
    case VS_EV_SKIP_STEP:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

static void event_fill(struct making *m, uint64_t seq, const struct vs_event *event)
{
    struct exp_value *v = m->values;

    memset(v, 0, EV_COUNT * sizeof(*v));
    v[EV_SEQ] = uint_value(seq);
    v[EV_TIME] = uint_value(event->time_ns);
    v[EV_DEVICE] = uint_value(m->device);
    v[EV_STEP] = (struct exp_value){.kind = EXP_INT, .integer = m->step};
    if (event->kind < VS_EVENT_KIND_COUNT)
        v[EV_KIND] = text_value(vs_event_kind_name((enum vs_event_kind)event->kind));
    location_fill(m, event->location, &v[EV_PHASE]);
    kind_fill(m, event);
}

/* ---- blocks ---- */

static void tensor_fill(struct making *m, uint32_t id)
{
    struct vs_tensor_desc desc;
    size_t at = 1;

    if (!rpl_trace_tensor(m->trace, id, &desc))
        return;
    m->dims[0] = '[';
    for (unsigned i = 0; i < desc.ndim && i < VS_MAX_DIMS; i++)
        at += (size_t)snprintf(m->dims + at, sizeof(m->dims) - at, "%s%" PRId64, i ? "," : "",
                               desc.sizes[i]);
    m->dims[at] = ']';
    m->dims[at + 1] = '\0';
    m->values[BL_DTYPE] = dtype_value(desc.dtype);
    m->values[BL_SHAPE] = (struct exp_value){.kind = EXP_DIMS, .text = m->dims};
}

static enum vs_status life_fill(struct making *m, struct rpl_index *index, uint64_t seq,
                                const struct vs_event *event, struct vs_error *err)
{
    struct exp_value *v = m->values;
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(index, event->alloc.block, &life, err);

    if (st)
        return st;
    memset(v, 0, BL_COUNT * sizeof(*v));
    v[BL_ID] = uint_value(event->alloc.block);
    v[BL_ALLOC_SEQ] = uint_value(seq);
    v[BL_FREE_SEQ] = uint_or_none(life.free_seq);
    v[BL_SIZE] = uint_value(event->alloc.requested_bytes);
    v[BL_BLOCK_SIZE] = uint_value(event->alloc.block_bytes);
    v[BL_ADDRESS] = uint_value(event->alloc.address);
    v[BL_CATEGORY] = category_value(event->alloc.category);
    v[BL_TENSOR] = uint_or_none(event->alloc.tensor);
    v[BL_STEP] = (struct exp_value){.kind = EXP_INT, .integer = m->step};
    location_fill(m, event->location, &v[BL_PHASE]);
    v[BL_LAST_USE_SEQ] = uint_or_none(life.last_use_seq);
    v[BL_NAME] = string_value(m, life.name);
    if (event->alloc.tensor)
        tensor_fill(m, event->alloc.tensor);
    return VS_OK;
}

/* ---- the whole ---- */

enum vs_status exp_rows(struct rpl_index *index, enum exp_table table, const struct exp_out *out,
                        exp_row_fn *row, void *user, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct making *m = vs_calloc(1, sizeof(*m));
    uint64_t count = rpl_index_event_count(index);
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    m->trace = rpl_index_trace(index);
    m->step = -1;
    if (rpl_trace_device_count(m->trace))
        m->device = rpl_trace_device(m->trace, rpl_trace_device_now(m->trace));
    scan->status = VS_OK;
    if (count)
        rpl_scan_init(scan, m->trace, 1, count);
    while (count && !st && !exp_out_is_failed(out) && (event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_STEP)
            m->step = vs_event_step(event);
        if (table == EXP_TABLE_EVENTS)
            event_fill(m, scan->seq, event);
        else if (event->kind == VS_EV_ALLOC)
            st = life_fill(m, index, scan->seq, event, err);
        else
            continue;
        if (!st)
            row(user, m->values);
    }
    if (!st)
        st = scan->status;
    vs_free(m);
    vs_free(scan);
    return st;
}
