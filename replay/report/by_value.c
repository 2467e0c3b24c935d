/*
 * replay/report/by_value.c - see by_value.h.
 *
 * Must not know:  how it is shown.
 * Invariant:      reads names, toggles and meta data of the trace, no events.
 */
#include "replay/report/by_value.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct row {
    const char *op;
    const char *toggle;
    const char *what;
};

/* clang-format off */
static const struct row ROWS[] = {
#define VS_BY_VALUE(op, toggle, what) {op, toggle, what},
#include "replay/report/by_value.def"
#undef VS_BY_VALUE
};
/* clang-format on */

static_assert(sizeof(ROWS) / sizeof(ROWS[0]) <= RPL_BY_VALUE_MAX, "RPL_BY_VALUE_MAX is too small");

static bool has_string(const struct rpl_trace *trace, const char *word)
{
    for (uint32_t id = 1; id <= rpl_trace_string_count(trace); id++) {
        if (!strcmp(rpl_trace_string(trace, id), word))
            return true;
    }
    return false;
}

static bool is_given(const struct rpl_trace *trace, const char *name)
{
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        if (!strcmp(toggle.name, name))
            return strcmp(toggle.value, "off") != 0;
    }
    return false;
}

/*
 * Is a line of the meta key `refused` "TOGGLE MODULE: why"? One of the toggle as a whole ("TOGGLE on: why") is not
 * meant.
 */
static bool refused_a_module(const struct rpl_trace *trace, const char *name)
{
    const char *line = rpl_trace_meta(trace, "refused");
    size_t n = strlen(name);

    while (line && *line) {
        if (!strncmp(line, name, n) && line[n] == ' ' && strncmp(line + n, " on: ", 5) != 0)
            return true;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}

size_t rpl_by_values(const struct rpl_trace *trace, struct rpl_by_value out[RPL_BY_VALUE_MAX])
{
    size_t count = 0;

    if (!rpl_trace_source_text(trace))
        return 0;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const struct row *row = &ROWS[i];

        if (*row->toggle && !is_given(trace, row->toggle))
            continue;
        if (*row->op ? !has_string(trace, row->op) : !refused_a_module(trace, row->toggle))
            continue;
        out[count++] = (struct rpl_by_value){*row->op ? row->op : row->toggle, row->what};
    }
    return count;
}

void rpl_by_values_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct rpl_by_value rows[RPL_BY_VALUE_MAX];
    size_t count = rpl_by_values(trace, rows);

    for (size_t i = 0; i < count; i++)
        vs_text_addf(out, "  depends on values: %s: %s\n", rows[i].name, rows[i].what);
}
