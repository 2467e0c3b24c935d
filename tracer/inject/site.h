/*
 * tracer/inject/site.h - where a program made a call: phase, ranges, call, call stack; and its ids in a trace.
 *
 * For:            memory.c, session.c.
 * Must not know:  how stacks and ranges are obtained.
 * Invariant:      equal sites have equal ids in one trace.
 */
#ifndef TRC_INJECT_SITE_H
#define TRC_INJECT_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "engine/core/observer.h"

/* A frame of a call stack. text: "train.py:step", "libfoo.so!bar"; valid as long as the process. line: 0 if unknown. */
struct inj_frame {
    const char *text;
    uint32_t line;
    bool is_python;
    bool is_own; /* not of CUDA's libraries, Python or this library */
};

#define INJ_FRAMES_MAX 64

/*
 * module: path of the ranges. call: the called function, such as "cudaMalloc"; kernel: the last one that the thread
 * launched, or "". frames: innermost first.
 */
struct inj_site {
    enum vs_phase phase;
    const char *module;
    const char *call;
    const char *kernel;
    const struct inj_frame *frames;
    size_t frame_count;
};

struct inj_stack;

/*
 * The destination of events, strings and locations: one trace. Zero-initialise all but the functions, and release it.
 *
 * frame   stores a frame of a call stack; stack: the next event has this call stack. `user` is the observer's
 * blocks  highest block id so far
 * stacks  stacks so far
 */
struct inj_sink {
    const struct eng_observer *observer;
    void (*frame)(void *user, uint32_t stack, uint32_t depth, uint32_t func, uint32_t line);
    void (*stack)(void *user, uint32_t stack);
    uint64_t blocks;
    struct inj_stack **stacks;
    size_t stack_count, stack_cap;
    struct vs_table by_hash;
};

void inj_sink_release(struct inj_sink *sink);

/*
 * The frame that represents the site: the program's innermost one, Python before native; otherwise the innermost. NULL:
 * there are no frames.
 */
const struct inj_frame *inj_site_frame(const struct inj_site *site);

/* Call it directly before the site's event is emitted. A site without frames has no stack. */
void inj_site_stack_emit(struct inj_sink *sink, const struct inj_site *site);

/* The id of the site's location in the sink's trace. */
uint32_t inj_site_location(struct inj_sink *sink, const struct inj_site *site);

#endif
