/*
 * export/svg.h - writes the elements of an SVG drawing: text, lines, areas of bytes.
 *
 * For:            export/svg_chart.c, export/svg_page.c.
 * Must not know:  traces.
 * Invariant:      the output is well-formed XML 1.0, whatever the texts contain. It refers to no other resource: no
 *                 script, font or image. Colours are CSS classes, defined in the page's style for light and dark mode.
 */
#ifndef EXP_SVG_H
#define EXP_SVG_H

#include <stddef.h>
#include <stdint.h>

#include "export/out.h"

/* Write `text` escaped; characters that XML does not allow become U+FFFD. */
void exp_svg_escaped(struct exp_out *out, const char *text);

/* One line of text at (x, y) in pixels, with CSS class `css` and text-anchor `anchor` ("start", "middle", "end"), cut
 * to `letters` characters. */
void exp_svg_text(struct exp_out *out, double x, double y, const char *css, const char *anchor,
                  const char *text, size_t letters);
/* A rectangle, in pixels; `title` is its tooltip, NULL: none. */
void exp_svg_rect(struct exp_out *out, double x, double y, double width, double height,
                  const char *css, const char *title);
void exp_svg_line(struct exp_out *out, double x1, double y1, double x2, double y2, const char *css);

/*
 * The area between the `count` heights `low` and `high` in bytes, each one column wide. The surrounding group must
 * have the units column (to the right) and byte (upwards). Heights are written exactly.
 */
void exp_svg_area(struct exp_out *out, const uint64_t *low, const uint64_t *high, size_t count,
                  const char *css, const char *title);
/* A step line along the heights, in the same units: horizontal parts are `thick_bytes` thick, vertical parts
 * `thick_columns` wide. */
void exp_svg_steps(struct exp_out *out, const uint64_t *heights, size_t count, uint64_t thick_bytes,
                   double thick_columns, const char *css, const char *title);

#endif
