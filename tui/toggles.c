/*
 * tui/toggles.c - the toggles of a what-if: their order in the panel, their values, what they are as text.
 *
 * Must not know:  drawing, how a what-if is run.
 * Invariant:      the set has only values that differ from the recorded ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/change.h"
#include "whatif/price.h"
#include "whatif/remedy.h"

/* The toggles that change most, and cost least, first; the others follow as base/toggle.def has them. */
static const enum vs_toggle FIRST_ROWS[] = {
    VS_TOGGLE_BATCH,      VS_TOGGLE_AMP,       VS_TOGGLE_CHECKPOINT, VS_TOGGLE_DROP_OUTPUTS,
    VS_TOGGLE_OPTIMIZER,  VS_TOGGLE_INPLACE,   VS_TOGGLE_ACCUMULATE, VS_TOGGLE_CHUNK_LOSS,
    VS_TOGGLE_FOREACH,    VS_TOGGLE_ZERO_GRAD, VS_TOGGLE_FREEZE,     VS_TOGGLE_HALF,
    VS_TOGGLE_ALLOC_CONF,
};
#define FIRST_COUNT (sizeof(FIRST_ROWS) / sizeof(FIRST_ROWS[0]))

enum vs_toggle tui_change_row(size_t row)
{
    bool is_first[VS_TOGGLE_COUNT] = {false};

    if (row < FIRST_COUNT)
        return FIRST_ROWS[row];
    row -= FIRST_COUNT;
    for (size_t i = 0; i < FIRST_COUNT; i++)
        is_first[FIRST_ROWS[i]] = true;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        if (!is_first[i] && row-- == 0)
            return (enum vs_toggle)i;
    return VS_TOGGLE_COUNT;
}

bool tui_change_is_own(const struct tui_app *app, enum vs_toggle toggle)
{
    return !vs_toggles_is_set(&app->change.set, toggle) && !wif_known(app->base.trace, toggle);
}

const char *tui_change_recorded(const struct tui_app *app, enum vs_toggle toggle)
{
    const char *value = wif_known(app->base.trace, toggle);

    return value ? value : TUI_CHANGE_OWN;
}

const char *tui_change_value(const struct tui_app *app, enum vs_toggle toggle)
{
    return vs_toggles_is_set(&app->change.set, toggle) ? vs_toggles_get(&app->change.set, toggle)
                                                       : tui_change_recorded(app, toggle);
}

char tui_change_mark(const struct tui_app *app, enum vs_toggle toggle)
{
    if (vs_toggles_is_set(&app->change.set, toggle))
        return '*';
    return strncmp(vs_toggle_info(toggle)->legal, "off|", 4) == 0 &&
                   strcmp(tui_change_value(app, toggle), "off") != 0 &&
                   !tui_change_is_own(app, toggle)
               ? 'x'
               : ' ';
}

/* Remove one toggle from the set. */
static void unset(struct vs_toggles *set, enum vs_toggle toggle)
{
    vs_free(set->value[toggle]);
    set->value[toggle] = NULL;
}

enum vs_status tui_change_put(const struct tui_app *app, struct vs_toggles *set,
                              enum vs_toggle toggle, const char *value, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (strcmp(value, TUI_CHANGE_OWN) == 0 && !wif_known(app->base.trace, toggle)) {
        unset(set, toggle);
        return VS_OK;
    }
    st = vs_toggles_set(set, toggle, value, err);
    if (!st && strcmp(vs_toggles_get(set, toggle), tui_change_recorded(app, toggle)) == 0)
        unset(set, toggle);
    return st;
}

enum vs_status tui_change_set(struct tui_app *app, enum vs_toggle toggle, const char *value,
                              struct vs_error *err)
{
    return tui_change_put(app, &app->change.set, toggle, value, err);
}

size_t tui_change_count(const struct tui_app *app)
{
    size_t count = 0;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        count += vs_toggles_is_set(&app->change.set, (enum vs_toggle)i);
    return count + app->change.edits.count;
}

void tui_change_text(const struct tui_app *app, struct vs_text *out)
{
    bool is_first = true;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;

        if (!vs_toggles_is_set(&app->change.set, toggle))
            continue;
        vs_text_addf(out, "%s%s=%s", is_first ? "" : " ", vs_toggle_info(toggle)->name,
                     vs_toggles_get(&app->change.set, toggle));
        is_first = false;
    }
    if (app->change.edits.count && !is_first)
        vs_text_add(out, " ");
    wif_edits_text(&app->change.edits, out);
}

/* The legal words; where there is one alone (alloc-conf), also the values that `whatif --each` tries instead of it. */
static bool choice(enum vs_toggle toggle, size_t i, char *out)
{
    const char *initial = vs_toggle_info(toggle)->initial;

    if (vs_toggle_choice(toggle, i, out))
        return true;
    return i && !vs_toggle_choice(toggle, 1, out) && vs_toggle_try(toggle, initial, i - 1, out);
}

bool tui_change_next(const struct tui_app *app, enum vs_toggle toggle, int by, char *out)
{
    const bool has_own = !wif_known(app->base.trace, toggle);
    const char *initial = vs_toggle_info(toggle)->initial;
    const char *now = tui_change_is_own(app, toggle) ? initial : tui_change_value(app, toggle);
    size_t count = 0;
    size_t at = SIZE_MAX;

    while (choice(toggle, count, out)) {
        if (strcmp(out, now) == 0)
            at = count;
        count++;
    }
    if (count == 1 && at == 0)
        return false;
    if (!count) {
        uint64_t n = strtoull(now, NULL, 10);

        if (!n || (n > 1 && tui_change_is_own(app, toggle)))
            return false;
        n = by > 0 ? n * 2 : n > 1 ? n / 2 : 1;
        snprintf(out, VS_TOGGLE_VALUE_MAX, "%" PRIu64, n);
        if (has_own && strcmp(out, initial) == 0)
            snprintf(out, VS_TOGGLE_VALUE_MAX, "%s", TUI_CHANGE_OWN);
        return true;
    }
    /* a value that is not among the choices, such as a list of paths, is followed by the first choice */
    if (at == SIZE_MAX)
        at = 0;
    else
        at = by > 0 ? (at + 1) % count : (at + count - 1) % count;
    if (!choice(toggle, at, out))
        return false;
    /* where it is not known what the script says, its own value stands in the place of the default */
    if (has_own && strcmp(out, initial) == 0)
        snprintf(out, VS_TOGGLE_VALUE_MAX, "%s", TUI_CHANGE_OWN);
    return true;
}
