/*
 * whatif/grid/space.c - see space.h.
 *
 * Must not know:  runs.
 */
#include "whatif/grid/space.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* ---- values ---- */

static struct wif_grid_axis *axis_of(struct wif_grid_space *space, enum vs_toggle toggle)
{
    for (size_t i = 0; i < space->count; i++)
        if (space->axes[i].toggle == toggle)
            return &space->axes[i];
    space->axes = vs_grow(space->axes, space->count, &space->cap, sizeof(*space->axes));
    space->axes[space->count] = (struct wif_grid_axis){.toggle = toggle};
    return &space->axes[space->count++];
}

static void axis_release(struct wif_grid_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++)
        vs_free(axis->values[i]);
    vs_free(axis->values);
}

/* Add a value unless it is there. VS_E_VALUE: it is not legal, or there are too many. */
static enum vs_status value_add(struct wif_grid_axis *axis, const char *value, struct vs_error *err)
{
    char canonical[VS_TOGGLE_VALUE_MAX];
    enum vs_status st = vs_toggle_check(axis->toggle, value, canonical, err);

    if (st)
        return st;
    for (size_t i = 0; i < axis->count; i++)
        if (strcmp(axis->values[i], canonical) == 0)
            return VS_OK;
    if (axis->count == WIF_GRID_VALUES_MAX)
        return vs_fail(err, VS_E_VALUE, "%s: more than %d values",
                       vs_toggle_info(axis->toggle)->name, WIF_GRID_VALUES_MAX);
    axis->values = vs_grow(axis->values, axis->count, &axis->cap, sizeof(*axis->values));
    axis->values[axis->count++] = vs_strdup(canonical);
    return VS_OK;
}

/* A number at *text, which is then behind it. */
static bool number_read(const char **text, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* "8..256", step 0: doubled; "8..256+8". False: `text` is no range. */
static bool range_read(const char *text, uint64_t *first, uint64_t *last, uint64_t *step)
{
    *step = 0;
    if (!number_read(&text, first) || strncmp(text, "..", 2) != 0)
        return false;
    text += 2;
    if (!number_read(&text, last))
        return false;
    if (*text == '+') {
        text++;
        if (!number_read(&text, step) || !*step)
            return false;
    }
    return !*text;
}

static enum vs_status range_add(struct wif_grid_axis *axis, const char *text, struct vs_error *err)
{
    const char *name = vs_toggle_info(axis->toggle)->name;
    uint64_t value, last, step;
    enum vs_status st = VS_OK;

    if (!range_read(text, &value, &last, &step))
        return value_add(axis, text, err);
    if (value > last)
        return vs_fail(err, VS_E_VALUE, "%s: the range %s is empty", name, text);
    if (!value && !step)
        return vs_fail(err, VS_E_VALUE, "%s: 0 cannot be doubled; write %s+1", name, text);
    for (;;) {
        const uint64_t more = step ? step : value;
        char number[24];

        snprintf(number, sizeof(number), "%" PRIu64, value);
        st = value_add(axis, number, err);
        if (st || more > last - value)
            return st;
        value += more;
    }
}

static enum vs_status values_add(struct wif_grid_axis *axis, const char *values,
                                 struct vs_error *err)
{
    const char *between = strchr(values, '|') ? "|" : ",";
    enum vs_status st = VS_OK;

    while (!st) {
        const size_t len = strcspn(values, between);
        char *value = vs_strndup(values, len);

        st = range_add(axis, value, err);
        vs_free(value);
        if (!values[len])
            break;
        values += len + 1;
    }
    return st;
}

enum vs_status wif_grid_space_vary(struct wif_grid_space *space, const char *pair,
                                   struct vs_error *err)
{
    const char *equals = strchr(pair, '=');
    struct wif_grid_axis fresh = {.count = 0};
    struct vs_toggles names = {{NULL}};
    enum vs_status st = VS_OK;
    char *name;

    if (!equals)
        return vs_fail(err, VS_E_VALUE, "`%s` is not TOGGLE=VALUES, such as batch=8..256", pair);
    name = vs_strndup(pair, (size_t)(equals - pair));
    if (!vs_toggle_find(name, &fresh.toggle))
        st = vs_toggles_set_named(&names, name, "", err); /* which says what is near */
    if (!st)
        st = values_add(&fresh, equals + 1, err);
    if (!st) {
        struct wif_grid_axis *axis = axis_of(space, fresh.toggle);

        for (size_t i = 0; i < fresh.count && !st; i++)
            st = value_add(axis, fresh.values[i], err);
    }
    axis_release(&fresh);
    vs_toggles_release(&names);
    vs_free(name);
    return st;
}

/* ---- combinations ---- */

static bool is_deepspeed(const struct vs_toggles *toggles)
{
    return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "deepspeed-zero1") ||
           vs_toggles_is(toggles, VS_TOGGLE_SHARD, "deepspeed-zero2") ||
           vs_toggles_is(toggles, VS_TOGGLE_SHARD, "deepspeed-zero3");
}

