/*
 * whatif/price.c - see price.h.
 */
#include "whatif/price.h"

#include <stdio.h>
#include <string.h>

#include "whatif/recipe.h"

/* What a script says where a toggle could say something else; NULL: not known. */
static const char *script_value(const struct rpl_trace *base, enum vs_toggle toggle)
{
    char key[64];

    if (toggle == VS_TOGGLE_WORLD)
        return rpl_trace_meta(base, "world");
    if (toggle == VS_TOGGLE_ALLOC_CONF || toggle == VS_TOGGLE_TARGET) /* not the script's */
        return vs_toggle_info(toggle)->initial;
    snprintf(key, sizeof(key), WIF_SCRIPT_VALUE "%s", vs_toggle_info(toggle)->name);
    return rpl_trace_meta(base, key);
}

const char *wif_known(const struct rpl_trace *base, enum vs_toggle toggle)
{
    const char *name = vs_toggle_info(toggle)->name;

    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++)
        if (strcmp(rpl_trace_toggle(base, i).name, name) == 0)
            return rpl_trace_toggle(base, i).value;
    return wif_recipe_is_in(base) ? script_value(base, toggle) : vs_toggle_info(toggle)->initial;
}

const char *wif_recorded(const struct rpl_trace *base, enum vs_toggle toggle)
{
    const char *value = wif_known(base, toggle);

    return value ? value : vs_toggle_info(toggle)->initial;
}

bool wif_scales_loss(const char *amp)
{
    return strcmp(amp, "fp16") == 0 || strcmp(amp, "O1") == 0 || strcmp(amp, "O2") == 0;
}

bool wif_trains(const struct rpl_trace *base)
{
    return strcmp(wif_recorded(base, VS_TOGGLE_GRAD), "train") == 0;
}

static enum wif_price price_of(const struct rpl_trace *base, enum vs_toggle toggle)
{
    const unsigned flags = vs_toggle_info(toggle)->flags;

    /* A run that does not train gives the same outputs without gradients. */
    if (toggle == VS_TOGGLE_GRAD && !wif_trains(base))
        return WIF_PRICE_NONE;
    if (flags & VS_TOGGLE_SAME)
        return flags & VS_TOGGLE_SLOW ? WIF_PRICE_TIME : WIF_PRICE_NONE;
    return flags & VS_TOGGLE_ROUNDS ? WIF_PRICE_NUMBERS : WIF_PRICE_TRAINING;
}

bool wif_price_is_known(const struct rpl_trace *base, enum vs_toggle toggle)
{
    return price_of(base, toggle) != WIF_PRICE_NONE;
}

enum wif_price wif_price(const struct rpl_trace *base, const struct vs_toggles *set,
                         bool recomputes)
{
    enum wif_price highest = recomputes ? WIF_PRICE_TIME : WIF_PRICE_NONE;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;

        if (vs_toggles_is_set(set, toggle) &&
            strcmp(vs_toggles_get(set, toggle), wif_recorded(base, toggle)) != 0 &&
            price_of(base, toggle) > highest)
            highest = price_of(base, toggle);
    }
    return highest;
}
