/*
 * tui/views/view_whatif.c - what-if: changes a toggle and runs the net again with it.
 *
 * Must not know:  what a toggle means; it only uses the rows of base/toggle.def.
 * Invariant:      the description of the change comes from replay/diff/compare.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "replay/diff/compare.h"
#include "replay/report/by_value.h"
#include "replay/report/report.h"
#include "tui/act.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/program.h"
#include "tui/views.h"
#include "whatif/price.h"
#include "whatif/program_toggles.h"
#include "whatif/recipe.h"
#include "whatif/whatif.h"

/* Rows of the result below the toggles, if the pane is high enough. */
#define ANSWER_H 6
#define NAME_W 19
#define VALUE_W 14
#define EFFECT_W 9

/* Whether the peak with the next value of a toggle is known, or its run fails, and how much it would change. */
enum known { UNKNOWN, KNOWN, REFUSED };
struct effect {
    enum known known;
    int64_t delta;
};

/*
 * list     one row for each toggle that can be tried
 * answer   its result, or else the description of `described`
 * effects  by toggle, of the runs that had been made when `runs` of them were
 */
struct whatif {
    struct tui_list list;
    struct tui_page answer;
    uint64_t moves;
    size_t described;
    struct effect effects[VS_TOGGLE_COUNT];
    uint64_t runs;
    int w;
};

/* ---- what can be tried ---- */

/*
 * The toggles of a trace without a net: those that change the allocator, and of a program that can be run again those
 * that can be applied to one; of a program's calls of the driver, none.
 */
static bool can_be_tried(const struct tui_app *app, enum vs_toggle toggle)
{
    if (rpl_trace_is_program(app->base.trace))
        return false;
    if (wif_recipe_is_in(app->base.trace))
        return !wif_program_refusal(toggle, vs_toggle_info(toggle)->initial);
    if (vs_toggle_info(toggle)->flags & VS_TOGGLE_PROGRAM)
        return false;
    return rpl_trace_source_text(app->base.trace) || toggle == VS_TOGGLE_ALLOC_CONF ||
           toggle == VS_TOGGLE_TARGET;
}

/* The toggle of row `row`; VS_TOGGLE_COUNT past the end. */
static enum vs_toggle toggle_at(const struct tui_app *app, size_t row)
{
    enum vs_toggle toggle;

    for (size_t i = 0; (toggle = tui_change_row(i)) != VS_TOGGLE_COUNT; i++)
        if (can_be_tried(app, toggle) && row-- == 0)
            break;
    return toggle;
}

static size_t toggle_rows(const struct tui_app *app)
{
    size_t rows = 0;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        rows += can_be_tried(app, (enum vs_toggle)i);
    return rows;
}

/* ---- the answer ---- */

static void add_where(struct tui_page *page, const char *word, struct vs_text *where)
{
    tui_page_add(page, TUI_DIM, "%-8s", word);
    tui_page_more(page, 0, TUI_PLAIN, "%s", vs_text_get(where));
    vs_text_release(where);
}

/* Where the two runs have their peaks. */
static void add_wheres(struct tui_page *page, const struct tui_app *app)
{
    const struct tui_change *change = &app->change;
    struct vs_text text = {NULL, 0, 0};

    if (tui_change_is_whole(app))
        vs_text_add(&text, vs_text_get(&change->whole.where));
    else if (change->compare.before.event)
        tui_peak_text(app->base.trace, &change->compare.before, &text);
    if (text.len)
        add_where(page, "before", &text);
    if (change->compare.after.event) {
        tui_peak_text(change->run.trace, &change->compare.after, &text);
        add_where(page, "after", &text);
    }
}

/* is_lower: the peak is a lower bound */
static void add_peaks(struct tui_page *page, const struct rpl_compare *compare, bool is_lower)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];
    double before = (double)compare->before.peak;

    tui_page_add(page, TUI_DIM, "%-8s", "peak");
    tui_page_more(page, 0, TUI_PLAIN, "%s ", vs_bytes_text(compare->before.peak, a));
    tui_page_more(page, 0, TUI_DIM, "\xE2\x86\x92 ");
    tui_page_more(page, 0, TUI_STRONG, "%s%s", is_lower ? "lower bound " : "",
                  vs_bytes_text(compare->after.peak, b));
    tui_page_more(page, 0, compare->delta > 0 ? TUI_BAD : TUI_GOOD, "  %s",
                  vs_bytes_delta_text(compare->delta, d));
    if (before > 0.0)
        tui_page_more(page, 0, TUI_PLAIN, " (%s)",
                      vs_change_text(before, before + (double)compare->delta, d));
}

