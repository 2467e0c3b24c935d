/*
 * tui/views/view_modules.c - the model as a tree: bytes of each module at the cursor and at the peak, and toggles for
 * single modules.
 *
 * Must not know:  terminals, what a toggle means.
 * Invariant:      the rows are the modules whose parents are all expanded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/modules.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "whatif/price.h"

#define OWN_MIN_W 52
#define BAR_MIN_W 70
/* Columns of a name at the top and of the figures; width of the bars on a wide screen. */
#define NAME_X 3
#define FIGURES_W 26
#define BAR_W 28

/* The order of the modules below one: as in the net, by bytes at the cursor, by bytes at the peak. */
enum order { ORDER_NET, ORDER_TOTAL, ORDER_PEAK, ORDER_COUNT };

/*
 * rows      list.count module numbers
 * tree, of  the tree of modules, and the index from which it was built
 * name_w    cells of the longest name with its indentation, or of the longest path
 * is_open   for each module, whether it is expanded; is_new: none has been expanded yet
 */
struct modules {
    struct tui_list list;
    struct rpl_modules *tree;
    const struct rpl_index *of;
    uint64_t number;
    bool *is_open;
    size_t *rows;
    size_t count;
    size_t row_count;
    uint64_t moves;
    bool is_stale;
    bool is_new;
    enum order order;
    int name_w;
    bool is_turned;
    bool is_sorted_anew;
};

/* ---- rows ---- */

static void tree_free(struct modules *s)
{
    rpl_modules_free(s->tree);
    s->tree = NULL;
    s->of = NULL;
    s->row_count = 0;
}

static enum vs_status tree_make(struct modules *s, const struct tui_run *run, struct vs_error *err)
{
    size_t before = s->count;
    enum vs_status st;

    tree_free(s);
    st = rpl_modules_new(run->index, &s->tree, err);
    if (st)
        return st;
    s->of = run->index;
    s->number = run->number;
    (void)rpl_modules_all(s->tree, &s->count);
    s->is_open = vs_realloc(s->is_open, s->count ? s->count : 1, sizeof(*s->is_open));
    s->rows = vs_realloc(s->rows, s->count ? s->count : 1, sizeof(*s->rows));
    /* a what-if has the modules of the recorded run: what is open stays open */
    if (s->count != before) {
        memset(s->is_open, 0, s->count * sizeof(*s->is_open));
        s->is_new = true;
    }
    return VS_OK;
}

/* The child of `number` with most bytes at the peak; SIZE_MAX: there are none. *sum: the bytes of all children. */
static size_t largest_below(const struct rpl_module *all, size_t number, uint64_t *sum)
{
    size_t last = number + all[number].below;
    size_t best = SIZE_MAX;

    *sum = 0;
    for (size_t i = number + 1; i <= last; i += 1 + all[i].below) {
        *sum += all[i].total_top;
        if (best == SIZE_MAX || all[i].total_top > all[best].total_top)
            best = i;
    }
    return best;
}

/* Descend to the first module of which no single child has more than half of the bytes. */
static void open_first(struct modules *s)
{
    const struct rpl_module *all = rpl_modules_all(s->tree, &s->count);
    size_t at = 0;

    s->is_new = false;
    while (at < s->count && all[at].below) {
        uint64_t sum;
        size_t next = largest_below(all, at, &sum);

        s->is_open[at] = true;
        if (next == SIZE_MAX || all[next].total_top <= sum / 2)
            return;
        at = next;
    }
}

/* While a filter is on, matching modules and those above them count as open. */
static bool is_wanted(const struct tui_app *app, const struct rpl_module *module)
{
    return !app->filter_count || tui_app_passes(app, module->path);
}

/* A module and its sort key. */
struct ranked {
    uint64_t bytes;
    size_t number;
};

