/*
 * replay/report/warnings.c - see warnings.h.
 *
 * Must not know:  which warnings there are.
 * Invariant:      a line that lacks fields has them empty: the file may be anybody's.
 */
#include "replay/report/warnings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH 100

/* Takes the text up to the next tab or newline; *at moves behind a tab, and stays at a newline or the end. */
static const char *field(const char **at, size_t *len)
{
    const char *text = *at;

    *len = strcspn(text, "\t\n");
    *at = text + *len + (text[*len] == '\t');
    return text;
}

bool rpl_warning_next(const struct rpl_trace *trace, const char **at, struct rpl_warning *out)
{
    const char *line = *at ? *at : rpl_trace_meta(trace, "warnings");
    size_t len;

    if (!line || !*line)
        return false;
    out->kind = field(&line, &out->kind_len);
    out->line = (uint32_t)strtoul(field(&line, &len), NULL, 10);
    out->text = field(&line, &out->text_len);
    out->advice = field(&line, &out->advice_len);
    line += strcspn(line, "\n");
    *at = line + (*line == '\n');
    return true;
}

void rpl_warning_text(const struct rpl_warning *warning, struct vs_text *out)
{
    vs_text_add_n(out, warning->text, warning->text_len);
    if (warning->line)
        vs_text_addf(out, " (line %" PRIu32 ")", warning->line);
    if (warning->advice_len)
        vs_text_add(out, "; ");
    vs_text_add_n(out, warning->advice, warning->advice_len);
}

void rpl_warnings_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct vs_text line = {NULL, 0, 0};
    struct rpl_warning warning;
    const char *at = NULL;

    while (rpl_warning_next(trace, &at, &warning)) {
        if (warning.kind == rpl_trace_meta(trace, "warnings"))
            vs_text_add(out, "\nWarnings\n");
        vs_text_clear(&line);
        rpl_warning_text(&warning, &line);
        vs_text_add(out, "  ");
        vs_text_add_words(out, vs_text_get(&line), line.len, 2, 4, LINE_WIDTH);
        vs_text_add_char(out, '\n');
    }
    vs_text_release(&line);
}

static void put_part(struct vs_json *json, const char *key, const char *text, size_t len)
{
    struct vs_text part = {NULL, 0, 0};

    vs_text_add_n(&part, text, len);
    vs_json_put_string(json, key, vs_text_get(&part));
    vs_text_release(&part);
}

void rpl_warnings_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_warning warning;
    const char *at = NULL;

    vs_json_key(json, "warnings");
    vs_json_array(json);
    while (rpl_warning_next(trace, &at, &warning)) {
        vs_json_object(json);
        put_part(json, "kind", warning.kind, warning.kind_len);
        vs_json_put_uint(json, "line", warning.line);
        put_part(json, "text", warning.text, warning.text_len);
        put_part(json, "advice", warning.advice, warning.advice_len);
        vs_json_end(json);
    }
    vs_json_end(json);
}