/* The categories that changed most, the largest change first; as many as fit into `w` cells. */
static void add_categories(struct tui_page *page, const struct rpl_compare *compare, int w)
{
    bool is_said[VS_CATEGORY_COUNT] = {false};
    char buf[TUI_SHORT_MAX];
    char part[64];
    int used = 8;

    if (!compare->delta)
        return;
    tui_page_add(page, TUI_DIM, "%-8s", "of that");
    for (int n = 0; n < TUI_PARTS_MAX - 1; n++) {
        int best = -1;

        for (int i = 0; i < VS_CATEGORY_COUNT; i++)
            if (!is_said[i] && compare->by_category[i] &&
                (best < 0 || llabs(compare->by_category[i]) > llabs(compare->by_category[best])))
                best = i;
        if (best < 0)
            break;
        is_said[best] = true;
        used += snprintf(part, sizeof(part), "%s%c %s %s", n ? "  " : "", tui_category_letter(best),
                         vs_category_name((enum vs_category)best),
                         tui_short_delta(compare->by_category[best], buf));
        if (used > w)
            break;
        tui_page_more(page, 0, tui_category_role(best), "%s", part);
    }
}

/* Adds `text` of `cells` cells to the page's last line, of which `*used` are taken, or to a line of its own. */
static void add_part(struct tui_page *page, enum tui_role role, const char *text, size_t cells,
                     size_t *used, int w)
{
    if (*used + cells > (size_t)w) {
        tui_page_add(page, TUI_DIM, "%-8s", "");
        *used = 8;
    }
    tui_page_more(page, 0, role, "%s", text);
    *used += cells;
}

/* Samples in a step of the what-if over those of the recorded run: costs are compared per sample. */
static double samples_ratio(const struct tui_app *app)
{
    double before = strtod(tui_change_recorded(app, VS_TOGGLE_BATCH), NULL);
    double after = strtod(tui_change_value(app, VS_TOGGLE_BATCH), NULL);

    return app->change.name || before < 1 || after < 1 ? 1.0 : after / before;
}

/* The cost per sample, the change of the reserved bytes, and what ops read and write: on one line where they fit. */
static void add_rest(struct tui_page *page, const struct tui_app *app, int w)
{
    const struct rpl_compare *compare = &app->change.compare;
    const bool is_net = rpl_trace_source_text(app->base.trace) != NULL;
    const double samples = samples_ratio(app);
    const char *each = app->change.name ? "" : " per sample";
    struct vs_text cost = {NULL, 0, 0};
    struct vs_text reserved = {NULL, 0, 0};
    struct vs_text moved = {NULL, 0, 0};
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char ns[TUI_SHORT_MAX];
    size_t used = 8;

    if (is_net)
        vs_text_addf(&cost, "arithmetic%s x%.3g, %.1f %% recomputed   ", each,
                     compare->flops_ratio / samples, 100.0 * compare->recompute);
    if (!app->change.name && app->change.cost.rerun_ns > 0)
        vs_text_addf(&cost, "on GPU %s more per step%s   ",
                     tui_short_ns((uint64_t)app->change.cost.rerun_ns, ns),
                     app->change.cost.unmeasured > 0 ? ", without ops that were not measured" : "");
    vs_text_addf(&reserved, "most reserved %s \xE2\x86\x92 %s",
                 vs_bytes_text(compare->before.reserved, a),
                 vs_bytes_text(compare->after.reserved, b));
    if (is_net && app->change.moved_ratio > 0)
        vs_text_addf(&moved, "   bytes moved%s x%.3g", each, app->change.moved_ratio / samples);
    tui_page_add(page, TUI_DIM, "%-8s", "cost");
    add_part(page, TUI_PLAIN, vs_text_get(&cost), cost.len, &used, w);
    /* the arrow takes three bytes and one cell */
    add_part(page, TUI_DIM, vs_text_get(&reserved), reserved.len - 2, &used, w);
    if (moved.len)
        add_part(page, TUI_PLAIN, vs_text_get(&moved), moved.len, &used, w);
    vs_text_release(&cost);
    vs_text_release(&reserved);
    vs_text_release(&moved);
}

/* What makes the peak a lower bound, and what PyTorch does by values, in the report's words. */
static void add_bound(struct tui_page *page, const struct tui_app *app, int w)
{
    const struct tui_change *change = &app->change;
    struct vs_text text = {NULL, 0, 0};

    if (change->uncertainty.allocs)
        rpl_uncertainty_text(change->run.trace, &change->uncertainty, change->compare.after.peak,
                             &text);
    if (change->run.trace)
        rpl_by_values_text(change->run.trace, &text);
    tui_page_wrap(page, w, 0, TUI_PLAIN, vs_text_get(&text));
    vs_text_release(&text);
}

