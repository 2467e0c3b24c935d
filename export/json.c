/*
 * export/json.c - a table as JSON lines: one object per row, with the values that are not NULL.
 *
 * Must not know:  what the columns mean.
 * Invariant:      every line is valid JSON (RFC 8259) by itself.
 */
#include "export/formats.h"
#include "export/rows.h"

struct lines {
    struct exp_out *out;
    const char *const *names;
    size_t columns;
};

static void row_put(void *user, const struct exp_value *values)
{
    const struct lines *lines = user;
    const char *between = "{\"";

    for (size_t i = 0; i < lines->columns; i++) {
        if (values[i].kind == EXP_NONE)
            continue;
        exp_put_text(lines->out, between);
        exp_put_text(lines->out, lines->names[i]);
        exp_put_text(lines->out, "\": ");
        between = ", \"";
        switch (values[i].kind) {
        case EXP_NONE:
            break;
        case EXP_UINT:
            exp_put_uint(lines->out, values[i].number);
            break;
        case EXP_INT:
            exp_put_int(lines->out, values[i].integer);
            break;
        case EXP_TEXT:
            exp_put_json(lines->out, values[i].text);
            break;
        case EXP_DIMS:
            exp_put_text(lines->out, values[i].text);
            break;
        }
    }
    exp_put_text(lines->out, "}\n");
}

enum vs_status exp_json_write(struct rpl_index *index, const struct exp_options *options,
                              struct exp_out *out, struct vs_error *err)
{
    struct lines lines = {.out = out};

    lines.names = exp_columns(options->table, &lines.columns);
    return exp_rows(index, options->table, out, row_put, &lines, err);
}
