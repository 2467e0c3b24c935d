/*
 * tests/recording/pickle_words.c - see pickle_words.h.
 */
#include "tests/recording/pickle_words.h"

#include <inttypes.h>
#include <string.h>

static void add_text(const char *at, size_t len, struct vs_text *out)
{
    vs_text_add_char(out, 't');
    for (size_t i = 0; i < len; i++)
        vs_text_addf(out, "%02x", (unsigned char)at[i]);
}

static void add_items(const struct rec_pickle *p, struct rec_value v, const char *brackets,
                      struct vs_text *out)
{
    vs_text_add_char(out, brackets[0]);
    for (size_t i = 0; i < rec_value_count(p, v); i++) {
        vs_text_add(out, i ? "," : "");
        if (rec_value_type(v) == REC_DICT) {
            size_t len;
            const char *key = rec_value_key(p, v, i, &len);

            add_text(key, len, out);
            vs_text_add_char(out, '=');
        }
        pickle_words_add(p, rec_value_at(p, v, i), out);
    }
    vs_text_add_char(out, brackets[1]);
}

static void add_int(const struct rec_pickle *p, struct rec_value v, struct vs_text *out)
{
    uint64_t n;

    if (!rec_value_int(p, v, &n))
        vs_text_add(out, "big");
    else
        vs_text_addf(out, "%" PRId64, (int64_t)n);
}

void pickle_words_add(const struct rec_pickle *p, struct rec_value v, struct vs_text *out)
{
    bool is_true = false;
    double d = 0;
    uint64_t bits;
    size_t len;
    const char *text;

    switch (rec_value_type(v)) {
    case REC_NONE:
        vs_text_add(out, "n");
        break;
    case REC_BOOL:
        VS_ASSERT(rec_value_bool(v, &is_true));
        vs_text_add(out, is_true ? "true" : "false");
        break;
    case REC_INT:
        add_int(p, v, out);
        break;
    case REC_FLOAT:
        VS_ASSERT(rec_value_float(p, v, &d));
        memcpy(&bits, &d, sizeof(bits));
        vs_text_addf(out, "f%016" PRIx64, bits);
        break;
    case REC_TEXT:
        text = rec_value_text(p, v, &len);
        add_text(text, len, out);
        break;
    case REC_LIST:
        add_items(p, v, "[]", out);
        break;
    case REC_TUPLE:
        add_items(p, v, "()", out);
        break;
    case REC_DICT:
        add_items(p, v, "{}", out);
        break;
    }
}