/* The first part of the toggle that could not be applied; it is near the top, because it explains an empty result. */
static void add_refused(struct tui_page *page, const char *refused, int w)
{
    size_t len = strcspn(refused, "\n");
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "not applied: %.*s%s", (int)len, refused,
                 refused[len] ? " (more below)" : "");
    tui_page_wrap(page, w, 0, TUI_BAD, vs_text_get(&text));
    vs_text_release(&text);
}

/* All parts that could not be applied, if they need more than one line. */
static void add_all_refused(struct tui_page *page, const char *refused, int w)
{
    if (!strchr(refused, '\n'))
        return;
    tui_page_add(page, TUI_BAD, "not applied:");
    tui_page_wrap(page, w, 2, TUI_PLAIN, refused);
}

/* Whether the run now fits into the device's memory. */
static void add_fit(struct tui_page *page, const struct tui_app *app)
{
    const struct tui_run *run = &app->change.run;
    char buf[VS_BYTES_TEXT_MAX];

    if (run->oom)
        tui_page_add(page, TUI_BAD, "memory %s out, at event %" PRIu64 ": %s refused",
                     app->base.oom ? "still runs" : "runs", run->oom,
                     vs_bytes_text(run->oom_bytes, buf));
    else if (app->base.oom)
        tui_page_add(page, TUI_GOOD, "it fits: memory no longer runs out");
}

/* The full description of the chosen toggle, which its row cuts off. */
static void add_toggle(struct whatif *s, const struct tui_app *app)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle_at(app, s->list.at));
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%s: %s. It costs: %s.", info->name, info->help, info->cost);
    tui_page_wrap(&s->answer, s->w - 2, 0, TUI_PLAIN, vs_text_get(&text));
    vs_text_release(&text);
}

/* Which runs the figures compare, where there is more than one that they could. */
static void add_runs(struct tui_page *page, const struct tui_app *app)
{
    const struct tui_change *change = &app->change;

    if (change->name)
        tui_page_add(page, TUI_DIM, "%s, compared with %s:", change->name, app->name);
    else if (change->second.trace)
        tui_page_add(page, TUI_DIM, "what if, of %s:", app->name);
    else if (tui_change_is_whole(app))
        tui_page_add(page, TUI_DIM, "of the whole run, not only what was kept:");
}

static void add_running(struct tui_page *page, const struct tui_app *app, int w)
{
    struct vs_text text = {NULL, 0, 0};

    tui_program_text(app, &text);
    vs_text_add(&text, "; <C-c> stops it");
    tui_page_wrap(page, w, 0, TUI_STRONG, vs_text_get(&text));
    vs_text_release(&text);
}

static void answer_make(struct whatif *s, const struct tui_app *app)
{
    struct tui_page *page = &s->answer;
    const struct tui_change *change = &app->change;

    tui_page_clear(page);
    if (app->rerun.job)
        add_running(page, app, s->w - 2);
    if (change->failure)
        tui_page_wrap(page, s->w - 2, 0, TUI_BAD, change->failure);
    if (change->is_run) {
        add_runs(page, app);
        add_fit(page, app);
        add_peaks(page, &change->compare, change->uncertainty.allocs != 0);
        if (change->refused)
            add_refused(page, change->refused, s->w - 2);
        add_categories(page, &change->compare, s->w - 1);
        add_wheres(page, app);
        add_rest(page, app, s->w - 1);
        add_bound(page, app, s->w - 2);
        if (change->refused)
            add_all_refused(page, change->refused, s->w - 2);
    } else if (rpl_trace_is_program(app->base.trace)) {
        tui_page_wrap(page, s->w - 2, 0, TUI_DIM,
                      "This trace has no net: it has what a program requested from the driver, and "
                      "what the program would request with other toggles is not known. Record a "
                      "net file to run what-ifs.");
    } else if (wif_recipe_is_in(app->base.trace)) {
        add_toggle(s, app);
        tui_page_wrap(page, s->w - 2, 0, TUI_DIM,
                      "space switches a toggle, h and l change its value. The recorded program "
                      "then runs again in the background, once you have agreed, with the toggle "
                      "applied from outside; ^C stops it. alloc-conf and target need no program.");
    } else if (!rpl_trace_source_text(app->base.trace)) {
        tui_page_wrap(
            page, s->w - 2, 0, TUI_DIM,
            "This trace has no net (it was imported), but its requests can be run through the "
            "allocator again: space, h and l change the allocator's settings. The toggles that "
            "need the net (checkpoint, amp and others) are not listed; a recording of a net file "
            "has them.");
    } else {
        add_toggle(s, app);
        tui_page_wrap(
            page, s->w - 2, 0, TUI_DIM,
            "space switches a toggle, enter opens its value. The net then runs again "
            "without data; the result is a complete run, exact to the byte, and D switches "
            "between it and the recorded run.");
    }
}

