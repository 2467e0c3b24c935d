/*
 * base/event.h - the words that the engine, the tracer, the store and the replay share: event kinds, categories, phases,
 * kinds of holders, and the one record all events travel in.
 *
 * For:            engine/core/observer.h publishes it, tracer/ carries it, store/ keeps it, replay/ reads it.
 * Must not know:  how it is made or stored.
 * Invariant:      numbers are those of a trace, so the .def tables only grow at the end.
 */
#ifndef VS_BASE_EVENT_H
#define VS_BASE_EVENT_H

#include <stdint.h>

enum vs_event_kind {
/* clang-format off */
#define VS_EVENT(id, name, text) id,
#include "base/event.def"
#undef VS_EVENT
    /* clang-format on */
    VS_EVENT_KIND_COUNT
};

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

/*
 * One event. Which fields mean something depends on the kind; the others are 0.
 *
 * kind      enum vs_event_kind
 * place     id of where the program was (see struct vs_place); 0: nowhere (before the net ran)
 *
 * kind             a                    b                  c                    d
 * alloc            block id             requested bytes    block bytes          address; aux: category; e: tensor id (0: workspace)
 * free             block id             requested bytes    block bytes          address; e: 1 where it waits for a stream
 * free_completed   block id             requested bytes    block bytes          address
 * segment_*        stream               bytes              private pool         address; aux: 1 small pool, 2 large pool
 * oom              stream               requested bytes    segment bytes        device free bytes
 * save / unsave    block id             tensor id          node id              aux: 0 for a node, 1 as a checkpoint's input
 * hold / drop      block id             tensor id          name: string id      scope: string id; aux: enum vs_holder
 * category         block id             -                  -                    aux: the new enum vs_category
 * op_begin / end   op: string id        node id or 0       flops                aux: 0 forward, 1 backward node, 2 inside recompute
 * recompute_*      name: string id      -                  -                    -
 * phase            enum vs_phase        -                  -                    -
 * step             step number + 1      -                  -                    (0: setup)
 * cast             block id (new)       block id (old)     from dtype           to dtype
 * scale            new scale (integer)  old scale          -                    -
 * skip_step        -
 * use              block id             tensor id          op: string id        -
 *
 * A block is freed when that is asked for. Where another stream used it, free_completed follows when it may be handed out again. A stream is 0 but in what PyTorch recorded, and so is a private pool: VS_POOL(graph, user) of its two numbers.
 *
 * A block id is unique in a trace (1, 2, 3, … in order of allocation); an address is reused. Tensor ids likewise; a tensor's
 * shape, strides, dtype and name go once through the observer's `tensor` call when it is first mentioned.
 */
struct vs_event {
    uint64_t time_ns; /* since the recording started; monotonic clock */
    uint64_t a;
    uint64_t b;
    uint64_t c;
    uint64_t d;
    uint32_t e;
    uint32_t place;
    uint8_t kind;
    uint8_t aux;
    uint8_t pad[6];
};

/*
 * Where the program was: one row of the trace's place table, interned, so equal places have equal ids.
 * Strings are ids from the observer's string table; 0 is "none".
 *
 * phase   enum vs_phase
 * module  dotted path from the model ("layer1.0.conv1"; "" is the model itself)
 * func    qualified name of the innermost function of the net file ("Net.forward")
 * line    line in the net file, from 1; 0 before the net ran
 * op      innermost op or backward node running ("conv2d", "ConvolutionBackward0"); 0 between ops
 */
struct vs_place {
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
 * A tensor as the trace knows it.
 *
 * id       from 1, unique in a trace
 * block    block id of its storage (see vs_event); 0 for a tensor on the host
 * name     string id: parameter or buffer name where it has one, else 0
 * sizes, strides in elements, offset_elems from the storage's start
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
