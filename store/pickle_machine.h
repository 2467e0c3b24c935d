/*
 * store/pickle_machine.h - the machine that a pickle is a program of, as far as it is data.
 *
 * For:            store/pickle*.c only.
 * Must not know:  how values are kept.
 * Invariant:      it only ever moves forward in the input, one opcode at a time.
 */
#ifndef STO_PICKLE_MACHINE_H
#define STO_PICKLE_MACHINE_H

#include "store/pickle_internal.h"
#include "store/pickle_opcode.h"
#include "store/pickle_packed.h"

/* PyTorch's snapshots are seven deep. */
#define STO_MACHINE_MARKS_MAX 1000
#define STO_MACHINE_LINE_MAX 4096

/* How deep the stack was, and where the MARK stands. */
struct sto_mark {
    size_t depth;
    uint64_t at;
};

/*
 * at        of the next byte
 * op_at     of the opcode that is being done
 * is_plain  nothing is packed
 * has_doubt a memo number was put again, which packed dicts may have referred to: all of it has to be read once more, plainly
 */
struct sto_machine {
    struct sto_pickle *p;
    const unsigned char *bytes;
    size_t len;
    size_t at;
    size_t op_at;
    struct sto_slot *stack;
    size_t depth, stack_cap;
    struct sto_mark marks[STO_MACHINE_MARKS_MAX];
    size_t mark_count;
    struct sto_value last_pair; /* of numbers: it is often the same one again */
    bool is_plain;
    bool has_doubt;
    struct vs_error *err;
};

/* VS_E_FORMAT, with the offset of the opcode. */
enum vs_status sto_machine_wrong(struct sto_machine *m, const char *what);
/* The budget does not allow it. */
enum vs_status sto_machine_too_much(struct sto_machine *m);

/* n bytes; a little-endian number of them; a line without its end, which ends with a NUL and has none inside. */
VS_MUST_USE enum vs_status sto_machine_take(struct sto_machine *m, size_t n,
                                            const unsigned char **out);
VS_MUST_USE enum vs_status sto_machine_take_uint(struct sto_machine *m, size_t n, uint64_t *out);
VS_MUST_USE enum vs_status sto_machine_take_line(struct sto_machine *m,
                                                 char out[STO_MACHINE_LINE_MAX]);

/* As the work of the opcode that is being done. */
VS_MUST_USE enum vs_status sto_machine_push(struct sto_machine *m, struct sto_value v);

/* Do opcodes as long as they are the most common ones and nothing is unusual. The stack and the memo are not NULL. */
void sto_machine_run_hot(struct sto_machine *m);

/* Do an opcode that pushes a number, or a text. */
VS_MUST_USE enum vs_status sto_machine_number(struct sto_machine *m, unsigned char code);
VS_MUST_USE enum vs_status sto_machine_text(struct sto_machine *m, unsigned char code);

#endif