static int by_bytes(const void *a, const void *b)
{
    const struct ranked *x = a;
    const struct ranked *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void rank(const struct modules *s, struct ranked *items, size_t count)
{
    if (s->order != ORDER_NET && count > 1)
        qsort(items, count, sizeof(*items), by_bytes);
    for (size_t i = 0; s->is_turned && i < count / 2; i++) {
        struct ranked item = items[i];

        items[i] = items[count - 1 - i];
        items[count - 1 - i] = item;
    }
}

/*
 * Append the siblings first … end - 1, each followed by its children if it is expanded. While a filter is on: all
 * modules that pass, as a flat list.
 */
static void rows_add(struct modules *s, const struct tui_app *app, size_t first, size_t end)
{
    const struct rpl_module *all = rpl_modules_all(s->tree, &s->count);
    struct ranked *items = vs_alloc((end - first + 1) * sizeof(*items));
    size_t count = 0;

    for (size_t i = first; i < end; i += app->filter_count ? 1 : 1 + all[i].below)
        if (is_wanted(app, &all[i]))
            items[count++] =
                (struct ranked){s->order == ORDER_PEAK ? all[i].total_top : all[i].total, i};
    rank(s, items, count);
    for (size_t i = 0; i < count; i++) {
        size_t number = items[i].number;

        s->rows[s->row_count++] = number;
        if (!app->filter_count && s->is_open[number])
            rows_add(s, app, number + 1, number + 1 + all[number].below);
    }
    vs_free(items);
}

/* Keep the chosen module chosen after a change of the order. */
static void rows_make(struct modules *s, const struct tui_app *app)
{
    size_t chosen = s->is_sorted_anew && s->list.at < s->row_count ? s->rows[s->list.at] : SIZE_MAX;

    s->is_sorted_anew = false;
    s->row_count = 0;
    rows_add(s, app, 0, s->count);
    for (size_t i = 0; i < s->row_count && chosen != SIZE_MAX; i++)
        if (s->rows[i] == chosen)
            s->list.at = i;
}

/* Cells by which a module is indented below those that it is in. */
static int indent_of(const struct tui_app *app, const struct rpl_module *module)
{
    return app->filter_count ? 0 : (int)(module->depth < 12 ? module->depth : 12) * 2;
}

static int name_width(const struct tui_app *app, const struct rpl_module *module)
{
    return indent_of(app, module) +
           tui_text_width(app->filter_count ? module->path : module->name) + 1;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct modules *s = state;
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;

    (void)w;
    if (s->moves != app->moves || s->is_stale) {
        s->moves = app->moves;
        s->is_stale = false;
        if (((s->of != run->index || s->number != run->number) && tree_make(s, run, &err)) ||
            rpl_modules_fill(s->tree, run->cursor, &err)) {
            tui_app_fail(app, "%s", err.text);
            tree_free(s);
        } else {
            if (s->is_new)
                open_first(s);
            rows_make(s, app);
        }
    }
    s->name_w = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        int name_w = name_width(app, &rpl_modules_all(s->tree, &(size_t){0})[s->rows[i]]);

        s->name_w = name_w > s->name_w ? name_w : s->name_w;
    }
    tui_list_fit(&s->list, s->row_count, h - 1);
}

/* ---- drawing ---- */

static void draw_head(struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    int x = c->at.w - 17;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text(c, 1, 0, style, "module");
    if (c->at.w >= OWN_MIN_W)
        tui_text_right(c, x - 8, 0, 7, style, "own");
    tui_text_right(c, x, 0, 7, style, "total");
    tui_text_right(c, x + 8, 0, 8, style, "at peak");
}

/* Draw the share of the whole as a bar that is divided by category. */
static void draw_bar(const struct tui_app *app, const struct rpl_module *module, uint64_t whole,
                     struct tui_canvas *c, int x, int y, int w)
{
    uint64_t sum = 0;
    int from = 0;

