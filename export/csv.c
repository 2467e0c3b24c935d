/*
 * export/csv.c - a table as comma separated values (RFC 4180).
 *
 * Must not know:  what the columns mean.
 * Invariant:      an empty field is NULL; an empty text is written as "".
 */
#include <string.h>

#include "export/formats.h"
#include "export/rows.h"

struct csv {
    struct exp_out *out;
    size_t columns;
};

/* Write a field, quoted if necessary; an empty text is quoted, too. */
static void text_put(struct exp_out *out, const char *text)
{
    if (*text && !strpbrk(text, ",\"\r\n")) {
        exp_put_utf8(out, text);
        return;
    }
    exp_put_char(out, '"');
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        exp_put_utf8_n(out, text, (size_t)(quote - text));
        exp_put_text(out, "\"\"");
    }
    exp_put_utf8(out, text);
    exp_put_char(out, '"');
}

static void row_put(void *user, const struct exp_value *values)
{
    const struct csv *csv = user;

    for (size_t i = 0; i < csv->columns; i++) {
        if (i)
            exp_put_char(csv->out, ',');
        switch (values[i].kind) {
        case EXP_NONE:
            break;
        case EXP_UINT:
            exp_put_uint(csv->out, values[i].number);
            break;
        case EXP_INT:
            exp_put_int(csv->out, values[i].integer);
            break;
        case EXP_TEXT:
        case EXP_DIMS:
            text_put(csv->out, values[i].text);
            break;
        }
    }
    exp_put_char(csv->out, '\n');
}

enum vs_status exp_csv_write(struct rpl_index *index, const struct exp_options *options,
                             struct exp_out *out, struct vs_error *err)
{
    struct csv csv = {.out = out};
    const char *const *names = exp_columns(options->table, &csv.columns);

    for (size_t i = 0; i < csv.columns; i++) {
        exp_put_text(out, i ? "," : "");
        exp_put_text(out, names[i]);
    }
    exp_put_char(out, '\n');
    return exp_rows(index, options->table, out, row_put, &csv, err);
}
