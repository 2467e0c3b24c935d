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

/* PyTorch's snapshots are seven deep. */
#define STO_MACHINE_MARKS_MAX 1000
#define STO_MACHINE_LINE_MAX 4096

enum opcode {
    OP_MARK = '(',
    OP_EMPTY_TUPLE = ')',
    OP_STOP = '.',
    OP_POP = '0',
    OP_POP_MARK = '1',
    OP_DUP = '2',
    OP_BINBYTES = 'B',
    OP_SHORT_BINBYTES = 'C',
    OP_FLOAT = 'F',
    OP_BINFLOAT = 'G',
    OP_INT = 'I',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_LONG = 'L',
    OP_BININT2 = 'M',
    OP_NONE = 'N',
    OP_STRING = 'S',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_UNICODE = 'V',
    OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_DICT = 'd',
    OP_APPENDS = 'e',
    OP_GET = 'g',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_LIST = 'l',
    OP_PUT = 'p',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_SETITEM = 's',
    OP_TUPLE = 't',
    OP_SETITEMS = 'u',
    OP_EMPTY_DICT = '}',
    OP_PROTO = 0x80,
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_BINBYTES8 = 0x8e,
    OP_EMPTY_SET = 0x8f,
    OP_ADDITEMS = 0x90,
    OP_FROZENSET = 0x91,
    OP_MEMOIZE = 0x94,
    OP_FRAME = 0x95,
    OP_BYTEARRAY8 = 0x96,
};

/*
 * at       of the next byte
 * op_at    of the opcode that is being done
 * marks    depths of the stack
 * memo     by number; what nothing was put under is a value that no opcode makes
 */
struct sto_machine {
    struct sto_pickle *p;
    const unsigned char *bytes;
    size_t len;
    size_t at;
    size_t op_at;
    struct sto_value *stack;
    size_t depth, stack_cap;
    size_t marks[STO_MACHINE_MARKS_MAX];
    size_t mark_count;
    struct sto_value *memo;
    size_t memo_count, memo_cap;
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

VS_MUST_USE enum vs_status sto_machine_push(struct sto_machine *m, struct sto_value v);

/* Do an opcode that pushes a number, or a text. */
VS_MUST_USE enum vs_status sto_machine_number(struct sto_machine *m, unsigned char code);
VS_MUST_USE enum vs_status sto_machine_text(struct sto_machine *m, unsigned char code);

#endif
