/*
 * tests/replay/random_trace.c - see random_trace.h.
 */
#include "tests/replay/random_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/mem.h"
#include "replay/trace/trace_internal.h"
#include "store/writer.h"

#define MAX_LIVE 60
#define MAX_HELD 80
#define MAX_OPS 4

static const char *const MODULES[] = {"",         "layer1",       "layer1.0",     "layer1.0.conv",
                                      "layer1.1", "layer1.1.act", "layer10",      "layer10.0",
                                      "head",     "head.fc",      "layer1.0.act", NULL};
static const char *const FUNCS[] = {"Net.forward", "Block.forward", "train_step", NULL};
static const char *const OPS[] = {"linear", "relu", "conv2d", "softmax", "add", NULL};
static const char *const NODES[] = {"AddmmBackward0", "ReluBackward0", "SoftmaxBackward0", NULL};
static const char *const NAMES[] = {"x", "y", "out", "loss", "weight", NULL};

struct block {
    uint64_t id;
    uint64_t bytes;
    uint64_t requested;
    uint64_t address;
    uint32_t tensor;
};

/*
 * held     holds and saves that are open
 * ops      ops that run, and re-runs (0)
 * next     a fresh address
 */
struct gen {
    struct rpl_trace *trace;
    uint32_t random;
    struct block live[MAX_LIVE];
    size_t live_count;
    struct vs_event held[MAX_HELD];
    size_t held_count;
    uint32_t ops[MAX_OPS];
    size_t op_count;
    uint64_t blocks;
    uint32_t tensors;
    uint64_t nodes;
    uint64_t next;
    uint64_t segments[8];
    uint64_t segment_bytes[8];
    size_t segment_count;
    int64_t step;
    enum vs_phase phase;
    size_t module;
    uint32_t line;
};

static uint32_t below(struct gen *g, uint32_t n)
{
    g->random = g->random * 1664525 + 1013904223;
    return (g->random >> 8) % n;
}

static const char *pick(struct gen *g, const char *const *words)
{
    uint32_t n = 0;

    while (words[n])
        n++;
    return words[below(g, n)];
}

static uint32_t word(struct gen *g, const char *const *words)
{
    return rpl_trace_add_string(g->trace, pick(g, words));
}

static void emit(struct gen *g, struct vs_event event)
{
    struct vs_location location = {.phase = g->phase};
    uint64_t n = rpl_trace_event_count(g->trace);

    if (below(g, 6) == 0)
        g->line = below(g, 40);
    if (below(g, 9) == 0)
        g->module = below(g, 14);
    if (g->module < 11)
        location.module = rpl_trace_add_string(g->trace, MODULES[g->module]);
    location.line = g->line;
    if (g->line) {
        const char *func = FUNCS[g->line % 3];

        location.func = rpl_trace_add_string(g->trace, func);
    }
    if (g->op_count && g->ops[g->op_count - 1])
        location.op = g->ops[g->op_count - 1];
    event.location = rpl_trace_add_location(g->trace, &location);
    event.time_ns = n * 100 + below(g, 50) + (n / 500) * 40000;
    rpl_trace_add_event(g->trace, &event);
}

static void alloc(struct gen *g)
{
    struct block *b = &g->live[g->live_count++];
    struct vs_tensor_desc desc = {.dtype = VS_F32, .ndim = 1, .strides = {1}};

    b->id = ++g->blocks;
    b->requested = 1 + below(g, below(g, 4) ? 3000 : 900000);
    b->bytes = (b->requested + 511) / 512 * 512;
    b->address = g->next += 1 << 20;
    desc.id = b->tensor = ++g->tensors;
    desc.block = b->id;
    desc.sizes[0] = (int64_t)(b->requested / 4);
    if (below(g, 8) == 0) {
        char name[64];

        snprintf(name, sizeof(name), "%s.weight", MODULES[1 + below(g, 10)]);
        desc.name = rpl_trace_add_string(g->trace, name);
    }
    rpl_trace_add_tensor(g->trace, &desc);
    emit(g, (struct vs_event){.kind = VS_EV_ALLOC,
                              .alloc = {.block = b->id,
                                        .requested_bytes = b->requested,
                                        .block_bytes = b->bytes,
                                        .address = b->address,
                                        .tensor = below(g, 10) ? b->tensor : 0,
                                        .category = (uint8_t)below(g, VS_CATEGORY_COUNT)}});
}

