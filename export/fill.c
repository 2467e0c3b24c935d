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
    [VS_CAT_PARAMETER] = {"#174d8c", "#3e6cc9"}, [VS_CAT_BUFFER] = {"#a3d0f9", "#efddff"},
    [VS_CAT_GRADIENT] = {"#ed640e", "#d06731"},  [VS_CAT_OPTIMIZER] = {"#9271af", "#bb88d6"},
    [VS_CAT_INPUT] = {"#584f59", "#b1c8cf"},     [VS_CAT_ACTIVATION] = {"#ebbe49", "#f7c13d"},
    [VS_CAT_SAVED] = {"#137c69", "#5bbc98"},     [VS_CAT_CHECKPOINT] = {"#bf88c2", "#915060"},
    [VS_CAT_CAST] = {"#689c59", "#b2f892"},      [VS_CAT_TEMPORARY] = {"#b6b3bb", "#80878b"},
    [VS_CAT_WORKSPACE] = {"#834515", "#ae4014"}, [VS_CAT_OTHER] = {"#d6cfbf", "#676095"},
};

const char *exp_fill(enum vs_category category, bool is_dark)
{
    return is_dark ? FILLS[category].dark : FILLS[category].light;
}
