/*
 * whatif/grid/space.h - the configurations of a sweep: all combinations of the values of some toggles.
 *
 * For:            `vramscope sweep`.
 * Must not know:  runs, results.
 * Invariant:      no two configurations are the same, and each has only toggles that its value of `shard` uses.
 */
#ifndef WIF_GRID_SPACE_H
#define WIF_GRID_SPACE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"

/* How many configurations one sweep may have, and values one toggle. */
#define WIF_GRID_MAX 100000
#define WIF_GRID_VALUES_MAX 10000

/* A toggle and the values that it takes, in canonical form, in the order in which they were given. */
struct wif_grid_axis {
    enum vs_toggle toggle;
    char **values;
    size_t count;
    size_t cap;
};

/* Zero-initialised: nothing varies, so there is one configuration. fixed: toggles that all configurations have. */
struct wif_grid_space {
    struct vs_toggles fixed;
    struct wif_grid_axis *axes;
    size_t count;
    size_t cap;
};

/*
 * A configuration. text: its toggles in the order of base/toggle.def, "batch=8 shard=off"; what is not set has the
 * value of the net file, or the default.
 */
struct wif_grid_config {
    struct vs_toggles toggles;
    char *text;
};

struct wif_grid_configs {
    struct wif_grid_config *items;
    size_t count;
    size_t cap;
};

/*
 * Add values of a toggle, "NAME=VALUES"; a toggle that varies already gets more. VALUES: values with commas between;
 * where there is a `|`, values with `|` between, which may have commas. A value `8..256` stands for 8, 16, 32 and so
 * on, doubled, up to at most 256; `8..256+8` for 8, 16, 24 and so on.
 *
 * VS_E_NOT_FOUND, VS_E_VALUE: as vs_toggles_set_pair; a range is empty or too long. The space is unchanged then.
 */
VS_MUST_USE enum vs_status wif_grid_space_vary(struct wif_grid_space *space, const char *pair,
                                               struct vs_error *err);

/*
 * All combinations, the values of the last toggle changing first. Where `shard` is off there are no processes: `world`,
 * `rank` and `grad-sync` are left out; `rank` where it is ddp, `grad-sync` where it is tp or pp; `shard-units`,
 * `reshard`, `offload-policy`, `replicate`, `tp`, `cp` and its settings where it is not fsdp, `tp-plan` and
 * `loss-parallel` where it is neither tp nor fsdp, or `tp` is 1, `pp-split`, `pp-schedule` and `microbatches` where it
 * is not pp, `reduce-bucket-size` and `overlap-comm` where it is not DeepSpeed's, settings of its stage 3 where it is
 * another one, `mp-policy` where it is neither fsdp nor DeepSpeed's. What is then the same is there once. `out` is
 * zeroed or released before.
 *
 * VS_E_VALUE: more than WIF_GRID_MAX; or a toggle is fixed and varies.
 */
VS_MUST_USE enum vs_status wif_grid_space_list(const struct wif_grid_space *space,
                                               struct wif_grid_configs *out, struct vs_error *err);

void wif_grid_space_release(struct wif_grid_space *space);
void wif_grid_configs_release(struct wif_grid_configs *configs);

#endif
