/*
 * recording/pickle_scalar.c - the opcodes that push a number or a text.
 *
 * Must not know:  containers, the memo.
 */
#include <stdlib.h>
#include <string.h>

#include "recording/pickle_machine.h"

#define INT_BYTES_MAX 16

/* ---- numbers ---- */

/* Push an integer; negative numbers are in two's complement, and numbers from 2^63 on have the same bits. */
static enum vs_status push_whole(struct rec_machine *m, uint64_t bits, bool fits)
{
    struct rec_value v = rec_value_of(TAG_WIDE, REC_PAYLOAD_MAX);

    return !fits || rec_pickle_int(m->p, (int64_t)bits, &v) ? rec_machine_push(m, v)
                                                            : rec_machine_too_much(m);
}

enum vs_status rec_machine_uint(struct rec_machine *m, uint32_t bytes)
{
    uint64_t n = 0;

    return rec_machine_take_uint(m, bytes, &n) ? VS_E_FORMAT : push_whole(m, n, true);
}

enum vs_status rec_machine_int(struct rec_machine *m, uint32_t arg)
{
    uint64_t n = 0;

    (void)arg;
    if (rec_machine_take_uint(m, 4, &n))
        return VS_E_FORMAT;
    return push_whole(m, (uint64_t)(int32_t)(uint32_t)n, true);
}

/* Little-endian two's complement. */
enum vs_status rec_machine_long(struct rec_machine *m, uint32_t bytes)
{
    const unsigned char *b = NULL;
    uint64_t bits = 0;
    uint64_t n = 0;
    bool fits = true;
    unsigned char fill;

    if (rec_machine_take_uint(m, bytes, &n))
        return VS_E_FORMAT;
    if (n > INT_BYTES_MAX)
        return rec_machine_wrong(m, "a whole number of more than 16 bytes");
    if (rec_machine_take(m, n, &b))
        return VS_E_FORMAT;
    fill = n && b[n - 1] & 0x80 ? 0xff : 0;
    for (size_t i = 0; i < 8; i++)
        bits |= (uint64_t)(i < n ? b[i] : fill) << 8 * i;
    for (size_t i = 8; i < n; i++)
        fits = fits && b[i] == fill;
    return push_whole(m, bits, fits && (!fill || bits >> 63));
}

/* Decimal digits with an optional sign; protocol 0 ends long integers with an L. */
enum vs_status rec_machine_digits(struct rec_machine *m, uint32_t may_be_bool)
{
    char line[REC_MACHINE_LINE_MAX];
    const char *digits = line;
    uint64_t bits = 0;
    bool fits = true;
    size_t len;

    if (rec_machine_take_line(m, line))
        return VS_E_FORMAT;
    len = strlen(line);
    if (may_be_bool && (strcmp(line, "00") == 0 || strcmp(line, "01") == 0))
        return rec_machine_push(m,
                                rec_value_of(TAG_PLAIN, line[1] == '1' ? PLAIN_TRUE : PLAIN_FALSE));
    if (!may_be_bool && len && line[len - 1] == 'L')
        line[--len] = '\0';
    digits += *digits == '-' || *digits == '+';
    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return rec_machine_wrong(m, "a number that is none");
    for (const char *c = digits; *c; c++) {
        fits = fits && bits <= (UINT64_MAX - (uint64_t)(*c - '0')) / 10;
        bits = bits * 10 + (uint64_t)(*c - '0');
    }
    if (*line == '-') {
        fits = fits && bits <= UINT64_C(1) << 63;
        bits = 0 - bits;
    }
    return push_whole(m, bits, fits);
}

/* Push a double, given its bits. */
static enum vs_status push_float(struct rec_machine *m, uint64_t bits)
{
    struct rec_value v;

    return rec_pickle_wide(m->p, TAG_FLOAT, bits, &v) ? rec_machine_push(m, v)
                                                      : rec_machine_too_much(m);
}

enum vs_status rec_machine_float(struct rec_machine *m, uint32_t arg)
{
    const unsigned char *b = NULL;
    uint64_t bits = 0;

    (void)arg;
    if (rec_machine_take(m, 8, &b))
        return VS_E_FORMAT;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | b[i];
    return push_float(m, bits);
}

enum vs_status rec_machine_float_digits(struct rec_machine *m, uint32_t arg)
{
    char line[REC_MACHINE_LINE_MAX];
    char *end = NULL;
    uint64_t bits;
    double d;

    (void)arg;
    if (rec_machine_take_line(m, line))
        return VS_E_FORMAT;
    d = strtod(line, &end);
    if (end == line || *end)
        return rec_machine_wrong(m, "a number that is none");
    memcpy(&bits, &d, sizeof(bits));
    return push_float(m, bits);
}

/* ---- texts ---- */

/* Push a text; `at` as in struct rec_text. */
static enum vs_status push_text(struct rec_machine *m, uint64_t at, uint64_t len)
{
    struct rec_value v;

    if (len > UINT32_MAX)
        return rec_machine_wrong(m, "a text of 4 GiB or more");
    return rec_pickle_text(m->p, at, (uint32_t)len, &v) ? rec_machine_push(m, v)
                                                        : rec_machine_too_much(m);
}

enum vs_status rec_machine_text(struct rec_machine *m, uint32_t bytes)
{
    const unsigned char *b = NULL;
    uint64_t len = 0;

    if (rec_machine_take_uint(m, bytes, &len) || rec_machine_take(m, len, &b))
        return VS_E_FORMAT;
    return push_text(m, (uint64_t)(b - m->bytes), len);
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

/* Read the digits of \uXXXX (4) or \UXXXXXXXX (8). */
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

/* Find the end of the line that begins at the next byte. */
static enum vs_status line_find(struct rec_machine *m, const unsigned char **out)
{
    *out = memchr(m->bytes + m->at, '\n', m->len - m->at);
    return *out ? VS_OK : rec_machine_wrong(m, "the pickle is cut off here");
}

/* UNICODE of protocol 0: Latin-1, other characters as \uXXXX. */
enum vs_status rec_machine_text_line(struct rec_machine *m, uint32_t arg)
{
    const uint64_t start = m->p->side_len;
    const unsigned char *end;
    enum vs_status st = line_find(m, &end);

    (void)arg;
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
    return push_text(m, m->p->bytes_len + start, m->p->side_len - start);
}

/* STRING of protocol 0, a quoted str of Python 2; its escapes are kept. */
enum vs_status rec_machine_text_quoted(struct rec_machine *m, uint32_t arg)
{
    const uint64_t at = m->at;
    const unsigned char *end;
    const unsigned char *start = m->bytes + at;
    size_t len;

    (void)arg;
    if (line_find(m, &end))
        return VS_E_FORMAT;
    len = (size_t)(end - start);
    if (len < 2 || (*start != '\'' && *start != '"') || end[-1] != *start)
        return rec_machine_wrong(m, "a text without its quotes");
    m->at += len + 1;
    return push_text(m, at + 1, len - 2);
}
