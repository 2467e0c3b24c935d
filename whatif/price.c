/*
 * whatif/price.c - see price.h.
 */
#include "whatif/price.h"

#include <string.h>

const char *wif_recorded(const struct rpl_trace *base, enum vs_toggle toggle)
{
    const char *name = vs_toggle_info(toggle)->name;

    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++)
        if (strcmp(rpl_trace_toggle(base, i).name, name) == 0)
            return rpl_trace_toggle(base, i).value;
    return vs_toggle_info(toggle)->initial;
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
