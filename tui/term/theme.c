/*
 * tui/term/theme.c - see theme.h.
 *
 * Must not know:  terminals, views.
 * Invariant:      a role is completely described by its row of role.def.
 */
#include "tui/term/theme.h"

#include <stdlib.h>
#include <string.h>

#include "base/event.h"

/* A terminal with fewer has the 8. */
#define MANY_COLOURS 256

/* Indices of the 256 colours, or of the 8, in front and behind; marks of the mono theme. */
static const struct {
    short dark[2];
    short light[2];
    short dark_8[2];
    short light_8[2];
    unsigned char mono;
} ROLES[] = {
/* clang-format off */
#define TUI_ROLE(id, name, df, db, lf, lb, df8, db8, lf8, lb8, mono) \
    [id] = {{df, db}, {lf, lb}, {df8, db8}, {lf8, lb8}, mono},
#include "tui/term/role.def"
#undef TUI_ROLE
    /* clang-format on */
};

_Static_assert(TUI_CAT_OTHER - TUI_CAT_PARAMETER + 1 == VS_CATEGORY_COUNT, "a role a category");
_Static_assert(TUI_PHASE_ZERO_GRAD - TUI_PHASE_SETUP + 1 == VS_PHASE_COUNT, "a role a phase");

static const char *const NAMES[TUI_THEME_COUNT] = {"dark", "light", "mono"};
/* In the order of base/category.def. K as in checKpoint: C is a cast's. */
static const char LETTERS[] = "PBGOIASKCTWX";

_Static_assert(sizeof(LETTERS) == VS_CATEGORY_COUNT + 1, "a letter a category");

const char *tui_theme_name(enum tui_theme theme)
{
    return NAMES[theme];
}

enum vs_status tui_theme_find(const char *name, enum tui_theme *out, struct vs_error *err)
{
    for (int i = 0; i < TUI_THEME_COUNT; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            *out = (enum tui_theme)i;
            return VS_OK;
        }
    }
    return vs_fail(err, VS_E_VALUE, "there is no theme `%s`; legal: dark, light, mono", name);
}

enum tui_theme tui_theme_pick(const char *no_color, const char *colorfgbg)
{
    const char *ground = colorfgbg ? strrchr(colorfgbg, ';') : NULL;
    int colour = ground ? atoi(ground + 1) : 0;

    if (no_color && *no_color)
        return TUI_THEME_MONO;
    return colour == 7 || colour == 15 ? TUI_THEME_LIGHT : TUI_THEME_DARK;
}

static const short *pair_of(enum tui_theme theme, int colours, unsigned role)
{
    if (colours < MANY_COLOURS)
        return theme == TUI_THEME_LIGHT ? ROLES[role].light_8 : ROLES[role].dark_8;
    return theme == TUI_THEME_LIGHT ? ROLES[role].light : ROLES[role].dark;
}

/* Whether a role's own colour may be hard to read on the ground of the chosen row. */
static bool takes_row_colour(int colours, unsigned role)
{
    return colours < MANY_COLOURS || role == TUI_ON_BAR ||
           (role >= TUI_CAT_PARAMETER && role <= TUI_CAT_OTHER);
}

static struct tui_attributes attributes_mono(struct tui_style style)
{
    unsigned marks = style.marks | ROLES[style.role].mono;

    if (style.marks & TUI_SELECTED)
        marks = (marks & ~(unsigned)TUI_SELECTED) | TUI_REVERSE;
    if (style.marks & TUI_SELECTED_QUIET)
        marks = (marks & ~(unsigned)TUI_SELECTED_QUIET) | TUI_UNDERLINE;
    return (struct tui_attributes){-1, -1, marks};
}

struct tui_attributes tui_theme_attributes(enum tui_theme theme, int colours,
                                           struct tui_style style)
{
    struct tui_attributes attrs;
    unsigned ground = style.marks & (TUI_SELECTED | TUI_SELECTED_QUIET);
    const short *pair;

    if (theme == TUI_THEME_MONO || colours < 8)
        return attributes_mono(style);
    pair = pair_of(theme, colours, style.role);
    attrs = (struct tui_attributes){pair[0], pair[1], style.marks & ~ground};
    if (style.role == TUI_STRONG || style.role == TUI_BAR_STRONG)
        attrs.marks |= TUI_BOLD;
    if (colours < MANY_COLOURS)
        attrs.marks |= ROLES[style.role].mono & TUI_BOLD;
    if (style.behind)
        attrs.behind = pair_of(theme, colours, style.behind)[0];
    if (ground) {
        const short *row =
            pair_of(theme, colours, style.marks & TUI_SELECTED ? TUI_ROW : TUI_ROW_QUIET);

        attrs.behind = row[1];
        if (takes_row_colour(colours, style.role))
            attrs.front = row[0];
    }
    if (colours < MANY_COLOURS && attrs.front == attrs.behind && attrs.front != -1)
        attrs.front = attrs.front == 7 ? 0 : 7;
    return attrs;
}

char tui_category_letter(int category)
{
    return category >= 0 && category < VS_CATEGORY_COUNT ? LETTERS[category] : '?';
}

enum tui_role tui_category_role(int category)
{
    return category >= 0 && category < VS_CATEGORY_COUNT
               ? (enum tui_role)(TUI_CAT_PARAMETER + category)
               : TUI_PLAIN;
}

enum tui_role tui_phase_role(int phase)
{
    return phase >= 0 && phase < VS_PHASE_COUNT ? (enum tui_role)(TUI_PHASE_SETUP + phase)
                                                : TUI_PLAIN;
}
