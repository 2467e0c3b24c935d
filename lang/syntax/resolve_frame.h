/*
 * lang/syntax/resolve_frame.h - the slots of one code while its names are met.
 *
 * For:            resolve_slots.c, which walks the code.
 * Must not know:  statements and expressions.
 * Invariant:      cells come behind the locals, so their slots are known only when all locals have been met; until then
 *                 they are noted as patches.
 */
#ifndef LANG_RESOLVE_FRAME_H
#define LANG_RESOLVE_FRAME_H

#include "lang/syntax/resolve_internal.h"

/*
 * scope     of the code
 * inner     innermost comprehension that runs in this frame where the walk stands; else scope
 * vars      symbols of the locals met so far
 * patches   slots to fill in when the cells have theirs
 */
struct resolve_frame {
    struct resolver *r;
    struct lang_code *code;
    struct resolve_scope *scope;
    struct resolve_scope *inner;
    struct resolve_frame *around;
    struct resolve_symbol **vars;
    size_t var_count;
    size_t var_cap;
    struct resolve_patch *patches;
    size_t patch_count;
    size_t patch_cap;
};

void resolve_frame_init(struct resolve_frame *f, struct resolver *r, struct lang_code *code,
                        struct resolve_frame *around);
/* Lay the slots out, fill the patches in, release what the frame holds. */
void resolve_frame_finish(struct resolve_frame *f);

/* A name is met: set scope and slot, now or at the end. */
void resolve_frame_load(struct resolve_frame *f, struct lang_ref *ref);
void resolve_frame_store(struct resolve_frame *f, struct lang_ref *ref);

/* The variable `name` of the innermost comprehension is saved around it. */
void resolve_frame_hide(struct resolve_frame *f, const struct lang_str *name,
                        struct lang_hidden *out);

#endif
