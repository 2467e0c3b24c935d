/*
 * recording/pickle_scalar.c - the opcodes of a pickle that push a number or a text.
 *
 * Must not know:  lists, the memo.
 */
#include <stdlib.h>
#include <string.h>

#include "recording/pickle_machine.h"

#define INT_BYTES_MAX 16

/* ---- numbers ---- */

static enum vs_status push_int(struct rec_machine *m, int64_t n)
{
    struct rec_value v;

    return rec_pickle_int(m->p, n, &v) ? rec_machine_push(m, v) : rec_machine_too_much(m);
}

static enum vs_status push_float(struct rec_machine *m, double d)
{
    struct rec_value v;

    return rec_pickle_float(m->p, d, &v) ? rec_machine_push(m, v) : rec_machine_too_much(m);
}

/* n bytes, little-endian two's complement. */
static enum vs_status push_long(struct rec_machine *m, uint64_t n)
{
    const unsigned char *bytes = NULL;
    struct rec_big big = {0, true};
    struct rec_value v;
    enum vs_status st;
    unsigned char fill;

    if (n > INT_BYTES_MAX)
        return rec_machine_wrong(m, "a whole number of more than 16 bytes");
    st = rec_machine_take(m, (size_t)n, &bytes);
    if (st)
        return st;
    fill = n && bytes[n - 1] & 0x80 ? 0xff : 0;
    for (size_t i = 0; i < 8; i++)
        big.bits |= (uint64_t)(i < n ? bytes[i] : fill) << 8 * i;
    for (size_t i = 8; i < n; i++)
        big.fits = big.fits && bytes[i] == fill;
    /* below -2^63, or between 2^63 and 2^64: the sign is in the bytes that were left out */
    if (big.fits && (fill || !(big.bits >> 63))) {
        if (fill && !(big.bits >> 63))
            big.fits = false;
        else
            return push_int(m, (int64_t)big.bits);
    }
    return rec_pickle_big(m->p, big, &v) ? rec_machine_push(m, v) : rec_machine_too_much(m);
}

/* Decimal digits with a sign; protocol 0 ends longs with an L. */
static enum vs_status push_decimal(struct rec_machine *m, bool is_int)
{
    char line[REC_MACHINE_LINE_MAX];
    const char *digits = line;
    struct rec_big big = {0, true};
    struct rec_value v;
    enum vs_status st = rec_machine_take_line(m, line);
    size_t len;

    if (st)
        return st;
    len = strlen(line);
    if (is_int && (strcmp(line, "00") == 0 || strcmp(line, "01") == 0))
        return rec_machine_push(m,
                                rec_value_of(TAG_PLAIN, line[1] == '1' ? PLAIN_TRUE : PLAIN_FALSE));
    if (!is_int && len && line[len - 1] == 'L')
        line[--len] = '\0';
    digits += *digits == '-' || *digits == '+';
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return rec_machine_wrong(m, "a number that is none");
    for (const char *c = digits; *c; c++) {
        big.fits = big.fits && big.bits <= (UINT64_MAX - (uint64_t)(*c - '0')) / 10;
        big.bits = big.bits * 10 + (uint64_t)(*c - '0');
    }
    if (*line == '-') {
        big.fits = big.fits && big.bits <= UINT64_C(1) << 63;
        big.bits = 0 - big.bits;
        if (big.fits)
            return push_int(m, (int64_t)big.bits);
    } else if (big.fits && !(big.bits >> 63)) {
        return push_int(m, (int64_t)big.bits);
    }
    return rec_pickle_big(m->p, big, &v) ? rec_machine_push(m, v) : rec_machine_too_much(m);
}

static enum vs_status push_text_float(struct rec_machine *m)
{
    char line[REC_MACHINE_LINE_MAX];
    char *end = NULL;
    enum vs_status st = rec_machine_take_line(m, line);
    double d;

    if (st)
        return st;
    d = strtod(line, &end);
    if (end == line || *end)
        return rec_machine_wrong(m, "a number that is none");
    return push_float(m, d);
}

static enum vs_status push_binfloat(struct rec_machine *m)
{
    const unsigned char *bytes = NULL;
    enum vs_status st = rec_machine_take(m, 8, &bytes);
    uint64_t bits = 0;
    double d;

    if (st)
        return st;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&d, &bits, sizeof(d));
    return push_float(m, d);
}

enum vs_status rec_machine_number(struct rec_machine *m, unsigned char code)
{
    uint64_t n = 0;
    enum vs_status st;

    switch (code) {
    case OP_BININT:
        st = rec_machine_take_uint(m, 4, &n);
        return st ? st : push_int(m, (int32_t)(uint32_t)n);
    case OP_BININT1:
    case OP_BININT2:
        st = rec_machine_take_uint(m, code == OP_BININT1 ? 1 : 2, &n);
        return st ? st : push_int(m, (int64_t)n);
    case OP_LONG1:
    case OP_LONG4:
        st = rec_machine_take_uint(m, code == OP_LONG1 ? 1 : 4, &n);
        return st ? st : push_long(m, n);
    case OP_INT:
    case OP_LONG:
        return push_decimal(m, code == OP_INT);
    case OP_FLOAT:
        return push_text_float(m);
    default:
        return push_binfloat(m);
    }
}

