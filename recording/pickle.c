/*
 * recording/pickle.c - see pickle.h: the opcodes.
 *
 * Must not know:  how values are stored (pickle_value.c), how numbers and texts are encoded (pickle_scalar.c).
 */
#include "recording/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "recording/pickle_machine.h"

#define BUDGET_TIMES 4
#define BUDGET_CONSTANT (UINT64_C(64) << 20)

enum vs_status rec_machine_wrong(struct rec_machine *m, const char *what)
{
    return vs_fail(m->err, VS_E_FORMAT, "offset %zu: %s", m->op_at, what);
}

enum vs_status rec_machine_too_much(struct rec_machine *m)
{
    return rec_machine_wrong(
        m, "it wants more than four times its size of memory, which no recording does");
}

enum vs_status rec_machine_take_line(struct rec_machine *m, char out[REC_MACHINE_LINE_MAX])
{
    const unsigned char *end = memchr(m->bytes + m->at, '\n', m->len - m->at);
    size_t len = end ? (size_t)(end - m->bytes) - m->at : 0;

    if (!end)
        return rec_machine_wrong(m, "the pickle is cut off here");
    if (len >= REC_MACHINE_LINE_MAX)
        return rec_machine_wrong(m, "a number with thousands of digits");
    memcpy(out, m->bytes + m->at, len);
    out[len] = '\0';
    m->at += len + 1;
    return strlen(out) == len ? VS_OK : rec_machine_wrong(m, "a number with a NUL in it");
}

/* ---- the stack ---- */

/* Check that there are n values above the last mark, or on the stack if there is no mark. */
static enum vs_status need(struct rec_machine *m, size_t n)
{
    const size_t bottom = m->mark_count ? m->marks[m->mark_count - 1] : 0;

    return m->depth - bottom >= n ? VS_OK
                                  : rec_machine_wrong(m, "there is nothing on the stack for it");
}

/* Remove the last mark; *from is the stack depth at which it was set. */
static enum vs_status unmark(struct rec_machine *m, size_t *from)
{
    if (!m->mark_count)
        return rec_machine_wrong(m, "there is no mark for it");
    *from = m->marks[--m->mark_count];
    return VS_OK;
}

static enum vs_status do_mark(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    if (m->mark_count == REC_MACHINE_MARKS_MAX)
        return rec_machine_wrong(m, "it is nested more than 1000 deep");
    m->marks[m->mark_count++] = m->depth;
    return VS_OK;
}

/* Pop a value, or the mark if that is on top. */
static enum vs_status do_pop(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    if (m->mark_count && m->marks[m->mark_count - 1] == m->depth) {
        m->mark_count--;
        return VS_OK;
    }
    if (need(m, 1))
        return VS_E_FORMAT;
    m->depth--;
    return VS_OK;
}

static enum vs_status do_pop_mark(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    return unmark(m, &m->depth);
}

static enum vs_status do_dup(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    return need(m, 1) ? VS_E_FORMAT : rec_machine_push(m, m->stack[m->depth - 1]);
}

static enum vs_status do_plain(struct rec_machine *m, uint32_t plain)
{
    return rec_machine_push(m, rec_value_of(TAG_PLAIN, plain));
}

/* ---- the memo ---- */

static enum vs_status put(struct rec_machine *m, uint64_t number)
{
    if (need(m, 1))
        return VS_E_FORMAT;
    if (number >= m->len)
        return rec_machine_wrong(m, "a memo number larger than the pickle");
    while (m->memo_count <= number) {
        if (!rec_pickle_grow(m->p, &m->memo, m->memo_count, &m->memo_cap, sizeof(*m->memo)))
            return rec_machine_too_much(m);
        m->memo[m->memo_count++] = REC_MEMO_UNSET;
    }
    m->memo_put += rec_value_same(m->memo[number], REC_MEMO_UNSET);
    m->memo[number] = m->stack[m->depth - 1];
    return VS_OK;
}

static enum vs_status get(struct rec_machine *m, uint64_t number)
{
    if (number >= m->memo_count || rec_value_same(m->memo[number], REC_MEMO_UNSET))
        return rec_machine_wrong(m, "a memo number that nothing was put under");
    return rec_machine_push(m, m->memo[number]);
}

