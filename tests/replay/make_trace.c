/*
 * tests/replay/make_trace.c - see make_trace.h.
 */
#include "tests/replay/make_trace.h"

#include <string.h>

#include "base/bytes.h"
#include "base/dtype.h"

void make_init(struct make *m)
{
    memset(m, 0, sizeof(*m));
    m->trace = rpl_trace_new();
    m->func = m->module = m->op = "";
}

static uint32_t string_id(struct make *m, const char *text)
{
    return *text ? rpl_trace_add_string(m->trace, text) : 0;
}

uint64_t make_event(struct make *m, struct vs_event event)
{
    struct vs_location location = {
        .phase = (uint32_t)m->phase,
        .module = string_id(m, m->module),
        .func = string_id(m, m->func),
        .line = m->line,
        .op = string_id(m, m->op),
    };

    event.location = rpl_trace_add_location(m->trace, &location);
    rpl_trace_add_event(m->trace, &event);
    return rpl_trace_event_count(m->trace);
}

uint64_t make_step(struct make *m, int64_t step)
{
    return make_event(m, (struct vs_event){.kind = VS_EV_STEP,
                                           .step = {.number_plus_one = (uint64_t)(step + 1)}});
}

uint64_t make_phase(struct make *m, enum vs_phase phase)
{
    m->phase = phase;
    return make_event(m,
                      (struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = (uint64_t)phase}});
}

uint64_t make_alloc(struct make *m, uint64_t bytes, enum vs_category category)
{
    struct vs_tensor_desc desc = {
        .id = ++m->tensors,
        .block = ++m->blocks,
        .dtype = VS_F32,
        .ndim = 1,
        .sizes = {(int64_t)(bytes / 4)},
        .strides = {1},
    };

    rpl_trace_add_tensor(m->trace, &desc);
    return make_event(m, (struct vs_event){
                             .kind = VS_EV_ALLOC,
                             .alloc = {.block = m->blocks,
                                       .requested_bytes = bytes,
                                       .block_bytes = vs_bytes_round_up(bytes, 512),
                                       .address = 0x1000 * m->blocks,
                                       .tensor = m->tensors,
                                       .category = (uint8_t)category},
                         });
}

uint64_t make_free(struct make *m, uint64_t block, uint64_t bytes)
{
    return make_event(m, (struct vs_event){
                             .kind = VS_EV_FREE,
                             .free = {.block = block,
                                      .requested_bytes = bytes,
                                      .block_bytes = vs_bytes_round_up(bytes, 512),
                                      .address = 0x1000 * block},
                         });
}

uint64_t make_segment(struct make *m, enum vs_event_kind kind, uint64_t bytes)
{
    if (kind == VS_EV_SEGMENT_ALLOC)
        m->segments++;
    make_event(m, (struct vs_event){.kind = (uint8_t)kind,
                                    .segment = {.bytes = bytes,
                                                .address = m->segments << 32,
                                                .size_pool = VS_SEGMENT_SMALL}});
    if (kind == VS_EV_SEGMENT_FREE)
        m->segments--;
    return rpl_trace_event_count(m->trace);
}

uint64_t make_hold(struct make *m, enum vs_event_kind kind, uint64_t block, enum vs_holder holder,
                   const char *name, const char *scope)
{
    return make_event(m, (struct vs_event){
                             .kind = (uint8_t)kind,
                             .hold = {.block = block,
                                      .tensor = block,
                                      .name = string_id(m, name),
                                      .scope = string_id(m, scope),
                                      .holder = (uint8_t)holder},
                         });
}

uint64_t make_save(struct make *m, enum vs_event_kind kind, uint64_t block, uint64_t node,
                   bool is_checkpoint)
{
    return make_event(m, (struct vs_event){.kind = (uint8_t)kind,
                                           .save = {.block = block,
                                                    .tensor = block,
                                                    .node = node,
                                                    .is_checkpoint_input = is_checkpoint}});
}

uint64_t make_use(struct make *m, uint64_t block)
{
    return make_event(
        m, (struct vs_event){.kind = VS_EV_USE, .use = {.block = block, .tensor = block}});
}

uint64_t make_op(struct make *m, enum vs_event_kind kind, const char *name, uint64_t node,
                 unsigned aux, uint64_t flops)
{
    uint64_t seq;

    if (kind == VS_EV_OP_BEGIN)
        m->op = name;
    seq = make_event(
        m,
        (struct vs_event){
            .kind = (uint8_t)kind,
            .op = {.name = string_id(m, name), .node = node, .flops = flops, .role = (uint8_t)aux},
        });
    if (kind == VS_EV_OP_END)
        m->op = "";
    return seq;
}
