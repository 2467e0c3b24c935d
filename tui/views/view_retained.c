/*
 * tui/views/view_retained.c - what would be freed if a name were gone, as a tree.
 *
 * Must not know:  terminals.
 * Invariant:      the groups add up to what is allocated at the event. A node stays open while others come and go.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/retained.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "whatif/recipe.h"

#define FIGURES_W 26

/* A node that is open. */
struct open_node {
    enum rpl_retained_level level;
    unsigned kind;
    uint32_t name;
    uint32_t scope;
    uint32_t line;
    bool is_shared;
};

/* rows: indices of the nodes that are shown */
struct retained {
    struct tui_list list;
    struct rpl_retained tree;
    size_t *rows;
    size_t count;
    size_t row_cap;
    struct open_node *open;
    size_t open_count;
    size_t open_cap;
    uint64_t moves;
    bool is_changed;
};

static bool is_that(const struct open_node *open, const struct rpl_retained_node *node)
{
    return open->level == node->level && open->kind == node->kind && open->scope == node->scope &&
           (node->level == RPL_RETAINED_GROUP ||
            (open->name == node->name && open->line == node->line &&
             open->is_shared == node->is_shared));
}

static bool is_open(const struct retained *s, const struct rpl_retained_node *node)
{
    for (size_t i = 0; i < s->open_count; i++)
        if (is_that(&s->open[i], node))
            return true;
    return false;
}

static void fold(struct retained *s, const struct rpl_retained_node *node)
{
    for (size_t i = 0; i < s->open_count; i++)
        if (is_that(&s->open[i], node)) {
            s->open[i] = s->open[--s->open_count];
            return;
        }
    s->open = vs_grow(s->open, s->open_count, &s->open_cap, sizeof(*s->open));
    s->open[s->open_count++] = (struct open_node){node->level, node->kind, node->name,
                                                  node->scope, node->line, node->is_shared};
}

static void rows_fill(struct retained *s, const struct tui_app *app)
{
    bool is_group = false;
    bool is_name = false;
    struct vs_text text = {NULL, 0, 0};

    s->count = 0;
    for (size_t i = 0; i < s->tree.count; i++) {
        const struct rpl_retained_node *node = &s->tree.nodes[i];

        if (node->level == RPL_RETAINED_GROUP) {
            is_group = is_open(s, node) || app->filter_count;
            is_name = false;
        } else if (node->level == RPL_RETAINED_NAME) {
            if (!is_group)
                continue;
            is_name = is_open(s, node);
        } else if (!is_name) {
            continue;
        }
        if (app->filter_count && node->level != RPL_RETAINED_BLOCK) {
            vs_text_clear(&text);
            rpl_retained_text(tui_app_run(app)->trace, node, &text);
            if (!tui_app_passes(app, vs_text_get(&text)))
                continue;
        }
        s->rows = vs_grow(s->rows, s->count, &s->row_cap, sizeof(*s->rows));
        s->rows[s->count++] = i;
    }
    vs_text_release(&text);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct retained *s = state;

    (void)w;
    if (s->moves != app->moves) {
        s->moves = app->moves;
        rpl_retained_fill(&s->tree, tui_app_run(app)->cursor);
        s->is_changed = true;
    }
    if (s->is_changed)
        rows_fill(s, app);
    s->is_changed = false;
    tui_list_fit(&s->list, s->count, h - 1);
}

static void name_add(const struct tui_app *app, const struct rpl_retained_node *node,
                     struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_block *block = rpl_live_block(rpl_cursor_live(run->cursor), node->block);

    if (node->level != RPL_RETAINED_BLOCK)
        rpl_retained_text(run->trace, node, out);
    else if (block)
        tui_block_name(run->cursor, block, out);
}

