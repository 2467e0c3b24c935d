/*
 * whatif/remedy.c - see remedy.h.
 *
 * Must not know:  how a remedy is shown.
 * Invariant:      as remedy.h says.
 */
#include "whatif/remedy.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "lang/syntax/last_read.h"
#include "lang/syntax/parser.h"
#include "whatif/price.h"

/* The function of the library that trains a net, as holders name it, and its variable of the net's result. */
#define LOOP_SCOPE "training loop"
#define LOOP_OUTPUT "output"

/* ---- the line that releases a variable ---- */

/* Line `line` of the net, from 1, up to the end of the text. */
static const char *line_at(const char *text, uint32_t line)
{
    for (; line > 1 && *text; line--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

static bool release_line(const struct wif_release *r, const struct rpl_holder *holder,
                         bool outermost, struct wif_edits *out)
{
    const char *name = rpl_trace_string(r->run, holder->name);
    struct vs_text text = {NULL, 0, 0};
    struct lang_last_read last;
    const char *line;
    bool found;

    if (!lang_last_read(
            r->module, rpl_trace_string(r->run, holder->scope), name,
            wif_edits_recorded_line(r->by, rpl_trace_location(r->run, holder->location)->line),
            outermost, &last))
        return false;
    line = line_at(r->text, last.first_line);
    found = strspn(line, " \t") + 1 == last.col;
    vs_text_add_n(&text, line, last.col - 1);
    vs_text_addf(&text, "del %s", name);
    if (found)
        wif_edits_add(out, last.last_line, false, vs_text_get(&text));
    vs_text_release(&text);
    return found;
}

void wif_release_init(struct wif_release *out, const struct rpl_trace *base,
                      const struct rpl_trace *run, const struct wif_edits *by,
                      struct vs_arena *arena)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct lang_module *module = NULL;
    const char *text = rpl_trace_source_text(base);

    if (text &&
        lang_parse(rpl_trace_source_name(base), text, strlen(text), arena, &module, &ignored))
        module = NULL;
    *out = (struct wif_release){module, text, run, by};
}

bool wif_release_lines(const struct wif_release *release, const struct rpl_why *why, bool outermost,
                       struct wif_edits *out)
{
    for (size_t i = 0; i < why->holder_count; i++)
        if (why->holders[i].kind != VS_HOLD_LOCAL ||
            !release_line(release, &why->holders[i], outermost, out))
            return false;
    return why->holder_count > 0;
}

void wif_edits_text(const struct wif_edits *edits, struct vs_text *out)
{
    for (size_t i = 0; i < edits->count; i++) {
        const struct wif_edit *edit = &edits->items[i];

        vs_text_addf(out, "%s`%s` %s line %" PRIu32, i ? ", " : "",
                     edit->text + strspn(edit->text, " \t"),
                     edit->replaces ? "instead of" : "after", edit->line);
    }
}

/* ---- a remedy ---- */

/* Whether the training loop's variable of the net's result holds it, and nothing else does. */
static bool is_output(const struct rpl_trace *run, const struct rpl_why *why)
{
    const struct rpl_holder *holder = why->holders;

    return why->holder_count == 1 && holder->kind == VS_HOLD_LOCAL &&
           strcmp(rpl_trace_string(run, holder->scope), LOOP_SCOPE) == 0 &&
           strcmp(rpl_trace_string(run, holder->name), LOOP_OUTPUT) == 0;
}

/* The lines that release it. False: there are none. */
static bool lines_find(struct wif_remedy *out, const struct wif_release *release,
                       const struct rpl_why *why)
{
    bool found = release->module && wif_release_lines(release, why, false, &out->edits);

    if (!found || !wif_release_lines(release, why, true, &out->outer))
        wif_edits_release(&out->outer);
    return found;
}

bool wif_remedy_find(struct wif_remedy *out, const struct wif_release *release,
                     const struct rpl_trace *base, const struct rpl_why *why)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    memset(out, 0, sizeof(*out));
    if (!rpl_trace_source_text(base) || !why->is_alive)
        return false;
    if (is_output(release->run, why) &&
        strcmp(wif_recorded(base, VS_TOGGLE_DROP_OUTPUTS), "early") != 0 &&
        !vs_toggles_set(&out->set, VS_TOGGLE_DROP_OUTPUTS, "early", &ignored)) {
        out->text = vs_strdup("`del output` before backward");
        return true;
    }
    if (!lines_find(out, release, why)) {
        wif_remedy_release(out);
        return false;
    }
    wif_edits_text(&out->edits, &text);
    out->text = vs_text_take(&text);
    return true;
}

void wif_remedy_release(struct wif_remedy *remedy)
{
    vs_toggles_release(&remedy->set);
    wif_edits_release(&remedy->edits);
    wif_edits_release(&remedy->outer);
    vs_free(remedy->text);
    memset(remedy, 0, sizeof(*remedy));
}
