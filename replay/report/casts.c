/*
 * replay/report/casts.c - see casts.h.
 *
 * Must not know:  which ops need them.
 * Invariant:      a copy enters the cache before the next one is made.
 */
#include "replay/report/casts.h"

void rpl_casts_note(struct rpl_casts *casts, const struct rpl_live *live,
                    const struct vs_event *event)
{
    const struct rpl_block *block;
    struct rpl_cast *cast;

    if (event->kind == VS_EV_HOLD && event->hold.holder == VS_HOLD_CACHE &&
        event->hold.block == casts->last)
        casts->by[casts->last_from][casts->last_to].cached++;
    /* a damaged file may have other numbers */
    if (event->kind != VS_EV_CAST || event->cast.from_dtype >= VS_DTYPE_COUNT ||
        event->cast.to_dtype >= VS_DTYPE_COUNT)
        return;
    cast = &casts->by[event->cast.from_dtype][event->cast.to_dtype];
    block = rpl_live_block(live, event->cast.block);
    cast->count++;
    cast->bytes += block ? block->requested : 0;
    casts->last = event->cast.block;
    casts->last_from = (uint8_t)event->cast.from_dtype;
    casts->last_to = (uint8_t)event->cast.to_dtype;
}

void rpl_casts_json(const struct rpl_casts *casts, bool is_known, struct vs_json *json)
{
    vs_json_key(json, "casts");
    if (!is_known) {
        vs_json_null(json);
        return;
    }
    vs_json_array(json);
    for (size_t from = 0; from < VS_DTYPE_COUNT; from++)
        for (size_t to = 0; to < VS_DTYPE_COUNT; to++) {
            const struct rpl_cast *cast = &casts->by[from][to];

            if (!cast->count)
                continue;
            vs_json_object_flat(json);
            vs_json_put_string(json, "from", vs_dtype_name((enum vs_dtype)from));
            vs_json_put_string(json, "to", vs_dtype_name((enum vs_dtype)to));
            vs_json_put_uint(json, "count", cast->count);
            vs_json_put_uint(json, "bytes", cast->bytes);
            vs_json_put_uint(json, "cached", cast->cached);
            vs_json_end(json);
        }
    vs_json_end(json);
}
