/*
 * export/svg.h - the pieces a drawing is made of: text, lines, areas of bytes.
 *
 * For:            export/svg_chart.c, export/svg_page.c.
 * Must not know:  traces.
 * Invariant:      what is put is well-formed XML 1.0, whatever the texts hold. Nothing is fetched and nothing runs: no script, font or
 *                 image. Colours are of classes, which the style at the top gives for light and for dark.
 */
#ifndef EXP_SVG_H
#define EXP_SVG_H

#include <stddef.h>
#include <stdint.h>

#include "export/out.h"

/* Text, escaped; control characters and what XML cannot hold become U+FFFD. */
void exp_svg_escaped(struct exp_out *out, const char *text);

/* A line of text at (x, y); class and anchor ("start", "middle", "end"). At most `letters` letters. */
void exp_svg_text(struct exp_out *out, double x, double y, const char *css, const char *anchor,
                  const char *text, size_t letters);
void exp_svg_rect(struct exp_out *out, double x, double y, double width, double height,
                  const char *css, const char *title);
void exp_svg_line(struct exp_out *out, double x1, double y1, double x2, double y2, const char *css);

/*
 * Inside a group whose units are a column across and a byte upwards:
 *
 * The area between two rows of `count` heights, each a column wide. Heights are written to the last digit.
 */
void exp_svg_area(struct exp_out *out, const uint64_t *low, const uint64_t *high, size_t count,
                  const char *css, const char *title);
/* A line along the heights, `thick_bytes` down from them; what rises or falls in it is `thick_columns` wide. */
void exp_svg_steps(struct exp_out *out, const uint64_t *heights, size_t count, uint64_t thick_bytes,
                   double thick_columns, const char *css, const char *title);

#endif
