/*
 * base/json.c - see json.h.
 *
 * Must not know:  what the figures mean.
 * Invariant:      separators are written before a value and never after one, so that nothing has to be removed.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool is_flat(const struct vs_json *json)
{
    return json->flat && json->depth >= json->flat;
}

static void line_break(struct vs_json *json)
{
    vs_text_add_char(json->out, '\n');
    vs_text_add_fill(json->out, ' ', (int)(2 * json->depth));
}

/* Writes the comma, line break and indentation that precede a value or a key. */
static void separate(struct vs_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (!json->depth)
        return;
    if (json->has_member[json->depth - 1])
        vs_text_add(json->out, is_flat(json) ? ", " : ",");
    json->has_member[json->depth - 1] = true;
    if (!is_flat(json))
        line_break(json);
}

static void begin(struct vs_json *json, char open, char close, bool flat)
{
    separate(json);
    VS_ASSERT(json->depth < VS_JSON_DEPTH_MAX);
    vs_text_add_char(json->out, open);
    json->close[json->depth] = close;
    json->has_member[json->depth] = false;
    json->depth++;
    if (flat && !json->flat)
        json->flat = json->depth;
}

static void add_escaped(struct vs_text *out, const char *text)
{
    static const char SHORT[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    const unsigned char *s = (const unsigned char *)text;

    vs_text_add_char(out, '"');
    while (*s) {
        const char *pair = NULL;
        size_t len = vs_utf8_len((const char *)s);

        for (const char *p = SHORT; *p && !pair; p += 2)
            if ((unsigned char)*p == *s)
                pair = p;
        if (pair)
            vs_text_addf(out, "\\%c", pair[1]);
        else if (*s < 0x20 || *s == 0x7F)
            vs_text_addf(out, "\\u%04x", *s);
        else if (!len)
            vs_text_add(out, "\\ufffd");
        else
            vs_text_add_n(out, (const char *)s, len);
        s += len ? len : 1;
    }
    vs_text_add_char(out, '"');
}

void vs_json_init(struct vs_json *json, struct vs_text *out)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
}

void vs_json_object(struct vs_json *json)
{
    begin(json, '{', '}', false);
}

void vs_json_array(struct vs_json *json)
{
    begin(json, '[', ']', false);
}

void vs_json_object_flat(struct vs_json *json)
{
    begin(json, '{', '}', true);
}

void vs_json_array_flat(struct vs_json *json)
{
    begin(json, '[', ']', true);
}

void vs_json_end(struct vs_json *json)
{
    bool flat = is_flat(json);

    VS_ASSERT(json->depth && !json->after_key);
    json->depth--;
    if (json->flat > json->depth)
        json->flat = 0;
    if (json->has_member[json->depth] && !flat)
        line_break(json);
    vs_text_add_char(json->out, json->close[json->depth]);
    if (!json->depth)
        vs_text_add_char(json->out, '\n');
}

void vs_json_key(struct vs_json *json, const char *key)
{
    VS_ASSERT(json->depth && json->close[json->depth - 1] == '}' && !json->after_key);
    separate(json);
    add_escaped(json->out, key);
    vs_text_add(json->out, ": ");
    json->after_key = true;
}

void vs_json_string(struct vs_json *json, const char *text)
{
    if (!text) {
        vs_json_null(json);
        return;
    }
    separate(json);
    add_escaped(json->out, text);
}

void vs_json_uint(struct vs_json *json, uint64_t value)
{
    separate(json);
    vs_text_addf(json->out, "%" PRIu64, value);
}

void vs_json_int(struct vs_json *json, int64_t value)
{
    separate(json);
    vs_text_addf(json->out, "%" PRId64, value);
}

void vs_json_double(struct vs_json *json, double value)
{
    char digits[32];

    if (!isfinite(value)) {
        vs_json_null(json);
        return;
    }
    separate(json);
    /* the shortest form that is read back as the same number */
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (strtod(digits, NULL) == value) /* exact equality is intended */
            break;
    }
    vs_text_add(json->out, digits);
}

void vs_json_bool(struct vs_json *json, bool value)
{
    separate(json);
    vs_text_add(json->out, value ? "true" : "false");
}

void vs_json_null(struct vs_json *json)
{
    separate(json);
    vs_text_add(json->out, "null");
}

void vs_json_put_string(struct vs_json *json, const char *key, const char *text)
{
    vs_json_key(json, key);
    vs_json_string(json, text);
}

void vs_json_put_uint(struct vs_json *json, const char *key, uint64_t value)
{
    vs_json_key(json, key);
    vs_json_uint(json, value);
}

void vs_json_put_int(struct vs_json *json, const char *key, int64_t value)
{
    vs_json_key(json, key);
    vs_json_int(json, value);
}

void vs_json_put_double(struct vs_json *json, const char *key, double value)
{
    vs_json_key(json, key);
    vs_json_double(json, value);
}

void vs_json_put_bool(struct vs_json *json, const char *key, bool value)
{
    vs_json_key(json, key);
    vs_json_bool(json, value);
}
