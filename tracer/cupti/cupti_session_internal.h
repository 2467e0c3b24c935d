/*
 * tracer/cupti/cupti_session_internal.h - a session and the source of its records.
 *
 * For:            cupti_attach.c, tests that simulate CUPTI.
 * Must not know:  CUPTI's types.
 * Invariant:      records are delivered between a begin and an end, on any thread.
 */
#ifndef TRC_CUPTI_SESSION_INTERNAL_H
#define TRC_CUPTI_SESSION_INTERNAL_H

#include <stddef.h>
#include <stdio.h>

#include "tracer/cupti/cupti_api.h"
#include "tracer/cupti/cupti_record.h"
#include "tracer/cupti/cupti_session.h"

/*
 * push, pop   set and remove the innermost op; these and stop return NULL, or a static error text
 * stop        deliver all records that are still buffered, and none afterwards
 * call_name   the name of a CUDA function; never NULL, a static string
 * release     no function is called any more
 */
struct cupti_source {
    void *user;
    const char *(*push)(void *user, uint64_t op_seq);
    const char *(*pop)(void *user);
    const char *(*stop)(void *user);
    const char *(*call_name)(void *user, uint32_t call, bool is_driver);
    void (*release)(void *user);
};

/* The session closes `capture`, which may be NULL. */
struct trc_cupti *cupti_session_new(const struct cupti_source *source, FILE *capture) VS_MUST_USE;

/* Like trc_cupti_open(), with the given table. */
VS_MUST_USE enum vs_status trc_cupti_open_with(const struct cupti_api *api, struct trc_cupti **out,
                                               struct vs_error *err);

/*
 * One buffer: begin, records, and end with what was lost: dropped records, records of unknown kinds, and whether the
 * buffer ends inside a record.
 */
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

/* NULL: records are not stored as text. */
FILE *cupti_session_capture(const struct trc_cupti *c);

#endif