/* ---- texts ---- */

static enum vs_status push_text(struct rec_machine *m, uint64_t len)
{
    const unsigned char *bytes = NULL;
    uint64_t at = m->at;
    enum vs_status st = len <= m->len ? rec_machine_take(m, (size_t)len, &bytes)
                                      : rec_machine_wrong(m, "the pickle is cut "
                                                             "off here");

    if (st)
        return st;
    if (len > TEXT_LEN_MAX)
        return rec_machine_wrong(m, "a text of more than 2 MiB");
    return rec_machine_push(m, rec_pickle_text_at(at, len));
}

static enum vs_status push_sized_text(struct rec_machine *m, size_t size_bytes)
{
    uint64_t len;
    enum vs_status st = rec_machine_take_uint(m, size_bytes, &len);

    return st ? st : push_text(m, len);
}

static enum vs_status side_add(struct rec_machine *m, char c)
{
    struct rec_pickle *p = m->p;

    if (!rec_pickle_grow(p, &p->side, p->side_len, &p->side_cap, 1))
        return rec_machine_too_much(m);
    p->side[p->side_len++] = c;
    return VS_OK;
}

static enum vs_status side_add_utf8(struct rec_machine *m, uint32_t c)
{
    static const unsigned char FIRST[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    enum vs_status st = side_add(m, (char)(FIRST[more] | c >> 6 * more));

    while (more-- > 0 && !st)
        st = side_add(m, (char)(0x80 | (c >> 6 * more & 0x3f)));
    return st;
}

/* The digits of \uXXXX (4) or \UXXXXXXXX (8). */
static bool hex_read(const unsigned char *at, size_t left, size_t digits, uint32_t *out)
{
    *out = 0;
    if (left < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        const char *found = memchr("0123456789abcdefABCDEF", at[i], 22);
        unsigned n;

        if (!found)
            return false;
        n = at[i] <= '9' ? at[i] - (unsigned)'0' : (at[i] & 0xdfu) - (unsigned)'A' + 10;
        *out = *out << 4 | n;
    }
    return *out <= 0x10ffff;
}

/* Protocol 0's text: a line in Latin-1 with \uXXXX for the rest. */
static enum vs_status push_unicode_line(struct rec_machine *m)
{
    const unsigned char *end = memchr(m->bytes + m->at, '\n', m->len - m->at);
    uint64_t start = m->p->side_len;
    enum vs_status st = end ? VS_OK : rec_machine_wrong(m, "the pickle is cut off here");

    while (!st && m->bytes + m->at < end) {
        const unsigned char *c = m->bytes + m->at;
        size_t left = (size_t)(end - c);
        size_t digits = left > 1 && c[0] == '\\' ? (c[1] == 'u' ? 4 : c[1] == 'U' ? 8 : 0) : 0;
        uint32_t code = c[0];

        if (digits && !hex_read(c + 2, left - 2, digits, &code))
            return rec_machine_wrong(m, "an escape that is none");
        m->at += digits ? digits + 2 : 1;
        st = side_add_utf8(m, code);
    }
    if (st)
        return st;
    m->at++;
    if (m->p->side_len - start > TEXT_LEN_MAX || m->p->bytes_len + start > TEXT_AT_MAX)
        return rec_machine_wrong(m, "a text of more than 2 MiB");
    return rec_machine_push(m, rec_pickle_text_at(m->p->bytes_len + start, m->p->side_len - start));
}

/* Python 2's str of protocol 0: quoted, and its escapes stay as they are. */
static enum vs_status push_quoted_line(struct rec_machine *m)
{
    const unsigned char *end = memchr(m->bytes + m->at, '\n', m->len - m->at);
    const unsigned char *start = m->bytes + m->at;
    size_t len = end ? (size_t)(end - start) : 0;
    enum vs_status st;

    if (!end)
        return rec_machine_wrong(m, "the pickle is cut off here");
    if (len < 2 || (*start != '\'' && *start != '"') || start[len - 1] != *start)
        return rec_machine_wrong(m, "a text without its quotes");
    m->at++;
    st = push_text(m, len - 2);
    m->at += 2;
    return st;
}

enum vs_status rec_machine_text(struct rec_machine *m, unsigned char code)
{
    switch (code) {
    case OP_SHORT_BINUNICODE:
    case OP_SHORT_BINBYTES:
    case OP_SHORT_BINSTRING:
        return push_sized_text(m, 1);
    case OP_BINUNICODE:
    case OP_BINBYTES:
    case OP_BINSTRING:
        return push_sized_text(m, 4);
    case OP_UNICODE:
        return push_unicode_line(m);
    case OP_STRING:
        return push_quoted_line(m);
    default:
        return push_sized_text(m, 8);
    }
}
