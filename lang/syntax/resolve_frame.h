/*
 * lang/syntax/resolve_frame.h - assigns the slots of one code object while its tree is walked.
 *
 * For:            resolve_slots.c, which walks the code.
 * Must not know:  statements and expressions.
 * Invariant:      cells come after the locals, so their slots are known only after all locals have been visited; until
 *                 then references to them are recorded as patches.
 */
#ifndef LANG_RESOLVE_FRAME_H
#define LANG_RESOLVE_FRAME_H

#include "lang/syntax/resolve_internal.h"

/*
 * scope     of the code
 * inner     scope of the innermost comprehension in this frame that is being walked; else scope
 * vars      symbols of the locals visited so far
 * patches   references to cells, to be set when the slots of the cells are known
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
/* Assigns the slots of the cells, applies the patches and frees the frame's arrays. */
void resolve_frame_finish(struct resolve_frame *f);

/* Resolve a name that is read or bound: set its scope and slot, now or in resolve_frame_finish(). */
void resolve_frame_load(struct resolve_frame *f, struct lang_ref *ref);
void resolve_frame_store(struct resolve_frame *f, struct lang_ref *ref);

/* Sets *out for the variable `name` of the innermost comprehension (struct lang_comp.hidden). */
void resolve_frame_hide(struct resolve_frame *f, const struct lang_str *name,
                        struct lang_hidden *out);

#endif