/* ---- effects ---- */

/* What the next value of a toggle would do to the peak of the run in force, where its run has been made. */
static struct effect effect_of(struct tui_app *app, enum vs_toggle toggle)
{
    struct effect effect = {UNKNOWN, 0};
    const struct tui_change *change = &app->change;
    const uint64_t recorded = tui_change_recorded_peak(app);
    const uint64_t now = change->is_run && !change->name ? change->run.top.allocated : recorded;
    struct vs_toggles set = {{NULL}};
    struct vs_error ignored = VS_ERROR_INIT;
    const struct wif_result *result = NULL;
    char value[VS_TOGGLE_VALUE_MAX];
    bool is_recorded = true;

    if (!tui_change_next(app, toggle, 1, value))
        return effect;
    vs_toggles_copy(&set, &change->set);
    if (tui_change_put(app, &set, toggle, value, &ignored))
        goto out;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        is_recorded &= !vs_toggles_is_set(&set, (enum vs_toggle)i);
    if (is_recorded && !change->edits.count) {
        effect = (struct effect){KNOWN, (int64_t)(recorded - now)};
        goto out;
    }
    result = wif_cache_find(tui_change_results(app), &set, wif_capacity(app->base.trace), NULL);
    if (result && result->status)
        effect.known = REFUSED;
    else if (result)
        effect = (struct effect){KNOWN, (int64_t)(result->run.peak - now)};
out:
    vs_toggles_release(&set);
    return effect;
}

/* Without precomputation nothing is known ahead, and the column stays empty. */
static void effects_fill(struct whatif *s, struct tui_app *app)
{
    s->runs = app->precompute.runs;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        s->effects[i] = app->is_lazy || !can_be_tried(app, (enum vs_toggle)i)
                            ? (struct effect){UNKNOWN, 0}
                            : effect_of(app, (enum vs_toggle)i);
}

/* ---- the view ---- */

/* Number of rows for the toggles; the rows below show the result. */
static int list_h(const struct tui_app *app, int h)
{
    int rest = h - ((int)toggle_rows(app) + 1);

    if (rest < ANSWER_H)
        rest = h > 2 * ANSWER_H ? ANSWER_H : h / 2;
    return h - rest - 1 > 0 ? h - rest - 1 : 1;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct whatif *s = state;

    if (s->moves != app->moves || s->runs != app->precompute.runs)
        effects_fill(s, app);
    if (s->moves != app->moves || s->w != w || s->described != s->list.at) {
        s->w = w;
        s->moves = app->moves;
        s->described = s->list.at;
        answer_make(s, app);
    }
    tui_list_fit(&s->list, toggle_rows(app), list_h(app, h));
    app->change.toggle = s->list.count ? toggle_at(app, s->list.at) : VS_TOGGLE_BATCH;
    tui_list_fit(&s->answer.list, s->answer.count, h - list_h(app, h) - 1);
}

/* By how much space would change the peak. is_running: the program runs with the toggle now. */
static void draw_effect(const struct effect *effect, bool is_running, struct tui_canvas *c, int x,
                        int y)
{
    char buf[TUI_SHORT_MAX];
    enum tui_role role = effect->delta < 0 ? TUI_GOOD : effect->delta > 0 ? TUI_BAD : TUI_DIM;

    if (is_running)
        tui_text_right(c, x, y, EFFECT_W - 1, tui_style(TUI_STRONG), "running");
    else if (effect->known == REFUSED)
        tui_text_right(c, x, y, EFFECT_W - 1, tui_style(TUI_DIM), "refused");
    else if (effect->known == KNOWN)
        tui_text_right(c, x, y, EFFECT_W - 1, tui_style(role),
                       effect->delta ? tui_short_delta(effect->delta, buf) : "same");
}

