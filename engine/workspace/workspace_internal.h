/*
 * engine/workspace/workspace_internal.h - the measured workspaces of convolutions.
 *
 * For:            engine/workspace/workspace*.c.
 * Must not know:  ops, the allocator.
 * Invariant:      an entry stays where it is until the table is freed.
 */
#ifndef ENG_WORKSPACE_INTERNAL_H
#define ENG_WORKSPACE_INTERNAL_H

#include "base/table.h"
#include "base/text.h"
#include "engine/device/plugin.h"
#include "engine/workspace/workspace.h"

/* What identifies a convolution. */
struct eng_conv_call {
    enum eng_conv_kind kind;
    const struct eng_view *x, *w, *y;
    const struct eng_conv2d *p;
};

/* A measured convolution, with its algorithms, fastest first. */
struct eng_measured {
    char *key;
    struct eng_conv_way ways[ENG_CONV_WAYS];
    int count;
};

/* A location, and the algorithm that was used there because memory for the fastest was lacking. */
struct eng_shortage {
    uint32_t location;
    int way;
};

struct eng_workspaces {
    int capability;
    struct vs_text key;             /* buffer for the key of the call that is looked up */
    struct eng_measured **measured; /* in order of their first call */
    size_t count, cap;
    struct vs_table by_key;
    uint32_t *unmeasured;
    size_t unmeasured_count, unmeasured_cap;
    struct eng_shortage *shortages;
    size_t shortage_count, shortage_cap;
    struct vs_text shortage_text;
};

/* NULL: not measured. */
struct eng_measured *eng_measured_find(struct eng_workspaces *workspaces,
                                       const struct eng_conv_call *call);
/* Adds a call that is not in the table yet; the caller fills in its algorithms. */
struct eng_measured *eng_measured_add(struct eng_workspaces *workspaces,
                                      const struct eng_conv_call *call);

#endif
