/*
 * recording/pickle.c - see pickle.h: the opcodes.
 *
 * Must not know:  how values are kept; pickle_value.c does. Numbers and texts; pickle_scalar.c.
 */
#include "recording/pickle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recording/pickle_machine.h"
#include "recording/pickle_shape.h"

#define BUDGET_TIMES 4
#define BUDGET_CONSTANT (UINT64_C(64) << 20)

/* Those that name, make or call something, or fetch what is not in the pickle. */
static const struct {
    unsigned char code;
    const char *name;
} REFUSED[] = {
    {'P', "PERSID"},        {'Q', "BINPERSID"},    {'R', "REDUCE"},
    {'b', "BUILD"},         {'c', "GLOBAL"},       {'i', "INST"},
    {'o', "OBJ"},           {0x81, "NEWOBJ"},      {0x82, "EXT1"},
    {0x83, "EXT2"},         {0x84, "EXT4"},        {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"},
};

enum vs_status rec_machine_wrong(struct rec_machine *m, const char *what)
{
    return vs_fail(m->err, VS_E_FORMAT, "offset %zu: %s", m->op_at, what);
}

enum vs_status rec_machine_too_much(struct rec_machine *m)
{
    return rec_machine_wrong(
        m, "it wants more than four times its size of memory, which no recording does");
}

/* ---- operands ---- */

enum vs_status rec_machine_take(struct rec_machine *m, size_t n, const unsigned char **out)
{
    if (n > m->len - m->at)
        return rec_machine_wrong(m, "the pickle is cut off here");
    *out = m->bytes + m->at;
    m->at += n;
    return VS_OK;
}

enum vs_status rec_machine_take_uint(struct rec_machine *m, size_t n, uint64_t *out)
{
    const unsigned char *bytes = NULL;
    enum vs_status st = rec_machine_take(m, n, &bytes);

    *out = 0;
    for (size_t i = 0; i < n && !st; i++)
        *out |= (uint64_t)bytes[i] << 8 * i;
    return st;
}

/* A line without its end; *out ends with a NUL. */
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

/* ---- the stack and the memo ---- */

enum vs_status rec_machine_push(struct rec_machine *m, struct rec_value v)
{
    if (!rec_pickle_grow(m->p, &m->stack, m->depth, &m->stack_cap, sizeof(*m->stack)))
        return rec_machine_too_much(m);
    m->stack[m->depth++] = (struct rec_slot){v, m->op_at};
    return VS_OK;
}

/* Values above the last mark, or above the bottom. */
static size_t above(const struct rec_machine *m)
{
    return m->depth - (m->mark_count ? m->marks[m->mark_count - 1].depth : 0);
}

static enum vs_status need(struct rec_machine *m, size_t n)
{
    return above(m) >= n ? VS_OK : rec_machine_wrong(m, "there is nothing on the stack for it");
}

/* Forget the last mark, which stays where it is in `marks`; *from is how deep the stack was. */
static enum vs_status pop_mark(struct rec_machine *m, size_t *from)
{
    if (!m->mark_count)
        return rec_machine_wrong(m, "there is no mark for it");
    *from = m->marks[--m->mark_count].depth;
    return VS_OK;
}

static enum vs_status put(struct rec_machine *m, uint64_t number)
{
    struct rec_pickle *p = m->p;
    enum vs_status st = need(m, 1);
    struct rec_value v;

    if (st)
        return st;
    if (number >= m->len)
        return rec_machine_wrong(m, "a memo number larger than the pickle");
    while (p->memo_count <= number) {
        if (!rec_pickle_grow(p, &p->memo, p->memo_count, &p->memo_cap, sizeof(*p->memo)))
            return rec_machine_too_much(m);
        p->memo[p->memo_count++].bits = REC_MEMO_UNSET;
    }
    v = m->stack[m->depth - 1].value;
    if (p->memo[number].bits != REC_MEMO_UNSET && p->memo[number].bits != v.bits && !m->is_plain) {
        m->has_doubt = true;
        return VS_E_FORMAT;
    }
    p->memo_put += p->memo[number].bits == REC_MEMO_UNSET;
    p->memo[number] = v;
    return VS_OK;
}

static enum vs_status get(struct rec_machine *m, uint64_t number)
{
    const struct rec_pickle *p = m->p;

    if (number >= p->memo_count || p->memo[number].bits == REC_MEMO_UNSET)
        return rec_machine_wrong(m, "a memo number that nothing was put under");
    return rec_machine_push(m, p->memo[number]);
}

/* ---- lists, tuples, dicts ---- */

static enum vs_status push_box(struct rec_machine *m, enum rec_tag tag)
{
    struct rec_value v;

    return rec_pickle_box(m->p, tag, &v) ? rec_machine_push(m, v) : rec_machine_too_much(m);
}

/* Two small numbers that are equal to the last such two are the same tuple: nobody can tell, and pools are named by them. */
static bool is_last_pair(const struct rec_machine *m, enum rec_tag tag, size_t from)
{
    const struct rec_slot *two = m->stack + from;

    return tag == TAG_TUPLE && m->depth - from == 2 && m->last_pair.bits &&
           TAG_OF(two[0].value) == TAG_INT && TAG_OF(two[1].value) == TAG_INT &&
           rec_value_at(m->p, m->last_pair, 0).bits == two[0].value.bits &&
           rec_value_at(m->p, m->last_pair, 1).bits == two[1].value.bits;
}

/* What stands from `from` on becomes one list or tuple, which began at `at`. */
static enum vs_status collect(struct rec_machine *m, enum rec_tag tag, size_t from, uint64_t at)
{
    struct rec_value v = m->last_pair;
    enum vs_status st;

    if (!is_last_pair(m, tag, from)) {
        if (!rec_pickle_box(m->p, tag, &v) ||
            !rec_pickle_append(m->p, v, m->stack + from, m->depth - from))
            return rec_machine_too_much(m);
        if (tag == TAG_TUPLE && m->depth - from == 2 && TAG_OF(m->stack[from].value) == TAG_INT)
            m->last_pair = v;
    }
    m->depth = from;
    st = rec_machine_push(m, v);
    if (!st)
        m->stack[from].at = at;
    return st;
}

static enum vs_status collect_marked(struct rec_machine *m, enum rec_tag tag)
{
    size_t from = 0;
    enum vs_status st = pop_mark(m, &from);

    return st ? st : collect(m, tag, from, m->marks[m->mark_count].at);
}

/* Append what stands from `from` on to the list below it. */
static enum vs_status append(struct rec_machine *m, size_t from)
{
    if (!from || TAG_OF(m->stack[from - 1].value) != TAG_LIST)
        return rec_machine_wrong(m, from ? "an item for something that is no list"
                                         : "there is no list for it");
    if (!rec_pickle_append(m->p, m->stack[from - 1].value, m->stack + from, m->depth - from))
        return rec_machine_too_much(m);
    m->depth = from;
    return VS_OK;
}

/* The pairs that stand from `from` on go into the dict below. */
static enum vs_status set_items(struct rec_machine *m, size_t from, bool may_pack)
{
    const struct rec_slot *pairs = m->stack + from;
    size_t count = (m->depth - from) / 2;
    bool no_memory = false;

    if (!from || TAG_OF(pairs[-1].value) != TAG_DICT)
        return rec_machine_wrong(m, "an item for something that is no dict");
    if ((m->depth - from) % 2)
        return rec_machine_wrong(m, "a key without a value");
    for (size_t i = 0; i < count; i++)
        if (TAG_OF(pairs[2 * i].value) != TAG_TEXT)
            return rec_machine_wrong(m, "a key that is no text");
    m->depth = from;
    if (!count ||
        (may_pack && rec_pickle_pack(m->p, pairs[-1].value, pairs, count, m->op_at, &no_memory)))
        return VS_OK;
    if (no_memory || !rec_pickle_set(m->p, pairs[-1].value, pairs, count))
        return rec_machine_too_much(m);
    return VS_OK;
}

/* DICT: a new one of what stands above the mark. */
static enum vs_status collect_dict(struct rec_machine *m)
{
    size_t from = 0;
    struct rec_slot slot;
    enum vs_status st = pop_mark(m, &from);

    if (!st)
        st = push_box(m, TAG_DICT);
    if (st)
        return st;
    slot = m->stack[m->depth - 1];
    slot.at = m->marks[m->mark_count].at;
    memmove(m->stack + from + 1, m->stack + from, (m->depth - 1 - from) * sizeof(*m->stack));
    m->stack[from] = slot;
    return set_items(m, from + 1, false);
}

/* The items above the mark belong to what lies below it. */
static enum vs_status marked_items(struct rec_machine *m, bool is_dict)
{
    size_t from = 0;
    enum vs_status st = pop_mark(m, &from);

    if (!st && m->mark_count && from == m->marks[m->mark_count - 1].depth)
        st = rec_machine_wrong(m, "there is nothing on the stack for it");
    if (st)
        return st;
    return is_dict ? set_items(m, from, !m->is_plain) : append(m, from);
}

static enum vs_status single_item(struct rec_machine *m, size_t n, bool is_dict)
{
    enum vs_status st = need(m, n + 1);

    if (st)
        return st;
    return is_dict ? set_items(m, m->depth - n, false) : append(m, m->depth - n);
}

static enum vs_status pop(struct rec_machine *m)
{
    if (!above(m) && m->mark_count) {
        m->mark_count--;
        return VS_OK;
    }
    if (need(m, 1))
        return VS_E_FORMAT;
    m->depth--;
    return VS_OK;
}

/* ---- one opcode ---- */

static enum vs_status refuse(struct rec_machine *m, unsigned char code)
{
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
        if (REFUSED[i].code == code)
            return vs_fail(m->err, VS_E_FORMAT,
                           "offset %zu: opcode %s, which data never needs: it could run code, so "
                           "the file is not read",
                           m->op_at, REFUSED[i].name);
    return vs_fail(m->err, VS_E_FORMAT, "offset %zu: 0x%02x is no opcode of a pickle", m->op_at,
                   code);
}

static enum vs_status do_memo(struct rec_machine *m, unsigned char code)
{
    char line[REC_MACHINE_LINE_MAX];
    uint64_t n = 0;
    enum vs_status st = VS_OK;

    switch (code) {
    case OP_MEMOIZE:
        return put(m, m->p->memo_put);
    case OP_PUT:
    case OP_GET:
        st = rec_machine_take_line(m, line);
        if (!st && (!*line || strspn(line, "0123456789") != strlen(line) || strlen(line) > 18))
            st = rec_machine_wrong(m, "a memo number that is none");
        n = st ? 0 : strtoull(line, NULL, 10);
        break;
    case OP_BINPUT:
    case OP_BINGET:
        st = rec_machine_take_uint(m, 1, &n);
        break;
    default:
        st = rec_machine_take_uint(m, 4, &n);
    }
    if (st)
        return st;
    return code == OP_PUT || code == OP_BINPUT || code == OP_LONG_BINPUT ? put(m, n) : get(m, n);
}

static enum vs_status do_stack(struct rec_machine *m, unsigned char code)
{
    size_t from = 0;
    enum vs_status st;

    switch (code) {
    case OP_MARK:
        if (m->mark_count == REC_MACHINE_MARKS_MAX)
            return rec_machine_wrong(m, "it is nested more than 1000 deep");
        m->marks[m->mark_count++] = (struct rec_mark){m->depth, m->op_at};
        return VS_OK;
    case OP_POP:
        return pop(m);
    case OP_POP_MARK:
        st = pop_mark(m, &from);
        m->depth = st ? m->depth : from;
        return st;
    default:
        st = need(m, 1);
        return st ? st : rec_machine_push(m, m->stack[m->depth - 1].value);
    }
}

static enum vs_status do_box(struct rec_machine *m, unsigned char code)
{
    enum vs_status st;
    size_t n;

    switch (code) {
    case OP_EMPTY_LIST:
    case OP_EMPTY_SET:
        return push_box(m, TAG_LIST);
    case OP_EMPTY_TUPLE:
        return push_box(m, TAG_TUPLE);
    case OP_EMPTY_DICT:
        return push_box(m, TAG_DICT);
    case OP_LIST:
    case OP_FROZENSET:
        return collect_marked(m, TAG_LIST);
    case OP_TUPLE:
        return collect_marked(m, TAG_TUPLE);
    case OP_DICT:
        return collect_dict(m);
    case OP_APPEND:
        return single_item(m, 1, false);
    case OP_SETITEM:
        return single_item(m, 2, true);
    case OP_APPENDS:
    case OP_ADDITEMS:
        return marked_items(m, false);
    case OP_SETITEMS:
        return marked_items(m, true);
    default:
        n = (size_t)(code - OP_TUPLE1) + 1;
        st = need(m, n);
        return st ? st : collect(m, TAG_TUPLE, m->depth - n, m->stack[m->depth - n].at);
    }
}

static enum vs_status do_header(struct rec_machine *m, unsigned char code)
{
    uint64_t n = 0;
    enum vs_status st = rec_machine_take_uint(m, code == OP_PROTO ? 1 : 8, &n);

    if (!st && code == OP_PROTO && n > 5)
        return rec_machine_wrong(m, "a pickle protocol newer than 5");
    if (!st && code == OP_FRAME && n > m->len - m->at)
        return rec_machine_wrong(m, "the pickle is cut off in this frame");
    return st;
}

static enum vs_status step(struct rec_machine *m, unsigned char code)
{
    switch (code) {
    case OP_PROTO:
    case OP_FRAME:
        return do_header(m, code);
    case OP_MARK:
    case OP_POP:
    case OP_POP_MARK:
    case OP_DUP:
        return do_stack(m, code);
    case OP_NONE:
        return rec_machine_push(m, rec_value_of(TAG_PLAIN, PLAIN_NONE));
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        return rec_machine_push(
            m, rec_value_of(TAG_PLAIN, code == OP_NEWTRUE ? PLAIN_TRUE : PLAIN_FALSE));
    case OP_BININT:
    case OP_BININT1:
    case OP_BININT2:
    case OP_LONG1:
    case OP_LONG4:
    case OP_INT:
    case OP_LONG:
    case OP_FLOAT:
    case OP_BINFLOAT:
        return rec_machine_number(m, code);
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINBYTES:
    case OP_SHORT_BINSTRING:
    case OP_BINUNICODE:
    case OP_BINBYTES:
    case OP_BINSTRING:
    case OP_BINUNICODE8:
    case OP_BINBYTES8:
    case OP_BYTEARRAY8:
    case OP_UNICODE:
    case OP_STRING:
        return rec_machine_text(m, code);
    case OP_GET:
    case OP_BINGET:
    case OP_LONG_BINGET:
    case OP_PUT:
    case OP_BINPUT:
    case OP_LONG_BINPUT:
    case OP_MEMOIZE:
        return do_memo(m, code);
    case OP_EMPTY_LIST:
    case OP_EMPTY_SET:
    case OP_EMPTY_TUPLE:
    case OP_EMPTY_DICT:
    case OP_LIST:
    case OP_FROZENSET:
    case OP_TUPLE:
    case OP_DICT:
    case OP_APPEND:
    case OP_SETITEM:
    case OP_APPENDS:
    case OP_ADDITEMS:
    case OP_SETITEMS:
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return do_box(m, code);
    default:
        return refuse(m, code);
    }
}

static enum vs_status machine_run(struct rec_machine *m)
{
    enum vs_status st = VS_OK;

    while (!st) {
        unsigned char code;

        rec_machine_run_hot(m);
        m->op_at = m->at;
        if (m->at == m->len)
            return rec_machine_wrong(m, "the pickle is cut off here");
        code = m->bytes[m->at++];
        if (code == OP_STOP) {
            st = need(m, 1);
            if (!st)
                m->p->top = m->stack[m->depth - 1].value;
            return st;
        }
        st = step(m, code);
    }
    return st;
}

enum vs_status rec_pickle_read_once(const char *bytes, size_t len, bool is_plain, bool *has_doubt,
                                    struct rec_pickle **out, struct vs_error *err)
{
    struct rec_pickle *p = vs_calloc(1, sizeof(*p));
    struct rec_machine *m = vs_calloc(1, sizeof(*m));
    enum vs_status st;

    p->bytes = bytes;
    p->bytes_len = len;
    p->arena = vs_arena_new();
    p->nested_next = vs_calloc(1, sizeof(*p->nested_next));
    p->shapes = vs_calloc(1, sizeof(*p->shapes));
    p->used = len;
    p->budget = (uint64_t)len * BUDGET_TIMES + BUDGET_CONSTANT;
    m->p = p;
    m->bytes = (const unsigned char *)bytes;
    m->len = len;
    m->is_plain = is_plain;
    m->err = err;
    st = rec_pickle_grow(p, &m->stack, 0, &m->stack_cap, sizeof(*m->stack)) &&
                 rec_pickle_grow(p, &p->memo, 0, &p->memo_cap, sizeof(*p->memo))
             ? machine_run(m)
             : rec_machine_too_much(m);
    *has_doubt = m->has_doubt;
    vs_free(m->stack);
    vs_free(m);
    if (st) {
        rec_pickle_free(p);
        p = NULL;
    }
    *out = p;
    return st;
}

enum vs_status rec_pickle_read(const char *bytes, size_t len, struct rec_pickle **out,
                               struct vs_error *err)
{
    bool has_doubt = false;
    enum vs_status st;

    *out = NULL;
    if (len > TEXT_AT_MAX)
        return vs_fail(err, VS_E_FORMAT, "it is larger than 1 TiB");
    st = rec_pickle_read_once(bytes, len, false, &has_doubt, out, err);
    return has_doubt ? rec_pickle_read_once(bytes, len, true, &has_doubt, out, err) : st;
}
