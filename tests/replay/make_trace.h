/* tests/replay/make_trace.h - builds traces in memory event by event, for tests. */
#ifndef TESTS_REPLAY_MAKE_TRACE_H
#define TESTS_REPLAY_MAKE_TRACE_H

#include "replay/trace/trace.h"

/*
 * trace   in memory; the caller frees it
 * line, func, module, op   the location of the next events; strings, "" for none
 * blocks  number of block ids used so far
 */
struct make {
    struct rpl_trace *trace;
    uint32_t line;
    const char *func;
    const char *module;
    const char *op;
    enum vs_phase phase;
    uint64_t blocks;
    uint64_t segments;
    uint32_t tensors;
};

void make_init(struct make *m);
/* Each of these functions adds an event and returns its number. */
uint64_t make_step(struct make *m, int64_t step);
uint64_t make_phase(struct make *m, enum vs_phase phase);
/*
 * A block of `bytes`, rounded up to 512, for a float32 tensor of bytes / 4 elements. Its id is m->blocks afterwards.
 */
uint64_t make_alloc(struct make *m, uint64_t bytes, enum vs_category category);
uint64_t make_free(struct make *m, uint64_t block, uint64_t bytes);
/* An event of a segment behind the existing ones; a free is that of the latest segment. */
uint64_t make_segment(struct make *m, enum vs_event_kind kind, uint64_t bytes);
uint64_t make_hold(struct make *m, enum vs_event_kind kind, uint64_t block, enum vs_holder holder,
                   const char *name, const char *scope);
uint64_t make_save(struct make *m, enum vs_event_kind kind, uint64_t block, uint64_t node,
                   bool is_checkpoint);
uint64_t make_use(struct make *m, uint64_t block);
/* aux as in base/event.h: 0 forward, 1 backward node, 2 recomputed. Sets the location's op between begin and end. */
uint64_t make_op(struct make *m, enum vs_event_kind kind, const char *name, uint64_t node,
                 unsigned aux, uint64_t flops);
uint64_t make_event(struct make *m, struct vs_event event);

#endif