/* Read a memo number: `bytes` bytes, or a line of digits if `bytes` is 0. */
static enum vs_status take_number(struct rec_machine *m, uint32_t bytes, uint64_t *out)
{
    char line[REC_MACHINE_LINE_MAX];

    if (bytes)
        return rec_machine_take_uint(m, bytes, out);
    if (rec_machine_take_line(m, line))
        return VS_E_FORMAT;
    if (!*line || strspn(line, "0123456789") != strlen(line) || strlen(line) > 18)
        return rec_machine_wrong(m, "a memo number that is none");
    *out = strtoull(line, NULL, 10);
    return VS_OK;
}

static enum vs_status do_get(struct rec_machine *m, uint32_t bytes)
{
    uint64_t number = 0;

    return take_number(m, bytes, &number) ? VS_E_FORMAT : get(m, number);
}

static enum vs_status do_put(struct rec_machine *m, uint32_t bytes)
{
    uint64_t number = 0;

    return take_number(m, bytes, &number) ? VS_E_FORMAT : put(m, number);
}

static enum vs_status do_memoize(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    return put(m, m->memo_put);
}

/* ---- lists, tuples, dicts ---- */

/* Set the pairs on the stack from index `from` on in the dict. */
static enum vs_status set_pairs(struct rec_machine *m, struct rec_value dict, size_t from)
{
    const struct rec_value *pairs = m->stack + from;
    const size_t count = (m->depth - from) / 2;

    if ((m->depth - from) % 2)
        return rec_machine_wrong(m, "a key without a value");
    for (size_t i = 0; i < count; i++)
        if (rec_tag_of(pairs[2 * i]) != TAG_TEXT)
            return rec_machine_wrong(m, "a key that is no text");
    if (!rec_pickle_set(m->p, dict, pairs, count))
        return rec_machine_too_much(m);
    m->depth = from;
    return VS_OK;
}

/* Add the values from index `from` on to the container below them. */
static enum vs_status add(struct rec_machine *m, enum rec_tag tag, size_t from)
{
    if (!from || rec_tag_of(m->stack[from - 1]) != tag)
        return rec_machine_wrong(m, tag == TAG_DICT ? "an item for something that is no dict"
                                    : from          ? "an item for something that is no list"
                                                    : "there is no list for it");
    if (tag == TAG_DICT)
        return set_pairs(m, m->stack[from - 1], from);
    if (!rec_pickle_append(m->p, m->stack[from - 1], m->stack + from, m->depth - from))
        return rec_machine_too_much(m);
    m->depth = from;
    return VS_OK;
}

static enum vs_status do_append(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    return need(m, 2) ? VS_E_FORMAT : add(m, TAG_LIST, m->depth - 1);
}

static enum vs_status do_set_item(struct rec_machine *m, uint32_t arg)
{
    (void)arg;
    return need(m, 3) ? VS_E_FORMAT : add(m, TAG_DICT, m->depth - 2);
}

/* Add the values above the mark to the container below it. */
static enum vs_status do_add(struct rec_machine *m, uint32_t tag)
{
    size_t from = 0;

    if (unmark(m, &from))
        return VS_E_FORMAT;
    if (m->mark_count && from == m->marks[m->mark_count - 1])
        return rec_machine_wrong(m, "there is nothing on the stack for it");
    return add(m, (enum rec_tag)tag, from);
}

/* Make a new container of the values from index `from` on. */
static enum vs_status collect(struct rec_machine *m, enum rec_tag tag, size_t from)
{
    struct rec_value v;
    bool is_made;

    if (tag == TAG_TUPLE)
        is_made = rec_pickle_tuple(m->p, m->stack + from, m->depth - from, &v);
    else
        is_made = rec_pickle_box(m->p, tag, &v);
    if (is_made && tag == TAG_LIST)
        is_made = rec_pickle_append(m->p, v, m->stack + from, m->depth - from);
    if (!is_made)
        return rec_machine_too_much(m);
    if (tag == TAG_DICT && set_pairs(m, v, from))
        return VS_E_FORMAT;
    m->depth = from;
    return rec_machine_push(m, v);
}

