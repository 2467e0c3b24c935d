/*
 * whatif/edit.c - see edit.h.
 *
 * Must not know:  the net language.
 */
#include "whatif/edit.h"

#include <string.h>

#include "base/event.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/toggle.h"
#include "whatif/price.h"

void wif_edits_add(struct wif_edits *edits, uint32_t line, bool replaces, const char *text)
{
    size_t at = edits->count;

    edits->items = vs_grow(edits->items, edits->count, &edits->cap, sizeof(*edits->items));
    for (; at && edits->items[at - 1].line > line; at--)
        edits->items[at] = edits->items[at - 1];
    edits->items[at] = (struct wif_edit){line, replaces, vs_strdup(text)};
    edits->count++;
}

bool wif_edits_has(const struct wif_edits *edits, const struct wif_edit *edit)
{
    for (size_t i = 0; i < edits->count; i++)
        if (edits->items[i].line == edit->line && edits->items[i].replaces == edit->replaces &&
            strcmp(edits->items[i].text, edit->text) == 0)
            return true;
    return false;
}

void wif_edits_merge(struct wif_edits *edits, const struct wif_edits *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (!wif_edits_has(edits, &more->items[i]))
            wif_edits_add(edits, more->items[i].line, more->items[i].replaces, more->items[i].text);
}

bool wif_edits_equal(const struct wif_edits *a, const struct wif_edits *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!wif_edits_has(b, &a->items[i]))
            return false;
    return a->count == b->count;
}

void wif_edits_release(struct wif_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++)
        vs_free(edits->items[i].text);
    vs_free(edits->items);
    memset(edits, 0, sizeof(*edits));
}

static void add_line(struct vs_text *out, const char *text, size_t len)
{
    vs_text_add_n(out, text, len);
    vs_text_add_char(out, '\n');
}

char *wif_edits_apply(const struct wif_edits *edits, const char *source)
{
    struct vs_text out = {NULL, 0, 0};
    const char *p = source;
    size_t at = 0;

    for (uint32_t line = 1; *p; line++) {
        size_t len = strcspn(p, "\n");
        size_t first = at;
        bool is_replaced = false;

        while (at < edits->count && edits->items[at].line == line)
            is_replaced |= edits->items[at++].replaces;
        if (!is_replaced)
            add_line(&out, p, len);
        for (size_t i = first; i < at; i++)
            add_line(&out, edits->items[i].text, strlen(edits->items[i].text));
        p += len + (p[len] == '\n');
    }
    vs_text_add(&out, "");
    return vs_text_take(&out);
}

uint32_t wif_edits_recorded_line(const struct wif_edits *edits, uint32_t line)
{
    uint32_t added = 0;

    for (size_t i = 0; i < edits->count; i++) {
        const struct wif_edit *edit = &edits->items[i];

        if (edit->replaces)
            continue;
        if (line <= edit->line + added)
            break;
        added++;
        if (line == edit->line + added)
            return edit->line;
    }
    return line - added;
}

/* Steps and the optimizer steps that a GradScaler skipped in them, which a run without data cannot determine. */
static enum vs_status skips_copy(struct rpl_trace *base, struct rpl_trace *out,
                                 struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, base, 1, rpl_trace_event_count(base));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        if (event->kind == VS_EV_STEP || event->kind == VS_EV_SKIP_STEP)
            rpl_trace_add_event(out, event);
    st = scan->status;
    vs_free(scan);
    return st;
}

enum vs_status wif_edited_new(struct rpl_trace *base, const struct wif_edits *edits,
                              struct rpl_trace **out, struct vs_error *err)
{
    static const char *const KEPT[] = {"seed", "source_kind", "capacity", "workspaces"};
    struct rpl_trace *edited = rpl_trace_new();
    char *text = wif_edits_apply(edits, rpl_trace_source_text(base));
    enum vs_status st = VS_OK;

    *out = NULL;
    rpl_trace_set_source(edited, rpl_trace_source_name(base), text);
    vs_free(text);
    for (size_t i = 0; i < sizeof(KEPT) / sizeof(KEPT[0]); i++)
        if (rpl_trace_meta(base, KEPT[i]))
            rpl_trace_set_meta(edited, KEPT[i], rpl_trace_meta(base, KEPT[i]));
    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(base, i);

        rpl_trace_set_toggle(edited, toggle.name, toggle.value, toggle.is_default);
    }
    if (rpl_trace_event_count(base) && wif_scales_loss(wif_recorded(base, VS_TOGGLE_AMP)))
        st = skips_copy(base, edited, err);
    if (st) {
        rpl_trace_free(edited);
        return st;
    }
    *out = edited;
    return VS_OK;
}