/* Release what holds `block` most of the time; what is forgotten is as in a trace that was cut. */
static void release(struct gen *g, uint64_t block)
{
    for (size_t i = 0; i < g->held_count;) {
        struct vs_event event = g->held[i];

        if (vs_event_block(&event) != block) {
            i++;
            continue;
        }
        g->held[i] = g->held[--g->held_count];
        event.kind = event.kind == VS_EV_HOLD ? VS_EV_DROP : VS_EV_UNSAVE;
        if (below(g, 10))
            emit(g, event);
    }
}

static void free_one(struct gen *g)
{
    size_t i = below(g, (uint32_t)g->live_count);
    struct block b = g->live[i];

    release(g, b.id);
    g->live[i] = g->live[--g->live_count];
    emit(g, (struct vs_event){.kind = VS_EV_FREE,
                              .free = {.block = b.id,
                                       .requested_bytes = b.requested,
                                       .block_bytes = b.bytes,
                                       .address = b.address}});
}

static void hold(struct gen *g)
{
    const struct block *b = &g->live[below(g, (uint32_t)g->live_count)];
    const uint64_t block = below(g, 12) ? b->id : 0; /* 0: a tensor on the host */
    struct vs_event event = {0};

    if (g->held_count == MAX_HELD)
        return;
    if (below(g, 3)) {
        event.kind = VS_EV_HOLD;
        event.hold.block = block;
        event.hold.tensor = b->tensor;
        event.hold.name = word(g, NAMES);
        event.hold.scope = word(g, FUNCS);
        event.hold.holder = (uint8_t)below(g, VS_HOLDER_COUNT);
    } else {
        event.kind = VS_EV_SAVE;
        event.save.block = block;
        event.save.tensor = b->tensor;
        event.save.node = 1 + below(g, (uint32_t)g->nodes + 3);
        event.save.is_checkpoint_input = below(g, 6) == 0;
    }
    g->held[g->held_count++] = event;
    emit(g, event);
}

static void drop(struct gen *g)
{
    size_t i = below(g, (uint32_t)g->held_count);
    struct vs_event event = g->held[i];

    g->held[i] = g->held[--g->held_count];
    event.kind = event.kind == VS_EV_HOLD ? VS_EV_DROP : VS_EV_UNSAVE;
    emit(g, event);
}

static void segment(struct gen *g)
{
    bool is_mapped = below(g, 3) == 0;
    size_t i;

    if (g->segment_count < 8 && below(g, 2)) {
        uint64_t bytes = (1 + below(g, 10)) * UINT64_C(2097152);
        uint64_t at = is_mapped && g->segment_count ? g->segments[g->segment_count - 1] +
                                                          g->segment_bytes[g->segment_count - 1]
                                                    : (g->next += 1 << 28);

        for (i = 0; i < g->segment_count; i++)
            if (at < g->segments[i] + g->segment_bytes[i] && g->segments[i] < at + bytes)
                return;
        g->segments[g->segment_count] = at;
        g->segment_bytes[g->segment_count++] = bytes;
        emit(g, (struct vs_event){.kind = is_mapped ? VS_EV_SEGMENT_MAP : VS_EV_SEGMENT_ALLOC,
                                  .segment = {.bytes = bytes,
                                              .address = at,
                                              .size_pool = (uint8_t)(1 + below(g, 2))}});
        return;
    }
    if (!g->segment_count)
        return;
    i = below(g, (uint32_t)g->segment_count);
    emit(g,
         (struct vs_event){.kind = is_mapped ? VS_EV_SEGMENT_UNMAP : VS_EV_SEGMENT_FREE,
                           .segment = {.bytes = g->segment_bytes[i], .address = g->segments[i]}});
    g->segments[i] = g->segments[--g->segment_count];
    g->segment_bytes[i] = g->segment_bytes[g->segment_count];
}

/* Of an op outside backward. */
static uint8_t some_role(struct gen *g)
{
    return below(g, 2) ? VS_OP_RECOMPUTE : VS_OP_FORWARD;
}

