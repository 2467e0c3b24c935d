/*
 * tracer/cupti/cupti_session_internal.h - a session and where its records come from.
 *
 * For:            cupti_attach.c, tests that play CUPTI.
 * Must not know:  CUPTI's types.
 * Invariant:      records are taken between a begin and an end, on any thread.
 */
#ifndef TRC_CUPTI_SESSION_INTERNAL_H
#define TRC_CUPTI_SESSION_INTERNAL_H

#include <stddef.h>
#include <stdio.h>

#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/cupti_record.h"
#include "tracer/cupti/cupti_session.h"

/*
 * push, pop   the innermost op that runs; they and stop give NULL, or what went wrong (good for ever)
 * stop        everything that is still held back is delivered, and nothing after it
 * call_name   of a function of CUDA's; never NULL, good for ever
 * release     nothing is called any more
 */
struct cupti_source {
    void *user;
    const char *(*push)(void *user, uint64_t op_seq);
    const char *(*pop)(void *user);
    const char *(*stop)(void *user);
    const char *(*call_name)(void *user, uint32_t call, bool is_driver);
    void (*release)(void *user);
};

/* The capture, or NULL, is closed with the session. */
struct trc_cupti *cupti_session_new(const struct cupti_source *source, FILE *capture) VS_MUST_USE;

/* Over the test's own table. Errors as trc_cupti_open. */
VS_MUST_USE enum vs_status trc_cupti_open_with(const struct cupti_api *api, struct trc_cupti **out,
                                               struct vs_error *err);

/* One buffer: begin, records, end with what was lost in it: records dropped, of unknown kinds, and whether it ended inside of one. */
struct cupti_lost {
    uint64_t dropped;
    uint64_t unknown;
    uint64_t cut;
};
void cupti_session_begin(struct trc_cupti *c);
void cupti_session_take(struct trc_cupti *c, const struct cupti_record *record);
void cupti_session_end(struct trc_cupti *c, const struct cupti_lost *lost);

/* The device created physical memory on this thread. */
void cupti_session_created_seen(struct trc_cupti *c, uint64_t bytes);

/* NULL: no records are kept. */
FILE *cupti_session_capture(const struct trc_cupti *c);

#endif
