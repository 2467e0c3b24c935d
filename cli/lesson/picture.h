/*
 * cli/lesson/picture.h - the allocated bytes of a run over time, drawn with characters.
 *
 * For:            the page of techniques.
 * Must not know:  lessons.
 * Invariant:      a column is as high as the most that was allocated in its part of the run.
 */
#ifndef CLI_LESSON_PICTURE_H
#define CLI_LESSON_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/trace/trace.h"

#define CLI_PICTURE_COLUMNS 72
#define CLI_PICTURE_ROWS 6

/*
 * column: highest allocated bytes in each part; phase: begins[i] is the name of the phase that begins in part i, or
 * NULL. There are CLI_PICTURE_COLUMNS parts with equal numbers of allocations and frees.
 */
struct cli_picture {
    uint64_t column[CLI_PICTURE_COLUMNS];
    const char *begins[CLI_PICTURE_COLUMNS];
};

/*
 * Fill `out` from the last step of `trace`, or from all of it. Everything is 0 if that has no allocation. Errors:
 * those of reading the trace.
 */
VS_MUST_USE enum vs_status cli_picture_fill(struct cli_picture *out, struct rpl_trace *trace,
                                            bool is_whole, struct vs_error *err);
/* The highest column. */
uint64_t cli_picture_top(const struct cli_picture *picture);
/*
 * Append the picture: CLI_PICTURE_ROWS lines, of which the first stands for `top` bytes, and a line with the phases.
 * Each begins with `indent` blanks.
 */
void cli_picture_draw(const struct cli_picture *picture, uint64_t top, int indent,
                      struct vs_text *out);

#endif
