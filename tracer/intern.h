/*
 * tracer/intern.h - ids for strings and locations: equal ones have equal ids, from 1 on.
 *
 * For:            tracer/recorder.c.
 * Must not know:  rings, files.
 * Invariant:      the address of an interned text is valid until the table is freed.
 */
#ifndef TRC_INTERN_H
#define TRC_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

struct trc_intern;

struct trc_intern *trc_intern_new(void) VS_MUST_USE;
void trc_intern_free(struct trc_intern *in);

/*
 * Return the id of `text`. If the id is new, *new_text is the table's copy of the text, otherwise NULL. Allocates only
 * for a new text.
 */
uint32_t trc_intern_string(struct trc_intern *in, const char *text, const char **new_text);

/* Return the table's copy of `text`, interning it if it is new. */
const char *trc_intern_text(struct trc_intern *in, const char *text);

/*
 * Return the id of `location`; *is_new is true if it was assigned by this call. A location equal to that of the
 * previous call costs one comparison.
 */
uint32_t trc_intern_location(struct trc_intern *in, const struct vs_location *location,
                             bool *is_new);

#endif
