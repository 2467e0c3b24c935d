/*
 * tools/pickle_dump.c - reads pickles with recording/pickle.c, and prints what is in them.
 *
 * For:            tools/pickle_compare.py, which compiles and runs it.
 * Must not know:  how the pickles were made.
 *
 * Standard input: pickles, each with four bytes of its length before it, the lowest first. Standard output: a line for
 * each: its values as pickle_compare.py writes them, or `refused: ` and the message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "recording/pickle.h"

static void text_print(const char *text, size_t len)
{
    putchar('s');
    for (size_t i = 0; i < len; i++)
        printf("%02x", (unsigned char)text[i]);
    putchar(';');
}

static int by_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

    return order ? order : (a_len > b_len) - (a_len < b_len);
}

static void value_print(const struct rec_pickle *p, struct rec_value v);

/* Keys in the order of their bytes, each once, with the last of its values. */
static void dict_print(const struct rec_pickle *p, struct rec_value v)
{
    const size_t count = rec_value_count(p, v);
    const char *before = NULL;
    size_t before_len = 0;

    putchar('{');
    for (;;) {
        const char *next = NULL;
        size_t next_len = 0;
        size_t at = 0;

        for (size_t i = 0; i < count; i++) {
            size_t len;
            const char *key = rec_value_key(p, v, i, &len);

            if (before && by_bytes(key, len, before, before_len) <= 0)
                continue;
            if (next && by_bytes(key, len, next, next_len) > 0)
                continue;
            next = key;
            next_len = len;
            at = i;
        }
        if (!next)
            break;
        text_print(next, next_len);
        value_print(p, rec_value_at(p, v, at));
        before = next;
        before_len = next_len;
    }
    putchar('}');
}

static void value_print(const struct rec_pickle *p, struct rec_value v)
{
    const enum rec_value_type type = rec_value_type(v);
    const char *text;
    bool is = false;
    uint64_t n = 0;
    double d = 0;
    size_t len = 0;

    switch (type) {
    case REC_NONE:
        putchar('n');
        break;
    case REC_BOOL:
        putchar(rec_value_bool(v, &is) && is ? 't' : 'f');
        break;
    case REC_INT:
        if (rec_value_int(p, v, &n))
            printf("i%" PRIu64 ";", n);
        else
            printf("i?;");
        break;
    case REC_FLOAT:
        if (rec_value_float(p, v, &d))
            memcpy(&n, &d, sizeof(n));
        printf("d%016" PRIx64 ";", n);
        break;
    case REC_TEXT:
        text = rec_value_text(p, v, &len);
        text_print(text, len);
        break;
    case REC_DICT:
        dict_print(p, v);
        break;
    case REC_LIST:
    case REC_TUPLE:
        putchar(type == REC_LIST ? '[' : '(');
        for (size_t i = 0; i < rec_value_count(p, v); i++)
            value_print(p, rec_value_at(p, v, i));
        putchar(type == REC_LIST ? ']' : ')');
        break;
    }
}

int main(void)
{
    unsigned char head[4];

    while (fread(head, 1, 4, stdin) == 4) {
        const size_t len =
            (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
        struct vs_error err = VS_ERROR_INIT;
        struct rec_pickle *p = NULL;
        char *bytes =
            vs_alloc(len); /* exactly as long, so that a sanitizer sees what lies behind it */

        if (fread(bytes, 1, len, stdin) != len)
            return 1;
        if (rec_pickle_read(bytes, len, &p, &err))
            printf("refused: %s", err.text);
        else
            value_print(p, rec_pickle_top(p));
        putchar('\n');
        rec_pickle_free(p);
        vs_free(bytes);
    }
    return 0;
}
