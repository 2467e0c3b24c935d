/*
 * engine/ops/signature.h - taking the signatures and save rules of op.def apart, once a context.
 *
 * For:            engine.c, dispatch.c.
 * Must not know:  what ops do.
 * Invariant:      a malformed row is a mistake of ours and dies at start, naming the row.
 */
#ifndef ENG_OP_SIGNATURE_H
#define ENG_OP_SIGNATURE_H

struct eng_signature;

/* One per op, in the order of the table; the caller's. */
struct eng_signature *eng_signatures_new(void);
void eng_signatures_free(struct eng_signature *signatures);

#endif