static void draw_row(const struct whatif *s, const struct tui_app *app, enum vs_toggle toggle,
                     struct tui_canvas *c, int y)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);
    bool is_set = vs_toggles_is_set(&app->change.set, toggle);
    const char *value =
        tui_change_is_own(app, toggle) ? TUI_CHANGE_OWN_TEXT : tui_change_value(app, toggle);
    struct tui_style style = tui_style(is_set ? TUI_KEY_NAME : TUI_PLAIN);
    int x = 5 + NAME_W;
    int end; /* of the name: a long one moves what follows */

    tui_textf(c, 1, y, tui_style(is_set ? TUI_KEY_NAME : TUI_DIM), "[%c]",
              tui_change_mark(app, toggle));
    end = tui_text(c, 5, y, tui_style(is_set ? TUI_STRONG : TUI_PLAIN), info->name) + 1;
    x = tui_text_cut(c, end > x ? end : x, y, VALUE_W - 1, style, value) + 1;
    draw_effect(&s->effects[toggle], app->rerun.job && vs_toggles_is_set(&app->rerun.set, toggle),
                c, x, y);
    x += EFFECT_W;
    if (is_set)
        x = tui_textf(c, x, y, tui_style(TUI_DIM), "was %s  ",
                      wif_known(app->base.trace, toggle) ? tui_change_recorded(app, toggle)
                                                         : "the " TUI_CHANGE_OWN_TEXT);
    tui_text_cut(c, x, y, c->at.w - x, tui_style(TUI_DIM), info->help);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct whatif *s = state;
    int h = list_h(app, c->at.h);
    struct tui_canvas answer =
        tui_canvas_part(c, (struct tui_rect){0, h + 1, c->at.w, c->at.h - h - 1});

    for (int y = 0; y < h; y++) {
        size_t row = s->list.top + (size_t)y;

        if (row >= s->list.count)
            break;
        draw_row(s, app, toggle_at(app, row), c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
    tui_row(c, 0, h, c->at.w, TUI_G_HLINE, tui_style(TUI_LINE));
    tui_page_draw(&s->answer, &answer, false);
}

/* ---- flipping ---- */

static void turn(struct tui_app *app, enum vs_toggle toggle, int by)
{
    char value[VS_TOGGLE_VALUE_MAX];
    struct vs_error err = VS_ERROR_INIT;

    if (!tui_change_next(app, toggle, by, value)) {
        tui_app_say(app, "`:set %s=…` takes %s", vs_toggle_info(toggle)->name,
                    vs_toggle_legal_text(toggle, value));
        return;
    }
    if (tui_change_set(app, toggle, value, &err))
        tui_change_refuse(app, err.text);
    else
        tui_app_change(app);
}

/* The prompt opens with `:set NAME=`; what is legal in this net stands below it. */
static void value_edit(struct tui_app *app, enum vs_toggle toggle)
{
    struct vs_text line = {NULL, 0, 0};

    vs_text_addf(&line, "set %s=", vs_toggle_info(toggle)->name);
    tui_prompt_open(&app->prompt, ':', vs_text_get(&line));
    tui_value_hint(app);
    vs_text_release(&line);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct whatif *s = state;
    enum vs_toggle toggle = toggle_at(app, s->list.at);

    (void)count;
    if (!s->list.count)
        return false;
    if (action == TUI_ACT || action == TUI_RIGHT) {
        turn(app, toggle, 1);
    } else if (action == TUI_LEFT) {
        turn(app, toggle, -1);
    } else if (action == TUI_OPEN) {
        value_edit(app, toggle);
    } else {
        return false;
    }
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    enum vs_toggle toggle = toggle_at(app, row);

    (void)state;
    vs_text_addf(out, "%s=%s  %s", vs_toggle_info(toggle)->name,
                 tui_change_is_own(app, toggle) ? TUI_CHANGE_OWN_TEXT
                                                : tui_change_value(app, toggle),
                 vs_toggle_info(toggle)->help);
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    (void)state;
    if (app->change.name || app->change.second.trace)
        vs_text_addf(out, "toggles of %s%s", app->name, tui_change_count(app) ? ": " : "");
    if (tui_change_count(app))
        tui_change_text(app, out);
}

static void release(void *state)
{
    tui_page_release(&((struct whatif *)state)->answer);
}

static const struct tui_hint HINTS[] = {
    {"space", "switch"},  {"enter", "value"},   {"C-r", "as recorded"}, {"D", "other run"},
    {"gd", "difference"}, {"gW", "what helps"}, {NULL, NULL},
};

const struct tui_view tui_view_whatif = {
    .name = "whatif",
    .title = "what if",
    .letter = 'w',
    .scope = TUI_IN_WHATIF,
    .go = TUI_GO_WHATIF,
    .help = "Space switches the toggle, h and l change its value, enter opens it: what is legal in "
            "this net stands below, <tab> completes. <C-r> goes back to the recorded toggles, D "
            "switches between the two runs. The column beside the values says by how much space "
            "would change the peak; it fills while no key is pressed.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct whatif),
    .is_list = true,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