static enum vs_status do_empty(struct rec_machine *m, uint32_t tag)
{
    return collect(m, (enum rec_tag)tag, m->depth);
}

static enum vs_status do_collect(struct rec_machine *m, uint32_t tag)
{
    size_t from = 0;

    return unmark(m, &from) ? VS_E_FORMAT : collect(m, (enum rec_tag)tag, from);
}

static enum vs_status do_tuple(struct rec_machine *m, uint32_t count)
{
    return need(m, count) ? VS_E_FORMAT : collect(m, TAG_TUPLE, m->depth - count);
}

/* ---- the header ---- */

static enum vs_status do_proto(struct rec_machine *m, uint32_t arg)
{
    uint64_t n = 0;

    (void)arg;
    if (rec_machine_take_uint(m, 1, &n))
        return VS_E_FORMAT;
    return n <= 5 ? VS_OK : rec_machine_wrong(m, "a pickle protocol newer than 5");
}

static enum vs_status do_frame(struct rec_machine *m, uint32_t arg)
{
    uint64_t n = 0;

    (void)arg;
    if (rec_machine_take_uint(m, 8, &n))
        return VS_E_FORMAT;
    return n <= m->len - m->at ? VS_OK
                               : rec_machine_wrong(m, "the pickle is cut off in this frame");
}

/* ---- all opcodes ---- */

/*
 * All opcodes, with the names of CPython's pickletools. Those without a function create or call objects, or refer to
 * data outside the pickle.
 */
static const struct {
    const char *name;
    enum vs_status (*run)(struct rec_machine *m, uint32_t arg);
    uint32_t arg;
} OPCODES[256] = {
    [0x80] = {"PROTO", do_proto, 0},
    [0x95] = {"FRAME", do_frame, 0},
    ['('] = {"MARK", do_mark, 0},
    ['0'] = {"POP", do_pop, 0},
    ['1'] = {"POP_MARK", do_pop_mark, 0},
    ['2'] = {"DUP", do_dup, 0},
    ['N'] = {"NONE", do_plain, PLAIN_NONE},
    [0x88] = {"NEWTRUE", do_plain, PLAIN_TRUE},
    [0x89] = {"NEWFALSE", do_plain, PLAIN_FALSE},
    ['K'] = {"BININT1", rec_machine_uint, 1},
    ['M'] = {"BININT2", rec_machine_uint, 2},
    ['J'] = {"BININT", rec_machine_int, 0},
    [0x8a] = {"LONG1", rec_machine_long, 1},
    [0x8b] = {"LONG4", rec_machine_long, 4},
    ['I'] = {"INT", rec_machine_digits, true},
    ['L'] = {"LONG", rec_machine_digits, false},
    ['G'] = {"BINFLOAT", rec_machine_float, 0},
    ['F'] = {"FLOAT", rec_machine_float_digits, 0},
    [0x8c] = {"SHORT_BINUNICODE", rec_machine_text, 1},
    ['X'] = {"BINUNICODE", rec_machine_text, 4},
    [0x8d] = {"BINUNICODE8", rec_machine_text, 8},
    ['C'] = {"SHORT_BINBYTES", rec_machine_text, 1},
    ['B'] = {"BINBYTES", rec_machine_text, 4},
    [0x8e] = {"BINBYTES8", rec_machine_text, 8},
    [0x96] = {"BYTEARRAY8", rec_machine_text, 8},
    ['U'] = {"SHORT_BINSTRING", rec_machine_text, 1},
    ['T'] = {"BINSTRING", rec_machine_text, 4},
    ['V'] = {"UNICODE", rec_machine_text_line, 0},
    ['S'] = {"STRING", rec_machine_text_quoted, 0},
    ['g'] = {"GET", do_get, 0},
    ['h'] = {"BINGET", do_get, 1},
    ['j'] = {"LONG_BINGET", do_get, 4},
    ['p'] = {"PUT", do_put, 0},
    ['q'] = {"BINPUT", do_put, 1},
    ['r'] = {"LONG_BINPUT", do_put, 4},
    [0x94] = {"MEMOIZE", do_memoize, 0},
    [']'] = {"EMPTY_LIST", do_empty, TAG_LIST},
    [0x8f] = {"EMPTY_SET", do_empty, TAG_LIST},
    [')'] = {"EMPTY_TUPLE", do_empty, TAG_TUPLE},
    ['}'] = {"EMPTY_DICT", do_empty, TAG_DICT},
    ['l'] = {"LIST", do_collect, TAG_LIST},
    [0x91] = {"FROZENSET", do_collect, TAG_LIST},
    ['t'] = {"TUPLE", do_collect, TAG_TUPLE},
    [0x85] = {"TUPLE1", do_tuple, 1},
    [0x86] = {"TUPLE2", do_tuple, 2},
    [0x87] = {"TUPLE3", do_tuple, 3},
    ['d'] = {"DICT", do_collect, TAG_DICT},
    ['a'] = {"APPEND", do_append, 0},
    ['e'] = {"APPENDS", do_add, TAG_LIST},
    [0x90] = {"ADDITEMS", do_add, TAG_LIST},
    ['s'] = {"SETITEM", do_set_item, 0},
    ['u'] = {"SETITEMS", do_add, TAG_DICT},
    ['P'] = {"PERSID", NULL, 0},
    ['Q'] = {"BINPERSID", NULL, 0},
    ['R'] = {"REDUCE", NULL, 0},
    ['b'] = {"BUILD", NULL, 0},
    ['c'] = {"GLOBAL", NULL, 0},
    ['i'] = {"INST", NULL, 0},
    ['o'] = {"OBJ", NULL, 0},
    [0x81] = {"NEWOBJ", NULL, 0},
    [0x82] = {"EXT1", NULL, 0},
    [0x83] = {"EXT2", NULL, 0},
    [0x84] = {"EXT4", NULL, 0},
    [0x92] = {"NEWOBJ_EX", NULL, 0},
    [0x93] = {"STACK_GLOBAL", NULL, 0},
    [0x97] = {"NEXT_BUFFER", NULL, 0},
    [0x98] = {"READONLY_BUFFER", NULL, 0},
};
#define OP_STOP '.'