/* Whether the toggle has a meaning with these toggles. */
static bool is_used(const struct vs_toggles *toggles, enum vs_toggle toggle)
{
    if (!vs_toggles_is_set(toggles, VS_TOGGLE_SHARD))
        return true; /* the net file may say how it is sharded */
    if (toggle == VS_TOGGLE_WORLD)
        return !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "off");
    if (toggle == VS_TOGGLE_GRAD_SYNC)
        return !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "off") &&
               !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "tp") &&
               !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "pp");
    if (toggle == VS_TOGGLE_PP_SPLIT || toggle == VS_TOGGLE_MICROBATCHES ||
        toggle == VS_TOGGLE_PP_SCHEDULE)
        return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "pp");
    if (toggle == VS_TOGGLE_TP_PLAN || toggle == VS_TOGGLE_LOSS_PARALLEL)
        return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "tp") ||
               (vs_toggles_is(toggles, VS_TOGGLE_SHARD, "fsdp") &&
                (!vs_toggles_is_set(toggles, VS_TOGGLE_TP) || /* as above */
                 vs_toggles_count(toggles, VS_TOGGLE_TP) > 1));
    if (toggle == VS_TOGGLE_RANK)
        return !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "off") &&
               !vs_toggles_is(toggles, VS_TOGGLE_SHARD, "ddp");
    if (toggle == VS_TOGGLE_MP_POLICY)
        return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "fsdp") || is_deepspeed(toggles);
    if (toggle == VS_TOGGLE_SHARD_UNITS || toggle == VS_TOGGLE_RESHARD ||
        toggle == VS_TOGGLE_OFFLOAD_POLICY || toggle == VS_TOGGLE_REPLICATE ||
        toggle == VS_TOGGLE_TP || toggle == VS_TOGGLE_CP || toggle == VS_TOGGLE_CP_BUFFERS ||
        toggle == VS_TOGGLE_CP_ROTATE)
        return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "fsdp");
    if (toggle == VS_TOGGLE_REDUCE_BUCKET_SIZE || toggle == VS_TOGGLE_OVERLAP_COMM)
        return is_deepspeed(toggles);
    if (toggle >= VS_TOGGLE_STAGE3_PREFETCH_BUCKET_SIZE && toggle <= VS_TOGGLE_SUB_GROUP_SIZE)
        return vs_toggles_is(toggles, VS_TOGGLE_SHARD, "deepspeed-zero3");
    return true;
}

static char *text_of(const struct vs_toggles *toggles)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(toggles, (enum vs_toggle)i))
            vs_text_addf(&text, "%s%s=%s", text.len ? " " : "",
                         vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(toggles, (enum vs_toggle)i));
    vs_text_add(&text, "");
    return vs_text_take(&text);
}

/* Add the combination `at`, an index for each axis, unless it is the same as one before. */
static enum vs_status config_add(const struct wif_grid_space *space, const size_t *at,
                                 struct wif_grid_configs *out, struct vs_error *err)
{
    struct vs_toggles all = {{NULL}};
    struct vs_toggles used = {{NULL}};
    bool is_repeated = false;
    enum vs_status st = VS_OK;

    vs_toggles_copy(&all, &space->fixed);
    for (size_t i = 0; i < space->count && !st; i++)
        st = vs_toggles_set(&all, space->axes[i].toggle, space->axes[i].values[at[i]], err);
    for (size_t i = 0; i < VS_TOGGLE_COUNT && !st; i++)
        if (vs_toggles_is_set(&all, (enum vs_toggle)i) && is_used(&all, (enum vs_toggle)i))
            st = vs_toggles_set(&used, (enum vs_toggle)i, vs_toggles_get(&all, (enum vs_toggle)i),
                                err);
    for (size_t i = 0; i < space->count; i++)
        is_repeated |= at[i] > 0 && !is_used(&all, space->axes[i].toggle);
    vs_toggles_release(&all);
    if (st || is_repeated) {
        vs_toggles_release(&used);
        return st;
    }
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    out->items[out->count++] = (struct wif_grid_config){used, text_of(&used)};
    return VS_OK;
}

/* The next combination; false after the last one. */
static bool at_next(const struct wif_grid_space *space, size_t *at)
{
    for (size_t i = space->count; i-- > 0;) {
        if (++at[i] < space->axes[i].count)
            return true;
        at[i] = 0;
    }
    return false;
}

static enum vs_status space_check(const struct wif_grid_space *space, struct vs_error *err)
{
    size_t count = 1;

    for (size_t i = 0; i < space->count; i++) {
        const struct wif_grid_axis *axis = &space->axes[i];

        if (vs_toggles_is_set(&space->fixed, axis->toggle))
            return vs_fail(err, VS_E_VALUE, "%s is set, and is to vary: give it once",
                           vs_toggle_info(axis->toggle)->name);
        if (axis->count > WIF_GRID_MAX / count)
            return vs_fail(err, VS_E_VALUE, "more than %d combinations", WIF_GRID_MAX);
        count *= axis->count;
    }
    return VS_OK;
}

enum vs_status wif_grid_space_list(const struct wif_grid_space *space, struct wif_grid_configs *out,
                                   struct vs_error *err)
{
    size_t *at = vs_calloc(space->count + 1, sizeof(*at));
    enum vs_status st = space_check(space, err);

    memset(out, 0, sizeof(*out));
    if (!st)
        do {
            st = config_add(space, at, out, err);
        } while (!st && at_next(space, at));
    vs_free(at);
    return st;
}

void wif_grid_space_release(struct wif_grid_space *space)
{
    vs_toggles_release(&space->fixed);
    for (size_t i = 0; i < space->count; i++)
        axis_release(&space->axes[i]);
    vs_free(space->axes);
    memset(space, 0, sizeof(*space));
}

void wif_grid_configs_release(struct wif_grid_configs *configs)
{
    for (size_t i = 0; i < configs->count; i++) {
        vs_toggles_release(&configs->items[i].toggles);
        vs_free(configs->items[i].text);
    }
    vs_free(configs->items);
    memset(configs, 0, sizeof(*configs));
}
