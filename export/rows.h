/*
 * export/rows.h - the events and the blocks of a trace as rows of named values.
 *
 * For:            the formats that are tables: export/csv.c, export/json.c.
 * Must not know:  how a row is written.
 * Invariant:      columns have the names and values of the views `event` and `block` of docs/formats/trace-format.md; numbers from 2^63 on are
 *                 positive here.
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

/* text: of EXP_TEXT, and of EXP_DIMS as a JSON array; borrowed until the next row. */
struct exp_value {
    enum exp_kind kind;
    uint64_t number;
    int64_t integer;
    const char *text;
};

/* Takes a row: as many values as there are names. */
typedef void exp_row_fn(void *user, const struct exp_value *values);

/* The names of a table's columns, in order; *count of them. */
const char *const *exp_columns(enum exp_table table, size_t *count);

/* Calls `row` for every row of the table, in order of the event it is about, until `out` has failed. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_rows(struct rpl_index *index, enum exp_table table,
                                    const struct exp_out *out, exp_row_fn *row, void *user,
                                    struct vs_error *err);

#endif