static enum vs_status refuse(struct rec_machine *m, unsigned char code)
{
    if (OPCODES[code].name)
        return vs_fail(m->err, VS_E_FORMAT,
                       "offset %zu: opcode %s, which data never needs: it could run code, so "
                       "the file is not read",
                       m->op_at, OPCODES[code].name);
    return vs_fail(m->err, VS_E_FORMAT, "offset %zu: 0x%02x is no opcode of a pickle", m->op_at,
                   code);
}

static enum vs_status machine_run(struct rec_machine *m)
{
    enum vs_status st = VS_OK;

    while (!st) {
        unsigned char code;

        m->op_at = m->at;
        if (m->at == m->len)
            return rec_machine_wrong(m, "the pickle is cut off here");
        code = m->bytes[m->at++];
        if (code == OP_STOP)
            break;
        st = OPCODES[code].run ? OPCODES[code].run(m, OPCODES[code].arg) : refuse(m, code);
    }
    if (!st)
        st = need(m, 1);
    if (!st)
        m->p->top = m->stack[m->depth - 1];
    return st;
}

enum vs_status rec_pickle_read(const char *bytes, size_t len, struct rec_pickle **out,
                               struct vs_error *err)
{
    struct rec_pickle *p = vs_calloc(1, sizeof(*p));
    struct rec_machine *m = vs_calloc(1, sizeof(*m));
    enum vs_status st;

    p->bytes = bytes;
    p->bytes_len = len;
    p->used = len;
    p->budget = (uint64_t)len * BUDGET_TIMES + BUDGET_CONSTANT;
    m->p = p;
    m->bytes = (const unsigned char *)bytes;
    m->len = len;
    m->err = err;
    st = rec_pickle_begin(p) && rec_pickle_grow(p, &m->stack, 0, &m->stack_cap, sizeof(*m->stack))
             ? machine_run(m)
             : rec_machine_too_much(m);
    vs_free(m->stack);
    vs_free(m->memo);
    vs_free(m);
    if (st) {
        rec_pickle_free(p);
        p = NULL;
    }
    *out = p;
    return st;
}