    for (int i = 0; i < VS_CATEGORY_COUNT && whole; i++) {
        int to;

        sum += module->by_category[i];
        to = (int)((double)sum / (double)whole * w + 0.5);
        for (; from < to; from++) {
            if (tui_app_has_letters(app))
                tui_put(c, x + from, y, (unsigned char)tui_category_letter(i),
                        tui_style(tui_category_role(i)));
            else
                tui_put_glyph(c, x + from, y, TUI_G_FULL, tui_style(tui_category_role(i)));
        }
    }
}

static void draw_module(const struct modules *s, const struct tui_app *app, size_t number,
                        struct tui_canvas *c, int y)
{
    const struct rpl_module *all = rpl_modules_all(s->tree, &(size_t){0});
    const struct rpl_module *module = &all[number];
    int indent = indent_of(app, module);
    int x = c->at.w - 17;
    int bar_w = c->at.w >= BAR_MIN_W ? c->at.w / 5 : 0;
    int name_w = x - 3 - indent - (c->at.w >= OWN_MIN_W ? 8 : 0) - bar_w;
    const char *name = app->filter_count ? module->path : module->name;
    char buf[TUI_SHORT_MAX];

    if (module->below)
        tui_put_glyph(c, 1 + indent, y, s->is_open[number] ? TUI_G_OPEN : TUI_G_CLOSED,
                      tui_style(TUI_KEY_NAME));
    tui_text_cut(c, 3 + indent, y, name_w - 1, tui_style(module->total ? TUI_PLAIN : TUI_DIM),
                 *name ? name : "(the model)");
    if (bar_w)
        draw_bar(app, module, all[0].total, c, 3 + indent + name_w, y, bar_w - 1);
    if (c->at.w >= OWN_MIN_W)
        tui_text_right(c, x - 8, y, 7, tui_style(TUI_DIM), tui_short_bytes(module->own, buf));
    tui_text_right(c, x, y, 7, tui_style(TUI_PLAIN), tui_short_bytes(module->total, buf));
    tui_text_right(c, x + 8, y, 8, tui_style(TUI_DIM), tui_short_bytes(module->total_top, buf));
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct modules *s = state;
    struct tui_canvas table = tui_table_canvas(c, NAME_X + s->name_w + BAR_W + FIGURES_W);

