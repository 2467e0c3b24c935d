/*
 * export/out.c - see out.h.
 *
 * Must not know:  formats.
 * Invariant:      len <= EXP_OUT_BYTES.
 */
#include "export/out.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

struct exp_out *exp_out_new(FILE *file)
{
    struct exp_out *out = vs_alloc(sizeof(*out));

    out->file = file;
    out->len = 0;
    out->failure = 0;
    return out;
}

void exp_out_free(struct exp_out *out)
{
    vs_free(out);
}

bool exp_out_is_failed(const struct exp_out *out)
{
    return out->failure != 0;
}

/* A stream may fail without setting errno. */
static void failure_note(struct exp_out *out)
{
    if (!out->failure)
        out->failure = errno ? errno : EIO;
}

static void flush(struct exp_out *out)
{
    errno = 0;
    if (!out->failure && fwrite(out->bytes, 1, out->len, out->file) != out->len)
        failure_note(out);
    out->len = 0;
}

enum vs_status exp_out_finish(struct exp_out *out, struct vs_error *err)
{
    flush(out);
    errno = 0;
    if (!out->failure && fflush(out->file) != 0)
        failure_note(out);
    if (out->failure)
        return vs_fail(err, VS_E_IO, "cannot be written: %s", strerror(out->failure));
    return VS_OK;
}

void exp_put(struct exp_out *out, const void *bytes, size_t len)
{
    const char *from = bytes;

    if (VS_LIKELY(len < EXP_OUT_BYTES - out->len)) {
        memcpy(out->bytes + out->len, from, len);
        out->len += len;
        return;
    }

    while (len) {
        size_t part = EXP_OUT_BYTES - out->len < len ? EXP_OUT_BYTES - out->len : len;

        memcpy(out->bytes + out->len, from, part);
        out->len += part;
        from += part;
        len -= part;
        if (out->len == EXP_OUT_BYTES)
            flush(out);
    }
}

void exp_put_char(struct exp_out *out, char c)
{
    out->bytes[out->len++] = c;
    if (out->len == EXP_OUT_BYTES)
        flush(out);
}

void exp_put_text(struct exp_out *out, const char *text)
{
    exp_put(out, text, strlen(text));
}

void exp_put_uint(struct exp_out *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    exp_put(out, digits + at, sizeof(digits) - at);
}

void exp_put_int(struct exp_out *out, int64_t value)
{
    if (value < 0)
        exp_put_char(out, '-');
    exp_put_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

size_t exp_put_utf8_n(struct exp_out *out, const char *text, size_t count)
{
    static const char BAD[] = "\xEF\xBF\xBD";
    const char *end = text + count;
    size_t total = 0;

    while (text < end) {
        size_t len = vs_utf8_len(text);
        bool is_good = len && len <= (size_t)(end - text);

        if (out)
            exp_put(out, is_good ? text : BAD, is_good ? len : sizeof(BAD) - 1);
        total += is_good ? len : sizeof(BAD) - 1;
        text += is_good ? len : 1;
    }
    return total;
}

size_t exp_put_utf8(struct exp_out *out, const char *text)
{
    return exp_put_utf8_n(out, text, strlen(text));
}

/* The letter after the backslash; 0: the byte is not escaped; 'u': it has no short escape. */
static char escape_of(char c)
{
    static const char SHORT[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    const char *pair = SHORT;

    while (*pair && *pair != c)
        pair += 2;
    if (*pair)
        return pair[1];
    return (unsigned char)c < 0x20 || c == 0x7F ? 'u' : '\0';
}

/* Number of bytes from here on that need no escape: in most texts all of them. */
static size_t plain_len(const char *text)
{
    size_t len = 0;

    while (text[len] >= 0x20 && text[len] < 0x7F && text[len] != '"' && text[len] != '\\')
        len++;
    return len;
}

void exp_put_json(struct exp_out *out, const char *text)
{
    static const char HEX[] = "0123456789abcdef";

    if (!text) {
        exp_put_text(out, "null");
        return;
    }
    exp_put_char(out, '"');
    for (size_t len; *text; text += len ? len : 1) {
        char escape;

        len = plain_len(text);
        exp_put(out, text, len);
        if (len)
            continue;
        escape = escape_of(*text);
        len = vs_utf8_len(text);
        if (escape == 'u') {
            exp_put_text(out, "\\u00");
            exp_put_char(out, HEX[*text >> 4]);
            exp_put_char(out, HEX[*text & 15]);
        } else if (escape) {
            exp_put_char(out, '\\');
            exp_put_char(out, escape);
        } else if (len) {
            exp_put(out, text, len);
        } else {
            exp_put_text(out, "\\ufffd");
        }
    }
    exp_put_char(out, '"');
}

void exp_put_member(struct exp_out *out, const char *key, uint64_t value)
{
    exp_put_text(out, key);
    exp_put_uint(out, value);
}
