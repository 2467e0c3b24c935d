/*
 * base/event.h - events: the record that the engine emits, the recorder carries, the store keeps and the replay
 * reads, with the enumerations used in it.
 *
 * For:            engine/core/observer.h, tracer/, store/, replay/.
 * Must not know:  how events are emitted or stored.
 * Invariant:      numbers of enumerators are stored in traces, so rows are added at the end of the .def tables only.
 */
#ifndef VS_BASE_EVENT_H
#define VS_BASE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vs_event_kind {
/* clang-format off */
#define VS_EVENT(id, name, text) id,
#include "base/event.def"
#undef VS_EVENT
    /* clang-format on */
    VS_EVENT_KIND_COUNT
};

/*
 * Groups of kinds, written as `case VS_EV_ANY_OP:` in a switch that treats them alike (mostly by doing nothing).
 * There is no group for "all others": a switch over enum vs_event_kind lists every kind, so that the compiler reports
 * a missing one.
 */
/* clang-format off */
#define VS_EV_ANY_SEGMENT                                                                          \
    VS_EV_SEGMENT_ALLOC: case VS_EV_SEGMENT_FREE: case VS_EV_SEGMENT_MAP: case VS_EV_SEGMENT_UNMAP
#define VS_EV_ANY_HOLDER VS_EV_SAVE: case VS_EV_UNSAVE: case VS_EV_HOLD: case VS_EV_DROP
#define VS_EV_ANY_OP                                                                               \
    VS_EV_OP_BEGIN: case VS_EV_OP_END: case VS_EV_RECOMPUTE_BEGIN: case VS_EV_RECOMPUTE_END
#define VS_EV_ANY_AMP VS_EV_CAST: case VS_EV_SCALE: case VS_EV_SKIP_STEP
/* Every kind that the program causes; the remaining kinds come from the allocator. */
#define VS_EV_ANY_OF_PROGRAM                                                                       \
    VS_EV_ANY_HOLDER: case VS_EV_ANY_OP: case VS_EV_ANY_AMP: case VS_EV_USE: case VS_EV_CATEGORY:  \
    case VS_EV_PHASE: case VS_EV_STEP
/* clang-format on */

enum vs_category {
/* clang-format off */
#define VS_CATEGORY(id, name, text) id,
#include "base/category.def"
#undef VS_CATEGORY
    /* clang-format on */
    VS_CATEGORY_COUNT
};

enum vs_phase {
/* clang-format off */
#define VS_PHASE(id, name) id,
#include "base/phase.def"
#undef VS_PHASE
    /* clang-format on */
    VS_PHASE_COUNT
};

enum vs_holder {
/* clang-format off */
#define VS_HOLDER(id, name, text) id,
#include "base/holder.def"
#undef VS_HOLDER
    /* clang-format on */
    VS_HOLDER_COUNT
};

const char *vs_event_kind_name(enum vs_event_kind kind);
const char *vs_event_kind_text(enum vs_event_kind kind);
const char *vs_category_name(enum vs_category category);
const char *vs_category_text(enum vs_category category);
const char *vs_phase_name(enum vs_phase phase);
const char *vs_holder_name(enum vs_holder holder);
const char *vs_holder_text(enum vs_holder holder);

/* Why an op ran. */
enum vs_op_role {
    VS_OP_FORWARD = 0,
    VS_OP_BACKWARD = 1,  /* a node of the autograd graph */
    VS_OP_RECOMPUTE = 2, /* forward that is run again inside a checkpoint's backward */
};

/* Which of the caching allocator's two pools a segment belongs to; 0 if unknown. */
enum vs_segment_pool {
    VS_SEGMENT_SMALL = 1,
    VS_SEGMENT_LARGE = 2,
};

/*
 * The six fields of an event under the names that one kind gives them. Each struct has all six, so that a trace can
 * keep events of every kind in the same columns, and so that initialising one struct initialises every byte of the
 * union.
 */
#define VS_EVENT_FIELDS(a, b, c, d, e, aux)                                                        \
    struct {                                                                                       \
        uint64_t a;                                                                                \
        uint64_t b;                                                                                \
        uint64_t c;                                                                                \
        uint64_t d;                                                                                \
        uint32_t e;                                                                                \
        uint8_t aux;                                                                               \
        uint8_t padding[3];                                                                        \
    }

