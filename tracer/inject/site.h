/*
 * tracer/inject/site.h - where a program was when it called: phase, ranges, call, call stack; and its number in a trace.
 *
 * For:            memory.c, session.c.
 * Must not know:  how stacks and ranges are got.
 * Invariant:      equal sites have equal numbers in one trace.
 */
#ifndef TRC_INJECT_SITE_H
#define TRC_INJECT_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "engine/core/observer.h"

/* A frame of a call stack. text: "train.py:step", "libfoo.so!bar"; lives as long as the process. line: 0 where there is none. */
struct inj_frame {
    const char *text;
    uint32_t line;
    bool is_python;
    bool is_own; /* the program's, not a library's of CUDA, of Python, or ours */
};

#define INJ_FRAMES_MAX 64

/*
 * module: path of the ranges. call: what the program called, such as "cudaMalloc"; kernel: launched last by the thread, or "".
 * frames: innermost first.
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
 * One trace: where events, strings and places go. Zero-initialise all but the functions, and release it.
 *
 * frame   a frame of a call stack; stack: the next event comes from it. `user` is the observer's
 * blocks  the highest number of a block so far
 * stacks  those so far
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

/* The frame that names the site: the innermost of the program's own, Python before native; else the innermost. NULL: no frames. */
const struct inj_frame *inj_site_frame(const struct inj_site *site);

/* To be told right before the site's event. Sites without frames have no stack. */
void inj_site_stack_emit(struct inj_sink *sink, const struct inj_site *site);

/* Its place in the sink's trace. */
uint32_t inj_site_location(struct inj_sink *sink, const struct inj_site *site);

#endif