static void op(struct gen *g)
{
    if (g->op_count < MAX_OPS && below(g, 2)) {
        bool is_node = below(g, 3) == 0;
        uint32_t name = is_node ? word(g, NODES) : word(g, OPS);

        if (below(g, 12) == 0) {
            g->ops[g->op_count++] = 0;
            emit(g, (struct vs_event){.kind = VS_EV_RECOMPUTE_BEGIN, .recompute = {.name = name}});
            return;
        }
        g->ops[g->op_count++] = name;
        emit(g, (struct vs_event){.kind = VS_EV_OP_BEGIN,
                                  .op = {.name = name,
                                         .node = is_node ? 1 + below(g, (uint32_t)++g->nodes) : 0,
                                         .flops = below(g, 1000),
                                         .role = is_node ? VS_OP_BACKWARD : some_role(g)}});
        return;
    }
    if (!g->op_count)
        return;
    if (g->ops[g->op_count - 1])
        emit(g, (struct vs_event){.kind = VS_EV_OP_END,
                                  .op = {.name = g->ops[g->op_count - 1],
                                         .flops = below(g, 1000),
                                         .role = some_role(g)}});
    else
        emit(g, (struct vs_event){.kind = VS_EV_RECOMPUTE_END});
    g->op_count--;
}

static void one(struct gen *g)
{
    uint32_t what = below(g, 1000);
    const struct block *b;

    if (what < 8) {
        emit(g, (struct vs_event){.kind = VS_EV_STEP,
                                  .step = {.number_plus_one = (uint64_t)(++g->step + 1)}});
    } else if (what < 30) {
        g->phase = (enum vs_phase)below(g, VS_PHASE_COUNT);
        emit(g, (struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = (uint64_t)g->phase}});
    } else if (what < 60) {
        segment(g);
    } else if (what < 63) {
        emit(g, (struct vs_event){.kind = VS_EV_OOM,
                                  .oom = {.requested_bytes = 4096,
                                          .segment_bytes = 2097152,
                                          .device_free_bytes = 17}});
    } else if (what < 300) {
        op(g);
    } else if (what < 480 && g->live_count < MAX_LIVE) {
        alloc(g);
    } else if (!g->live_count) {
        return;
    } else if (what < 620) {
        free_one(g);
    } else if (what < 720) {
        hold(g);
    } else if (what < 800 && g->held_count) {
        drop(g);
    } else {
        b = &g->live[below(g, (uint32_t)g->live_count)];
        if (what < 900)
            emit(g, (struct vs_event){
                        .kind = VS_EV_USE,
                        .use = {.block = b->id, .tensor = b->tensor, .op = word(g, OPS)}});
        else
            emit(g,
                 (struct vs_event){.kind = VS_EV_CATEGORY,
                                   .category = {.block = b->id,
                                                .category = (uint8_t)below(g, VS_CATEGORY_COUNT)}});
    }
}

struct rpl_trace *random_trace(uint64_t events, uint32_t seed)
{
    struct gen *g = vs_calloc(1, sizeof(*g));
    struct rpl_trace *trace = rpl_trace_new();

    g->trace = trace;
    g->random = seed * 7919 + 1;
    g->next = UINT64_C(0x7f0000000000);
    g->step = -1;
    while (rpl_trace_event_count(trace) < events)
        one(g);
    vs_free(g);
    return trace;
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

void random_trace_write(struct rpl_trace *trace, uint64_t events, const char *path)
{
    const struct sto_writer_options force = {.force = true};
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    uint32_t strings = rpl_trace_add_string(trace, "one more");
    uint32_t locations = rpl_trace_add_location(trace, &(struct vs_location){.line = 77777});
    const struct vs_event *all;

    ok(sto_writer_open(path, &force, &w, &err), &err);
    for (uint32_t i = 1; i <= strings; i++)
        ok(sto_writer_string(w, i, rpl_trace_string(trace, i), &err), &err);
    for (uint32_t i = 1; i <= locations; i++)
        ok(sto_writer_location(w, i, rpl_trace_location(trace, i), &err), &err);
    for (uint32_t i = 1; i <= rpl_trace_tensor_count(trace); i++) {
        struct vs_tensor_desc desc;

        assert_true(rpl_trace_tensor(trace, i, &desc));
        ok(sto_writer_tensor(w, &desc, &err), &err);
    }
    ok(rpl_trace_span(trace, 1, (size_t)events, NULL, &all, &err), &err);
    ok(sto_writer_events(w, all, (size_t)events, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
}
