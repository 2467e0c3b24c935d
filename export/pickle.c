/*
 * export/pickle.c - see pickle.h.
 *
 * Must not know:  what the values mean.
 * Invariant:      a list's items are appended in batches, so that a reader's stack stays small however long the list
 *                 is.
 */
#include "export/pickle.h"

#include <string.h>

#include "base/error.h"

#define BATCH 1000

enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_BINFLOAT = 'G',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_BINUNICODE = 'X',
    OP_EMPTY_LIST = ']',
    OP_APPENDS = 'e',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_SETITEMS = 'u',
    OP_EMPTY_DICT = '}',
    OP_PROTO = 0x80,
    OP_TUPLE2 = 0x86,
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_LONG1 = 0x8a,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_MEMOIZE = 0x94,
};

static void op_put(struct exp_pickle *p, enum opcode op)
{
    exp_put_char(p->out, (char)op);
}

/* The `count` lowest bytes, the least significant first. */
static void bytes_put(struct exp_pickle *p, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        exp_put_char(p->out, (char)(value >> (8 * i) & 0xFF));
}

void exp_pickle_begin(struct exp_pickle *p, struct exp_out *out)
{
    p->out = out;
    p->memos = 0;
    op_put(p, OP_PROTO);
    exp_put_char(out, 4);
}

void exp_pickle_end(struct exp_pickle *p)
{
    op_put(p, OP_STOP);
}

void exp_pickle_dict(struct exp_pickle *p)
{
    op_put(p, OP_EMPTY_DICT);
    op_put(p, OP_MARK);
}

void exp_pickle_dict_end(struct exp_pickle *p)
{
    op_put(p, OP_SETITEMS);
}

void exp_pickle_list(struct exp_pickle *p, struct exp_pickle_list *list)
{
    op_put(p, OP_EMPTY_LIST);
    list->items = 0;
}

void exp_pickle_item(struct exp_pickle *p, struct exp_pickle_list *list)
{
    if (list->items == BATCH) {
        op_put(p, OP_APPENDS);
        list->items = 0;
    }
    if (!list->items++)
        op_put(p, OP_MARK);
}

void exp_pickle_list_end(struct exp_pickle *p, struct exp_pickle_list *list)
{
    if (list->items)
        op_put(p, OP_APPENDS);
}

void exp_pickle_uint(struct exp_pickle *p, uint64_t value)
{
    unsigned count = 1;

    if (value <= 0xFF) {
        op_put(p, OP_BININT1);
        bytes_put(p, value, 1);
    } else if (value <= 0xFFFF) {
        op_put(p, OP_BININT2);
        bytes_put(p, value, 2);
    } else if (value <= INT32_MAX) {
        op_put(p, OP_BININT);
        bytes_put(p, value, 4);
    } else {
        /* two's complement: the highest bit is the sign */
        while (count < 8 && value >> (8 * count))
            count++;
        count += (unsigned)(value >> (8 * count - 1) & 1);
        op_put(p, OP_LONG1);
        bytes_put(p, count, 1);
        bytes_put(p, value, count < 8 ? count : 8);
        if (count == 9)
            exp_put_char(p->out, 0);
    }
}

void exp_pickle_int(struct exp_pickle *p, int64_t value)
{
    if (value >= 0) {
        exp_pickle_uint(p, (uint64_t)value);
    } else if (value >= INT32_MIN) {
        op_put(p, OP_BININT);
        bytes_put(p, (uint64_t)value, 4);
    } else {
        op_put(p, OP_LONG1);
        bytes_put(p, 8, 1);
        bytes_put(p, (uint64_t)value, 8);
    }
}

void exp_pickle_double(struct exp_pickle *p, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    op_put(p, OP_BINFLOAT);
    for (unsigned i = 8; i-- > 0;)
        exp_put_char(p->out, (char)(bits >> (8 * i) & 0xFF));
}

void exp_pickle_bool(struct exp_pickle *p, bool value)
{
    op_put(p, value ? OP_NEWTRUE : OP_NEWFALSE);
}

void exp_pickle_text(struct exp_pickle *p, const char *text)
{
    size_t len = exp_put_utf8(NULL, text);

    VS_ASSERT(len <= UINT32_MAX);
    op_put(p, len <= 0xFF ? OP_SHORT_BINUNICODE : OP_BINUNICODE);
    bytes_put(p, len, len <= 0xFF ? 1 : 4);
    exp_put_utf8(p->out, text);
}

void exp_pickle_pair(struct exp_pickle *p)
{
    op_put(p, OP_TUPLE2);
}

bool exp_pickle_again(struct exp_pickle *p, const struct exp_memo *memo)
{
    uint32_t at = memo->number - 1;

    if (!memo->number)
        return false;
    op_put(p, at <= 0xFF ? OP_BINGET : OP_LONG_BINGET);
    bytes_put(p, at, at <= 0xFF ? 1 : 4);
    return true;
}

void exp_pickle_remember(struct exp_pickle *p, struct exp_memo *memo)
{
    op_put(p, OP_MEMOIZE);
    memo->number = ++p->memos;
}

void exp_pickle_word(struct exp_pickle *p, struct exp_memo *memo, const char *text)
{
    if (exp_pickle_again(p, memo))
        return;
    exp_pickle_text(p, text);
    exp_pickle_remember(p, memo);
}
