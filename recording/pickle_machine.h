/*
 * recording/pickle_machine.h - the machine that a pickle is a program of, as far as it is data.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  how values are kept.
 * Invariant:      it only ever moves forward in the input, one opcode at a time.
 */
#ifndef REC_PICKLE_MACHINE_H
#define REC_PICKLE_MACHINE_H

#include "recording/pickle_internal.h"
#include "recording/pickle_opcode.h"
#include "recording/pickle_packed.h"

/* PyTorch's snapshots are seven deep. */
#define REC_MACHINE_MARKS_MAX 1000
#define REC_MACHINE_LINE_MAX 4096

/* How deep the stack was, and where the MARK stands. */
struct rec_mark {
    size_t depth;
    uint64_t at;
};

/*
 * at        of the next byte
 * op_at     of the opcode that is being done
 * is_plain  nothing is packed
 * has_doubt a memo number was put again, which packed dicts may have referred to: all of it has to be read once more, plainly
 */
struct rec_machine {
    struct rec_pickle *p;
    const unsigned char *bytes;
    size_t len;
    size_t at;
    size_t op_at;
    struct rec_slot *stack;
    size_t depth, stack_cap;
    struct rec_mark marks[REC_MACHINE_MARKS_MAX];
    size_t mark_count;
    struct rec_value last_pair; /* of numbers: it is often the same one again */
    bool is_plain;
    bool has_doubt;
    struct vs_error *err;
};

/* VS_E_FORMAT, with the offset of the opcode. */
enum vs_status rec_machine_wrong(struct rec_machine *m, const char *what);
/* The budget does not allow it. */
enum vs_status rec_machine_too_much(struct rec_machine *m);

/* n bytes; a little-endian number of them; a line without its end, which ends with a NUL and has none inside. */
VS_MUST_USE enum vs_status rec_machine_take(struct rec_machine *m, size_t n,
                                            const unsigned char **out);
VS_MUST_USE enum vs_status rec_machine_take_uint(struct rec_machine *m, size_t n, uint64_t *out);
VS_MUST_USE enum vs_status rec_machine_take_line(struct rec_machine *m,
                                                 char out[REC_MACHINE_LINE_MAX]);

/* As the work of the opcode that is being done. */
VS_MUST_USE enum vs_status rec_machine_push(struct rec_machine *m, struct rec_value v);

/* Do opcodes as long as they are the most common ones and nothing is unusual. The stack and the memo are not NULL. */
void rec_machine_run_hot(struct rec_machine *m);

/* Do an opcode that pushes a number, or a text. */
VS_MUST_USE enum vs_status rec_machine_number(struct rec_machine *m, unsigned char code);
VS_MUST_USE enum vs_status rec_machine_text(struct rec_machine *m, unsigned char code);

#endif
