/*
 * export/fill.c - see fill.h.
 *
 * Must not know:  the syntax of any format.
 * Invariant:      every category has a row.
 */
#include "export/fill.h"

static const struct {
    const char *light;
    const char *dark;
} FILLS[VS_CATEGORY_COUNT] = {
    [VS_CAT_PARAMETER] = {"#2f6fb0", "#3f86cf"}, [VS_CAT_BUFFER] = {"#9cc9ee", "#9cc9ee"},
    [VS_CAT_GRADIENT] = {"#d9622b", "#e0743f"},  [VS_CAT_OPTIMIZER] = {"#b79ad0", "#a98ac6"},
    [VS_CAT_INPUT] = {"#6f7780", "#8b949e"},     [VS_CAT_ACTIVATION] = {"#f0c24c", "#e3b341"},
    [VS_CAT_SAVED] = {"#3f9d6f", "#46a878"},     [VS_CAT_CHECKPOINT] = {"#e7a6c4", "#d68fb2"},
    [VS_CAT_CAST] = {"#8a8d1c", "#a5a83a"},      [VS_CAT_TEMPORARY] = {"#c9d1d9", "#768390"},
    [VS_CAT_WORKSPACE] = {"#9a5b34", "#b9784e"}, [VS_CAT_OTHER] = {"#e3dccb", "#5d6470"},
};

const char *exp_fill(enum vs_category category, bool is_dark)
{
    return is_dark ? FILLS[category].dark : FILLS[category].light;
}
