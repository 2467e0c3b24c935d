/*
 * export/fill.h - the colours in which exports draw categories of blocks.
 *
 * For:            export/svg_page.c, export/html/.
 * Must not know:  what is drawn.
 * Invariant:      any two differ for normal sight and for each kind of colour blindness, neighbours in a stack of
 *                 categories and those that fill most peaks by more; tests/export/test_fill.c computes the distances.
 */
#ifndef EXP_FILL_H
#define EXP_FILL_H

#include <stdbool.h>

#include "base/event.h"

/* "#rrggbb": the colour of `category` on a light or on a dark page. Static text. */
const char *exp_fill(enum vs_category category, bool is_dark);

#endif