    if (!s->row_count) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      s->tree ? "none passes the filters; g\\ discards them" : "no modules");
        return;
    }
    draw_head(&table);
    for (int y = 1; y < c->at.h; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= s->row_count)
            break;
        draw_module(s, app, s->rows[row], &table, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

/* ---- keys ---- */

/* Put the path into the toggle's list of paths, or take it out. */
static void path_turn(struct tui_app *app, enum vs_toggle toggle, const char *path)
{
    const char *now = tui_change_value(app, toggle);
    bool is_list = !strchr(vs_toggle_info(toggle)->legal, '|') ||
                   vs_toggles_is_paths(&app->change.set, toggle);
    struct vs_text value = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    bool was_in = false;

    while (is_list && *now) {
        size_t len = strcspn(now, ",");

        if (len == strlen(path) && strncmp(now, path, len) == 0)
            was_in = true;
        else
            vs_text_addf(&value, "%s%.*s", value.len ? "," : "", (int)len, now);
        now += len + (now[len] == ',');
    }
    if (!was_in)
        vs_text_addf(&value, "%s%s", value.len ? "," : "", path);
    if (!value.len)
        vs_text_add(&value, wif_known(app->base.trace, toggle) ? vs_toggle_info(toggle)->initial
                                                               : TUI_CHANGE_OWN);
    if (tui_change_set(app, toggle, vs_text_get(&value), &err))
        tui_app_fail(app, "%s", err.text);
    else
        tui_app_change(app);
    vs_text_release(&value);
}

static void act_toggle(struct modules *s, struct tui_app *app, enum tui_action action)
{
    const struct rpl_module *module = &rpl_modules_all(s->tree, &s->count)[s->rows[s->list.at]];
    enum vs_toggle toggle = action == TUI_MODULE_CHECKPOINT ? VS_TOGGLE_CHECKPOINT
                            : action == TUI_MODULE_INPLACE  ? VS_TOGGLE_INPLACE
                                                            : VS_TOGGLE_FREEZE;
    char *path = vs_strdup(module->path); /* the tree belongs to one run */

    if (*path)
        path_turn(app, toggle, path);
    else
        tui_app_say(app, "the whole model: `:set %s=…`", vs_toggle_info(toggle)->name);
    vs_free(path);
}

static void fold(struct modules *s, struct tui_app *app, enum tui_action action)
{
    const struct rpl_module *all = rpl_modules_all(s->tree, &s->count);
    size_t number = s->rows[s->list.at];

    if (!all[number].below && (action != TUI_LEFT || all[number].parent == SIZE_MAX))
        tui_app_say(app, "this module has no other module inside");
    else if (action == TUI_ACT || action == TUI_OPEN)
        s->is_open[number] = !s->is_open[number];
    else if (action == TUI_RIGHT)
        s->is_open[number] = true;
    else if (s->is_open[number] && all[number].below)
        s->is_open[number] = false;
    else if (all[number].parent != SIZE_MAX)
        for (size_t i = 0; i < s->row_count; i++)
            if (s->rows[i] == all[number].parent)
                s->list.at = i;
}

static void sort_next(struct modules *s, enum tui_action action)
{
    if (action == TUI_SORT)
        s->order = (enum order)((s->order + 1) % ORDER_COUNT);
    else
        s->is_turned = !s->is_turned;
    s->is_sorted_anew = true;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct modules *s = state;

    (void)count;
    if (!s->row_count)
        return false;
    if (action == TUI_MODULE_CHECKPOINT || action == TUI_MODULE_INPLACE ||
        action == TUI_MODULE_FREEZE)
        act_toggle(s, app, action);
    else if (action == TUI_ACT || action == TUI_OPEN || action == TUI_LEFT || action == TUI_RIGHT)
        fold(s, app, action);
    else if (action == TUI_SORT || action == TUI_SORT_TURN)
        sort_next(s, action);
    else
        return false;
    s->is_stale = true;
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct modules *s = state;
    const struct rpl_module *module = &rpl_modules_all(s->tree, &(size_t){0})[s->rows[row]];
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    vs_text_addf(out, "%s  %s", *module->path ? module->path : "(the model)",
                 vs_bytes_text(module->total, buf));
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct modules *s = state;

    static const char *const ORDERS[ORDER_COUNT] = {"", ", by total", ", by peak"};

    vs_text_addf(out, "%zu%s%s", s->count ? s->count - 1 : 0, ORDERS[s->order],
                 s->is_turned ? ", reversed" : "");
    /* a what-if runs the net, which an imported trace does not have */
    if (rpl_trace_source_text(tui_app_run(app)->trace))
        vs_text_add(out, "; K checkpoint, X in-place, A freeze this module");
}

static void release(void *state)
{
    struct modules *s = state;

    tree_free(s);
    vs_free(s->is_open);
    vs_free(s->rows);
}

static const struct tui_hint HINTS[] = {
    {"space", "fold"},
    {"o", "sort"},
    {NULL, NULL},
};
static const struct tui_hint NET_HINTS[] = {
    {"K", "checkpoint"},
    {"X", "in-place"},
    {"A", "freeze"},
    {NULL, NULL},
};

const struct tui_view tui_view_modules = {
    .name = "modules",
    .title = "modules",
    .letter = 'm',
    .scope = TUI_IN_MODULES,
    .go = TUI_GO_MODULES,
    .help =
        "Space folds. K, X and A run a what-if in which this module alone is checkpointed, works "
        "in place, or is frozen. o sorts sibling modules by bytes, here or at the peak; O "
        "reverses the order. \\ filters by words.",
    .hints = HINTS,
    .net_hints = NET_HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct modules),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
