/*
 * engine/ops/functions.h - declares the functions that op.def names.
 *
 * For:            dispatch.c and the files of this folder.
 * Must not know:  anything else.
 * Invariant:      generated from op.def, so a row without its functions does not link.
 */
#ifndef ENG_OPS_OPS_H
#define ENG_OPS_OPS_H

#include "engine/core/op.h"

/* clang-format off */
#define NO eng_no_backward
#define OP(id, name, signature, where, kind, autocast, node, saves, forward, backward) \
    eng_forward_fn forward; \
    eng_backward_fn backward;
#include "engine/core/op.def"
#undef OP
#undef NO
/* clang-format on */

#endif
