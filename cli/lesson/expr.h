/*
 * cli/lesson/expr.h - evaluates the expressions of a lesson, and texts with expressions in them.
 *
 * For:            cli/lesson/answer.c.
 * Must not know:  where a figure comes from: a function of the caller says it.
 * Invariant:      the same expression over the same figures has the same value; nothing is approximated but by the
 *                 arithmetic of double, which is exact for bytes up to 2^53.
 *
 * docs/internals/lessons.md has the grammar.
 */
#ifndef CLI_LESSON_EXPR_H
#define CLI_LESSON_EXPR_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"

#define CLI_EXPR_ARGS_MAX 4

/* An argument of a figure as it was written, without quotes. */
struct cli_expr_arg {
    const char *text;
    size_t len;
};

/*
 * The figure `name` of these arguments. VS_E_NOT_FOUND, VS_E_VALUE: there is no such figure, or not of these arguments.
 */
typedef enum vs_status cli_expr_figure_fn(void *user, const char *name,
                                          const struct cli_expr_arg *args, size_t count,
                                          double *out, struct vs_error *err);

/*
 * The value of `text`; conditions are 1 or 0. `star` (may be NULL) replaces the argument `*` of a figure.
 * VS_E_SYNTAX: it is no expression, or divides by 0; the message has what was expected. Others: those of `figure`.
 */
VS_MUST_USE enum vs_status cli_expr_value(const char *text, const char *star,
                                          cli_expr_figure_fn *figure, void *user, double *out,
                                          struct vs_error *err);

/*
 * Append a value in one of the formats of docs/internals/lessons.md. VS_E_VALUE: there is no such format.
 */
VS_MUST_USE enum vs_status cli_expr_format(double value, const char *format, struct vs_text *out,
                                           struct vs_error *err);

/* Append `text` with each {EXPRESSION as FORMAT} replaced by its value. Errors: those of the functions above. */
VS_MUST_USE enum vs_status cli_expr_text(const char *text, cli_expr_figure_fn *figure, void *user,
                                         struct vs_text *out, struct vs_error *err);

#endif