/*
 * One event. `kind` selects the struct of the union that names its fields; fields called unused are 0. The first four
 * fields of `alloc` and `free` are the same, so code about both may read them through `alloc`.
 *
 * Block ids are unique within a trace (1, 2, 3, ... in order of allocation), and so are tensor ids; addresses are
 * reused. A tensor's shape, strides, dtype and name are published once, through the observer's `tensor` call, before
 * an event first mentions it. Names, scopes and ops are ids from the observer's string table; 0 means "none". Stream
 * and private pool are always 0 in our own recordings; in imported ones the pool is VS_POOL(graph, user), made of
 * PyTorch's two numbers.
 */
struct vs_event {
    uint64_t time_ns; /* since the recording began, from a monotonic clock */
    /* clang-format off */
    uint32_t location;   /* id of a struct vs_location; 0 before the net's first line */
    uint8_t kind;     /* enum vs_event_kind */
    uint8_t unused[3];
    union {
        /* alloc. tensor: id, or 0 for a workspace; category: enum vs_category at the allocation */
        VS_EVENT_FIELDS(block, requested_bytes, block_bytes, address, tensor, category) alloc;
        /*
         * free, free_completed. A `free` is recorded when the free is requested. waits_for_stream: 1 if another
         * stream has used the block; the block may then be allocated again only after free_completed. In
         * free_completed it is 0.
         */
        VS_EVENT_FIELDS(block, requested_bytes, block_bytes, address, waits_for_stream, unused_aux) free;
        /* segment_alloc, segment_free, segment_map, segment_unmap. size_pool: enum vs_segment_pool */
        VS_EVENT_FIELDS(stream, bytes, private_pool, address, unused_e, size_pool) segment;
        /*
         * oom. segment_bytes: size requested from the driver; device_free_bytes: free memory the driver reported
         */
        VS_EVENT_FIELDS(stream, requested_bytes, segment_bytes, device_free_bytes, unused_e, unused_aux) oom;
        /*
         * save, unsave. node: id of the backward node; is_checkpoint_input: 1 if a checkpoint keeps the tensor, not a
         * node
         */
        VS_EVENT_FIELDS(block, tensor, node, unused_d, unused_e, is_checkpoint_input) save;
        /* hold, drop. holder: enum vs_holder */
        VS_EVENT_FIELDS(block, tensor, name, scope, unused_e, holder) hold;
        /* category. category: enum vs_category, the new one */
        VS_EVENT_FIELDS(block, unused_b, unused_c, unused_d, unused_e, category) category;
        /*
         * op_begin, op_end. node: id of the backward node or 0; flops: floating-point operations of this op without
         * those of ops inside it: in op_begin to be done, in op_end done (0 if the op failed); overwritten_bytes: in
         * op_begin, of the tensors that the op overwrites in place; role: enum vs_op_role
         */
        VS_EVENT_FIELDS(name, node, flops, overwritten_bytes, unused_e, role) op;
        /* recompute_begin, recompute_end. name: of the function */
        VS_EVENT_FIELDS(name, unused_b, unused_c, unused_d, unused_e, unused_aux) recompute;
        /* phase. phase: enum vs_phase */
        VS_EVENT_FIELDS(phase, unused_b, unused_c, unused_d, unused_e, unused_aux) phase;
        /* step. number_plus_one: 0 for the set-up; see vs_event_step */
        VS_EVENT_FIELDS(number_plus_one, unused_b, unused_c, unused_d, unused_e, unused_aux) step;
        /* cast. block: the copy; from_block: the original; from_dtype, to_dtype: enum vs_dtype */
        VS_EVENT_FIELDS(block, from_block, from_dtype, to_dtype, unused_e, unused_aux) cast;
        /* scale. scale, old_scale: rounded to an integer */
        VS_EVENT_FIELDS(scale, old_scale, unused_c, unused_d, unused_e, unused_aux) scale;
        /* skip_step. call: which of the step's calls of GradScaler.step was skipped, from 0 */
        VS_EVENT_FIELDS(call, unused_b, unused_c, unused_d, unused_e, unused_aux) skip_step;
        /* use. op: name of the op that read the tensor */
        VS_EVENT_FIELDS(block, tensor, op, unused_d, unused_e, unused_aux) use;
        /*
         * The fields without a name, for code that carries, packs or compares events of all kinds alike
         */
        VS_EVENT_FIELDS(a, b, c, d, e, aux) raw;
    };
    /* clang-format on */
};

