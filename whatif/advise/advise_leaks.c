/*
 * whatif/advise/advise_leaks.c - advice about a leak: the line that keeps the autograd history of every step, detached.
 *
 * Must not know:  what a line computes: whether it may be changed, a run shows.
 * Invariant:      only a line that fits its form is changed, and only the value that it keeps.
 */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "replay/inspect/leak_owner.h"
#include "whatif/advise/advise_internal.h"

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
            return false;
    return len > 0;
}

/* The value without its history: `loss.detach()`, or in parentheses where it is no name. */
static void add_detached(const char *value, size_t len, struct vs_text *out)
{
    const bool plain = is_name(value, len);

    vs_text_addf(out, "%s%.*s%s.detach()", plain ? "" : "(", (int)len, value, plain ? "" : ")");
}

/* Where the value of `line` begins: after `+=`, `.append(` or `=`; NULL: it has none of these forms. */
static const char *value_begin(const char *line, size_t len, bool *is_call)
{
    static const char *const FORMS[] = {" += ", ".append(", " = "};

    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        const char *at = strstr(line, FORMS[i]);

        *is_call = i == 1;
        if (at && at + strlen(FORMS[i]) < line + len)
            return at + strlen(FORMS[i]);
    }
    return NULL;
}

/* The line with its value detached. False: it does not end its statement, or has another form. */
static bool line_detach(const char *line, size_t len, struct vs_text *out)
{
    bool is_call = false;
    const char *value = value_begin(line, len, &is_call);
    const char *end = line + len - is_call;

    if (!value || value >= end || memchr(line, '#', len) || strchr("\\,([{:", line[len - 1]) ||
        (is_call && *end != ')'))
        return false;
    vs_text_add_n(out, line, (size_t)(value - line));
    add_detached(value, (size_t)(end - value), out);
    vs_text_add(out, is_call ? ")" : "");
    return true;
}

/* Line `number` of the net, from 1; *len: without its end. */
static const char *line_at(const char *text, uint32_t number, size_t *len)
{
    for (; number > 1 && *text; number--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    *len = strcspn(text, "\n");
    return text;
}

/* The line on which the name that keeps the leak of s->memory was bound; 0: there is no leak, or none of the net's. */
static enum vs_status owner_line(struct wif_advising *s, uint32_t *line, struct vs_error *err)
{
    struct rpl_leak_owner owner = {.is_known = false};
    struct rpl_index *index = NULL;
    struct rpl_leak leak;
    enum vs_status st = rpl_index_open(s->memory, NULL, NULL, &index, err);

    *line = 0;
    if (!st)
        st = rpl_alive_leak(index, &leak, err);
    if (!st && leak.count)
        st = rpl_leak_owner(index, &leak, &owner, err);
    if (!st && owner.is_known && owner.by_history)
        *line = rpl_trace_location(s->memory, owner.holder.location)->line;
    rpl_index_free(index);
    return st;
}

enum vs_status wif_advising_leaks(struct wif_advising *s, struct vs_error *err)
{
    struct wif_change change = {.edits = {NULL, 0, 0}};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error why = VS_ERROR_INIT;
    struct wif_figures run;
    uint32_t line;
    size_t len = 0;
    const char *recorded;
    enum vs_status st = owner_line(s, &line, err);

    if (st || !line)
        return st;
    recorded = line_at(rpl_trace_source_text(s->base), line, &len);
    if (len && line_detach(recorded, len, &text)) {
        wif_edits_add(&change.edits, line, true, vs_text_get(&text));
        st = wif_advising_run(s, &change, &run, &why);
        if (!st)
            (void)wif_advising_add(s, &change, &run);
        st = st == VS_E_STOPPED ? vs_fail(err, st, "%s", why.text) : VS_OK;
    }
    vs_text_release(&text);
    wif_change_release(&change);
    return st;
}
