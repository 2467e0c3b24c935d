/*
 * tui/term/surface_text.c - see surface_text.h.
 *
 * Must not know:  terminals, colours.
 * Invariant:      the same cells give the same text.
 */
#include "tui/term/surface_text.h"

#include <string.h>

static const char *const ROLE_NAMES[] = {
/* clang-format off */
#define TUI_ROLE(id, name, df, db, lf, lb, df8, db8, lf8, lb8, mono) [id] = name,
#include "tui/term/role.def"
#undef TUI_ROLE
    /* clang-format on */
};

/* In the order of enum tui_mark. */
static const char *const MARK_NAMES[] = {"bold", "reverse", "underline", "selected", "here"};

void tui_surface_text(const struct tui_surface *surface, struct tui_rect at, struct vs_text *out)
{
    for (int y = at.y; y < at.y + at.h; y++) {
        int last = at.x + at.w;

        while (last > at.x && tui_surface_cell(surface, last - 1, y)->ch == ' ')
            last--;
        for (int x = at.x; x < last; x++) {
            const struct tui_cell *cell = tui_surface_cell(surface, x, y);
            char bytes[4];

            if (cell->width)
                vs_text_add_n(out, bytes, (size_t)tui_utf8_put(cell->ch, bytes));
        }
        vs_text_add_char(out, '\n');
    }
}

static bool is_same_style(struct tui_style a, struct tui_style b)
{
    return a.role == b.role && a.behind == b.behind && a.marks == b.marks;
}

static void add_run(struct tui_style style, int count, struct vs_text *out)
{
    vs_text_addf(out, " %s", ROLE_NAMES[style.role]);
    if (style.behind)
        vs_text_addf(out, "/%s", ROLE_NAMES[style.behind]);
    for (size_t i = 0; i < sizeof(MARK_NAMES) / sizeof(MARK_NAMES[0]); i++)
        if (style.marks & 1u << i)
            vs_text_addf(out, "+%s", MARK_NAMES[i]);
    vs_text_addf(out, "*%d", count);
}

void tui_surface_styles(const struct tui_surface *surface, struct vs_text *out)
{
    for (int y = 0; y < surface->h; y++) {
        struct tui_style now = tui_surface_cell(surface, 0, y)->style;
        bool is_first = true;
        int from = 0;

        for (int x = 1; x <= surface->w; x++) {
            if (x < surface->w && is_same_style(tui_surface_cell(surface, x, y)->style, now))
                continue;
            if (x == surface->w && is_first && is_same_style(now, tui_style(TUI_PLAIN)))
                break;
            if (is_first)
                vs_text_addf(out, "%d:", y);
            is_first = false;
            add_run(now, x - from, out);
            from = x;
            if (x < surface->w)
                now = tui_surface_cell(surface, x, y)->style;
        }
        if (!is_first)
            vs_text_add_char(out, '\n');
    }
}