static void draw_node(const struct retained *s, const struct tui_app *app,
                      const struct rpl_retained_node *node, struct tui_canvas *c, int y)
{
    static const enum tui_role ROLES[] = {TUI_STRONG, TUI_PLAIN, TUI_DIM};
    uint64_t all = rpl_cursor_live(tui_app_run(app)->cursor)->allocated;
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];
    int x = FIGURES_W + 1 + 2 * (int)node->level;

    tui_text_right(c, 0, y, 9, tui_style(TUI_STRONG), tui_short_bytes(node->bytes, buf));
    vs_text_addf(&text, "%.1f %%", all ? 100.0 * (double)node->bytes / (double)all : 0.0);
    tui_text_right(c, 9, y, 8, tui_style(TUI_DIM), vs_text_get(&text));
    if (node->level != RPL_RETAINED_BLOCK) {
        tui_text_right(c, 17, y, 8, tui_style(TUI_DIM), tui_short_count(node->blocks, buf));
        tui_put_glyph(c, x, y, is_open(s, node) ? TUI_G_OPEN : TUI_G_CLOSED, tui_style(TUI_DIM));
    }
    vs_text_clear(&text);
    name_add(app, node, &text);
    tui_text_cut(c, x + 2, y, c->at.w - x - 2, tui_style(ROLES[node->level]), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct retained *s = state;
    struct tui_style head = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    if (!s->tree.count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM), "nothing is alive");
        return;
    }
    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, head);
    tui_text_right(c, 0, 0, 9, head, "retains");
    tui_text_right(c, 9, 0, 8, head, "share");
    tui_text_right(c, 17, 0, 8, head, "blocks");
    tui_text(c, FIGURES_W + 3, 0, head, "held by");
    for (int y = 1; y < c->at.h && s->list.top + (size_t)y - 1 < s->count; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        draw_node(s, app, &s->tree.nodes[s->rows[row]], c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct retained *s = state;
    const struct rpl_retained_node *node = &s->tree.nodes[s->rows[row]];
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s ", vs_bytes_text(node->bytes, buf));
    name_add(app, node, out);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct retained *s = state;
    const struct rpl_retained_node *node;

    (void)count;
    if ((action != TUI_OPEN && action != TUI_ACT) || !s->count)
        return false;
    node = &s->tree.nodes[s->rows[s->list.at]];
    if (node->level == RPL_RETAINED_BLOCK) {
        tui_app_choose_block(app, node->block);
        if (action == TUI_OPEN)
            tui_app_view(app, "why");
        return true;
    }
    fold(s, node);
    s->is_changed = true;
    return true;
}

/* Is most of what is alive held by something that the trace knows? */
static bool most_is_known(const struct rpl_retained *tree)
{
    uint64_t known = 0;
    uint64_t all = 0;

    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].level != RPL_RETAINED_GROUP)
            continue;
        all += tree->nodes[i].bytes;
        known += tree->nodes[i].kind != RPL_RETAINED_NONE ? tree->nodes[i].bytes : 0;
    }
    return known > all - known;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct retained *s = state;
    bool is_known = most_is_known(&s->tree);

    vs_text_add(out, "what would be freed without it");
    /* a recording of PyTorch has blocks and no names */
    if (!is_known && wif_recipe_is_in(app->base.trace))
        vs_text_add(out, "; gH runs it again to see who holds");
    else if (!is_known && rpl_trace_is_imported(app->base.trace))
        vs_text_add(out, "; snapshots do not say who holds");
}

static void release(void *state)
{
    struct retained *s = state;

    rpl_retained_release(&s->tree);
    vs_free(s->rows);
    vs_free(s->open);
}

static const struct tui_hint HINTS[] = {
    {"space", "open"},
    {"enter", "why"},
    {NULL, NULL},
};

const struct tui_view tui_view_retained = {
    .name = "retained",
    .title = "retained",
    .letter = 'r',
    .scope = TUI_IN_RETAINED,
    .go = TUI_GO_RETAINED,
    .help = "Each block stands below what all its holders have in common: below a name that alone "
            "holds it, below a function, module or autograd of which several do, else below "
            "several of these at once. So the bytes of a row would be freed if it were gone and "
            "nothing else changed.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct retained),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
