/*
 * engine/workspace/workspace_internal.h - between the files of rooms: what was measured of each convolution.
 *
 * For:            engine/rooms*.c.
 * Must not know:  ops, the allocator.
 * Invariant:      an entry stays where it is until the table is freed.
 */
#ifndef ENG_WORKSPACE_INTERNAL_H
#define ENG_WORKSPACE_INTERNAL_H

#include "base/table.h"
#include "base/text.h"
#include "engine/device/plugin.h"
#include "engine/workspace/workspace.h"

/* What a convolution is asked for by. */
struct eng_conv_call {
    enum eng_conv_kind kind;
    const struct eng_view *x, *w, *y;
    const struct eng_conv2d *p;
};

/* One that was measured, best way first. */
struct eng_measured {
    char *key;
    struct eng_conv_way ways[ENG_CONV_WAYS];
    int count;
};

/* A place, and the way that was taken there instead of the best. */
struct eng_shortage {
    uint32_t location;
    int way;
};

struct eng_workspaces {
    int capability;
    struct vs_text key;             /* of the call that is looked up */
    struct eng_measured **measured; /* in the order they were met */
    size_t count, cap;
    struct vs_table by_key;
    uint32_t *unmeasured;
    size_t unmeasured_count, unmeasured_cap;
    struct eng_shortage *shortages;
    size_t shortage_count, shortage_cap;
    struct vs_text shortage_text;
};

/* NULL: not measured. */
struct eng_measured *eng_measured_find(struct eng_workspaces *rooms,
                                       const struct eng_conv_call *call);
/* For a call that is not there yet; its ways are the caller's to fill in. */
struct eng_measured *eng_measured_add(struct eng_workspaces *rooms,
                                      const struct eng_conv_call *call);

#endif
