/*
 * tests/facts/facts.h - runs net files into traces in memory and compares them, event for event.
 *
 * For:            the tests of the facts in docs/internals/architecture.md, and of figures from other sources.
 * Must not know:  trace files, the program.
 * Invariant:      facts_same compares every event of every kind, and everything an event refers to, except times.
 *
 * All functions fail the running test with a message if something goes wrong. Paths are relative to the repository's
 * root.
 */
#ifndef TESTS_FACTS_FACTS_H
#define TESTS_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/device/plugin.h"
#include "lang/run/run.h"
#include "replay/trace/trace.h"

/* The text of a net file, which may be changed before it runs. */
struct facts_net {
    const char *path;
    char *text;
};

struct facts_net facts_net_read(const char *path);
/* A net from a text; `name` is used in messages. */
struct facts_net facts_net_of(const char *name, const char *text);
/* Set the constant of the line "NAME = …", which must occur once, to `value`. */
void facts_net_set(struct facts_net *net, const char *name, uint64_t value);
void facts_net_release(struct facts_net *net);

/* A run: its trace, its result, and what the net printed (NULL: nothing). */
struct facts_run {
    struct rpl_trace *trace;
    struct lang_result result;
    char *printed;
};

/* Parse toggles, "batch=2 amp=fp16"; "" is none. A toggle's name and value may be abbreviated. */
void facts_toggles(const char *pairs, struct vs_toggles *out);

/*
 * Train `net` with `toggles` ("batch=2 steps=2"). has_data: on `cpu`, otherwise on `meta`, where the optimizer steps
 * that `like` skipped (NULL: none) are skipped.
 */
struct facts_run facts_run_net(const struct facts_net *net, const char *toggles, bool has_data,
                               const struct facts_run *like);
/* The same; false where the net or the toggles are refused, and `err` says why. */
bool facts_try_net(const struct facts_net *net, const char *toggles, bool has_data,
                   const struct facts_run *like, struct facts_run *out, struct vs_error *err);
/*
 * The test double of the CUDA device, which uses host memory (tests/engine/device/twin/), found beside the program
 * under test. The caller closes it.
 */
struct eng_device facts_twin_open(void);
/* The same on the given device. */
struct facts_run facts_run_net_on(const struct facts_net *net, const char *toggles,
                                  const struct eng_device *device);
/* The same; false where the net or the toggles are refused, or the device fails, and `err` says why. */
bool facts_try_net_on(const struct facts_net *net, const char *toggles,
                      const struct eng_device *device, struct facts_run *out, struct vs_error *err);
/* The same with a capacity in bytes. */
struct facts_run facts_run_net_within(const struct facts_net *net, const char *toggles,
                                      const struct eng_device *device, uint64_t capacity);
void facts_run_release(struct facts_run *run);
/* The number of its blocks that are workspaces, of libraries or of kernels. */
uint64_t facts_workspaces(struct rpl_trace *trace);

/*
 * Fails if the two traces differ in anything but time; the message has `what` and the events around the first
 * difference.
 */
void facts_same(const char *what, struct rpl_trace *a, const char *a_name, struct rpl_trace *b,
                const char *b_name);

/* Fails unless `b` begins with all the events of `a`. */
void facts_begins(const char *what, struct rpl_trace *a, const char *a_name, struct rpl_trace *b,
                  const char *b_name);

/* A description of an event for messages; `out` has FACTS_EVENT_MAX bytes. Returns out. */
#define FACTS_EVENT_MAX 320
const char *facts_event_text(const struct rpl_trace *trace, uint64_t seq,
                             const struct vs_event *event, char *out);

/* The figures of phase `phase` in step `step` (its last part). */
const struct lang_run_phase *facts_phase(const struct facts_run *run, int64_t step,
                                         enum vs_phase phase);

#endif
