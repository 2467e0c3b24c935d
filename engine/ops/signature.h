/*
 * engine/ops/signature.h - parses the signatures and save rules of op.def, once for each context.
 *
 * For:            engine.c, dispatch.c.
 * Must not know:  what ops do.
 * Invariant:      a malformed row is a bug of the program and ends it through vs_die, which names the row.
 */
#ifndef ENG_OP_SIGNATURE_H
#define ENG_OP_SIGNATURE_H

struct eng_signature;

/* Signatures of all ops, in the order of the table. The caller owns the array. */
struct eng_signature *eng_signatures_new(void);
void eng_signatures_free(struct eng_signature *signatures);

#endif
