/*
 * tests/store/pickle_words.c - see pickle_words.h.
 */
#include "tests/store/pickle_words.h"

#include <inttypes.h>
#include <string.h>

static void add_text(const char *at, size_t len, struct vs_text *out)
{
    vs_text_add_char(out, 't');
    for (size_t i = 0; i < len; i++)
        vs_text_addf(out, "%02x", (unsigned char)at[i]);
}

static void add_items(const struct sto_pickle *p, struct sto_value v, const char *brackets,
                      struct vs_text *out)
{
    vs_text_add_char(out, brackets[0]);
    for (size_t i = 0; i < sto_value_count(p, v); i++) {
        vs_text_add(out, i ? "," : "");
        if (sto_value_type(v) == STO_DICT) {
            size_t len;
            const char *key = sto_value_key(p, v, i, &len);

            add_text(key, len, out);
            vs_text_add_char(out, '=');
        }
        pickle_words_add(p, sto_value_at(p, v, i), out);
    }
    vs_text_add_char(out, brackets[1]);
}

static void add_int(const struct sto_pickle *p, struct sto_value v, struct vs_text *out)
{
    uint64_t n;

    if (!sto_value_int(p, v, &n))
        vs_text_add(out, "big");
    else
        vs_text_addf(out, "%" PRId64, (int64_t)n);
}

void pickle_words_add(const struct sto_pickle *p, struct sto_value v, struct vs_text *out)
{
    bool is_true = false;
    double d = 0;
    uint64_t bits;
    size_t len;
    const char *text;

    switch (sto_value_type(v)) {
    case STO_NONE:
        vs_text_add(out, "n");
        break;
    case STO_BOOL:
        VS_ASSERT(sto_value_bool(v, &is_true));
        vs_text_add(out, is_true ? "true" : "false");
        break;
    case STO_INT:
        add_int(p, v, out);
        break;
    case STO_FLOAT:
        VS_ASSERT(sto_value_float(p, v, &d));
        memcpy(&bits, &d, sizeof(bits));
        vs_text_addf(out, "f%016" PRIx64, bits);
        break;
    case STO_TEXT:
        text = sto_value_text(p, v, &len);
        add_text(text, len, out);
        break;
    case STO_LIST:
        add_items(p, v, "[]", out);
        break;
    case STO_TUPLE:
        add_items(p, v, "()", out);
        break;
    case STO_DICT:
        add_items(p, v, "{}", out);
        break;
    }
}
