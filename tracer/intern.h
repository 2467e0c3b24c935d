/*
 * tracer/intern.h - numbers for strings and places: equal ones get equal numbers, from 1 on.
 *
 * For:            tracer/recorder.c.
 * Must not know:  rings, files.
 * Invariant:      a text handed out stays at its address until the table is freed.
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
 * The number of `text`. Where it was given just now, *new_text is the table's own copy, else NULL.
 * Allocates only then.
 */
uint32_t trc_intern_string(struct trc_intern *in, const char *text, const char **new_text);

/* The table's own copy of `text`, which has a number from then on. */
const char *trc_intern_text(struct trc_intern *in, const char *text);

/* The number of `place`, and whether it was given just now. A place like the last one costs a comparison. */
uint32_t trc_intern_location(struct trc_intern *in, const struct vs_location *location,
                             bool *is_new);

#endif