/* Number of the step that a step event begins: from 0; -1 for the set-up. Of a damaged trace, any number. */
static inline int64_t vs_event_step(const struct vs_event *event)
{
    return (int64_t)(event->step.number_plus_one - 1);
}

/* Whether an event is about one block: then the struct of its kind begins with `block`. */
static inline bool vs_event_has_block(const struct vs_event *event)
{
    const uint32_t kinds = UINT32_C(1) << VS_EV_ALLOC | UINT32_C(1) << VS_EV_FREE |
                           UINT32_C(1) << VS_EV_FREE_COMPLETED | UINT32_C(1) << VS_EV_SAVE |
                           UINT32_C(1) << VS_EV_UNSAVE | UINT32_C(1) << VS_EV_HOLD |
                           UINT32_C(1) << VS_EV_DROP | UINT32_C(1) << VS_EV_CATEGORY |
                           UINT32_C(1) << VS_EV_CAST | UINT32_C(1) << VS_EV_USE;

    return event->kind < VS_EVENT_KIND_COUNT && (kinds >> event->kind & 1u);
}

/* Id of the block that an event is about (for a cast: the copy); 0 if it is about none. */
static inline uint64_t vs_event_block(const struct vs_event *event)
{
    return vs_event_has_block(event) ? event->raw.a : 0;
}

/* Changes the block of an event that is about one (vs_event_has_block). */
static inline void vs_event_block_set(struct vs_event *event, uint64_t block)
{
    event->raw.a = block;
}

/* Of a save, hold, use and their ends, where the id of the tensor is, which may be 0; NULL of other kinds. */
static inline uint64_t *vs_event_tensor(struct vs_event *event)
{
    const uint32_t kinds = UINT32_C(1) << VS_EV_SAVE | UINT32_C(1) << VS_EV_UNSAVE |
                           UINT32_C(1) << VS_EV_HOLD | UINT32_C(1) << VS_EV_DROP |
                           UINT32_C(1) << VS_EV_USE;

    return event->kind < VS_EVENT_KIND_COUNT && kinds >> event->kind & 1u ? &event->raw.b : NULL;
}

/* Where an event has ids of strings, which may be 0; returns how many. */
#define VS_EVENT_STRINGS_MAX 2
size_t vs_event_strings(struct vs_event *event, uint64_t *out[VS_EVENT_STRINGS_MAX]);

/*
 * A source location: one row of the trace's table `place`, interned, so equal locations have equal ids. Strings are
 * ids from the observer's string table; 0 means "none".
 *
 * phase   enum vs_phase
 * module  dotted path from the model ("layer1.0.conv1"; "" is the model itself)
 * func    qualified name of the innermost function of the net file ("Net.forward")
 * line    line in the net file, from 1; 0 before the net ran
 * op      innermost op or backward node that is running ("conv2d", "ConvolutionBackward0"); 0 between ops
 */
struct vs_location {
    uint32_t phase;
    uint32_t module;
    uint32_t func;
    uint32_t line;
    uint32_t op;
};

#define VS_POOL(graph, user) ((graph) << 32 | (user))
#define VS_POOL_GRAPH(pool) ((pool) >> 32)
#define VS_POOL_USER(pool) ((pool)&UINT32_MAX)

#define VS_MAX_DIMS 8

/*
 * The description of a tensor in a trace.
 *
 * id       from 1, unique within a trace
 * block    block id of its storage (see vs_event); 0 for a tensor on the host
 * name     string id of the parameter or buffer name; 0 if it has none
 * sizes, strides in elements, offset_elems from the beginning of the storage
 */
struct vs_tensor_desc {
    uint64_t block;
    uint32_t id;
    uint32_t name;
    uint8_t dtype; /* enum vs_dtype */
    uint8_t ndim;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
    uint64_t offset_elems;
};

#endif
