/*
 * export/rows.h - the events and the blocks of a trace as rows of named values.
 *
 * For:            the formats that are tables: export/csv.c, export/json.c.
 * Must not know:  the output format.
 * Invariant:      columns have the names and values of the views `event` and `block` (docs/formats/trace-format.md),
 *                 except that numbers of 2^63 and above are positive here.
 */
#ifndef EXP_ROWS_H
#define EXP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "export/export.h"
#include "export/out.h"

enum exp_kind { EXP_NONE, EXP_UINT, EXP_INT, EXP_TEXT, EXP_DIMS };

/* A value; `kind` selects the field. text: for EXP_TEXT, and for EXP_DIMS as a JSON array; valid until the next row. */
struct exp_value {
    enum exp_kind kind;
    uint64_t number;
    int64_t integer;
    const char *text;
};

/* Called with each row; `values` has one value per column. */
typedef void exp_row_fn(void *user, const struct exp_value *values);

/* The names of the columns of a table, in order; *count is set to their number. */
const char *const *exp_columns(enum exp_table table, size_t *count);

/* Call `row` for every row of the table, ordered by event, until the end or until `out` has failed. Errors: those of
 * reading the trace. */
VS_MUST_USE enum vs_status exp_rows(struct rpl_index *index, enum exp_table table,
                                    const struct exp_out *out, exp_row_fn *row, void *user,
                                    struct vs_error *err);

#endif
