/*
 * recording/pickle_machine.h - the stack machine that executes the data opcodes of a pickle.
 *
 * For:            recording/pickle.c, recording/pickle_scalar.c.
 * Must not know:  how values are stored.
 * Invariant:      the input is read strictly forward, one opcode at a time.
 */
#ifndef REC_PICKLE_MACHINE_H
#define REC_PICKLE_MACHINE_H

#include "recording/pickle_internal.h"

/* Maximum nesting. PyTorch's snapshots are nested seven deep. */
#define REC_MACHINE_MARKS_MAX 1000
#define REC_MACHINE_LINE_MAX 4096

/* A value that no opcode creates. */
#define REC_MEMO_UNSET rec_value_of(TAG_PLAIN, REC_PAYLOAD_MAX)

/*
 * at     offset of the next byte
 * op_at  offset of the current opcode
 * marks  stack depth at each MARK
 * memo   values by memo number; REC_MEMO_UNSET: not set. memo_put: how many are set, which is the number that MEMOIZE
 *        uses
 */
struct rec_machine {
    struct rec_pickle *p;
    const unsigned char *bytes;
    size_t len;
    size_t at;
    size_t op_at;
    struct rec_value *stack;
    size_t depth, stack_cap;
    size_t marks[REC_MACHINE_MARKS_MAX];
    size_t mark_count;
    struct rec_value *memo;
    size_t memo_count, memo_cap, memo_put;
    struct vs_error *err;
};

/* Fail with VS_E_FORMAT and the offset of the opcode. */
enum vs_status rec_machine_wrong(struct rec_machine *m, const char *what);
/* Fail because the memory budget is exceeded. */
enum vs_status rec_machine_too_much(struct rec_machine *m);

/* Skip n bytes; fails if fewer are left. */
VS_MUST_USE static inline enum vs_status rec_machine_take(struct rec_machine *m, uint64_t n,
                                                          const unsigned char **out)
{
    if (n > m->len - m->at)
        return rec_machine_wrong(m, "the pickle is cut off here");
    *out = m->bytes + m->at;
    m->at += n;
    return VS_OK;
}

/* Read a little-endian number of n bytes, n <= 8. */
VS_MUST_USE static inline enum vs_status rec_machine_take_uint(struct rec_machine *m, size_t n,
                                                               uint64_t *out)
{
    const unsigned char *b = NULL;
    uint64_t number = 0;

    if (rec_machine_take(m, n, &b))
        return VS_E_FORMAT;
    while (n-- > 0)
        number = number << 8 | b[n];
    *out = number;
    return VS_OK;
}

VS_MUST_USE static inline enum vs_status rec_machine_push(struct rec_machine *m, struct rec_value v)
{
    if (!rec_pickle_grow(m->p, &m->stack, m->depth, &m->stack_cap, sizeof(*m->stack)))
        return rec_machine_too_much(m);
    m->stack[m->depth++] = v;
    return VS_OK;
}

/* Read a line without its end; `out` is NUL-terminated and contains no other NUL. */
VS_MUST_USE enum vs_status rec_machine_take_line(struct rec_machine *m,
                                                 char out[REC_MACHINE_LINE_MAX]);

/* ---- pickle_scalar.c: opcodes that push a number or a text ---- */

/*
 * Integers: `bytes` bytes unsigned; four bytes signed; with a length of `bytes` bytes before it; a line of digits,
 * where "01" may mean true.
 */
VS_MUST_USE enum vs_status rec_machine_uint(struct rec_machine *m, uint32_t bytes);
VS_MUST_USE enum vs_status rec_machine_int(struct rec_machine *m, uint32_t arg);
VS_MUST_USE enum vs_status rec_machine_long(struct rec_machine *m, uint32_t bytes);
VS_MUST_USE enum vs_status rec_machine_digits(struct rec_machine *m, uint32_t may_be_bool);
/* Floats: eight bytes, big-endian; a line of digits. */
VS_MUST_USE enum vs_status rec_machine_float(struct rec_machine *m, uint32_t arg);
VS_MUST_USE enum vs_status rec_machine_float_digits(struct rec_machine *m, uint32_t arg);
/* Texts: with a length of `bytes` bytes before it; a line with escapes; a quoted line. */
VS_MUST_USE enum vs_status rec_machine_text(struct rec_machine *m, uint32_t bytes);
VS_MUST_USE enum vs_status rec_machine_text_line(struct rec_machine *m, uint32_t arg);
VS_MUST_USE enum vs_status rec_machine_text_quoted(struct rec_machine *m, uint32_t arg);

#endif
