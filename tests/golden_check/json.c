/*
 * tests/golden_check/json.c - see json.h.
 *
 * Must not know:  what the values mean.
 * Invariant:      numbers keep their 64 bits beside the double.
 */
#include "tests/golden_check/json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct vs_arena *arena;
    const char *p;
};

static struct json *read_value(struct reader *r);

static void skip(struct reader *r)
{
    while (isspace((unsigned char)*r->p))
        r->p++;
}

static const char *read_string(struct reader *r)
{
    const char *end = ++r->p;
    char *out;
    size_t n = 0;

    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (!*end)
        return NULL;
    out = vs_arena_alloc(r->arena, (size_t)(end - r->p) + 1);
    for (; r->p < end; r->p++) {
        if (*r->p == '\\') {
            r->p++;
            out[n++] = *r->p == 'n' ? '\n' : *r->p == 't' ? '\t' : *r->p;
        } else {
            out[n++] = *r->p;
        }
    }
    out[n] = '\0';
    r->p++;
    return out;
}

static struct json *read_items(struct reader *r, struct json *list, char close)
{
    struct json **tail = &list->first;

    r->p++;
    skip(r);
    while (*r->p != close) {
        const char *key = NULL;
        struct json *item;

        if (list->kind == JSON_OBJECT) {
            key = *r->p == '"' ? read_string(r) : NULL;
            skip(r);
            if (!key || *r->p++ != ':')
                return NULL;
        }
        item = read_value(r);
        if (!item)
            return NULL;
        item->key = key;
        *tail = item;
        tail = &item->next;
        list->count++;
        skip(r);
        if (*r->p == ',')
            r->p++;
        else if (*r->p != close)
            return NULL;
        skip(r);
    }
    r->p++;
    return list;
}

static struct json *read_value(struct reader *r)
{
    struct json *v = vs_arena_calloc(r->arena, 1, sizeof(*v));
    char *end;

    skip(r);
    switch (*r->p) {
    case '{':
        v->kind = JSON_OBJECT;
        return read_items(r, v, '}');
    case '[':
        v->kind = JSON_ARRAY;
        return read_items(r, v, ']');
    case '"':
        v->kind = JSON_STRING;
        v->text = read_string(r);
        return v->text ? v : NULL;
    case 't':
    case 'f':
    case 'n':
        v->kind = *r->p == 't' ? JSON_TRUE : *r->p == 'f' ? JSON_FALSE : JSON_NULL;
        while (isalpha((unsigned char)*r->p))
            r->p++;
        return v;
    default:
        v->kind = JSON_NUMBER;
        v->number = strtod(r->p, &end);
        v->integer = strtoll(r->p, NULL, 10);
        if (end == r->p)
            return NULL;
        r->p = end;
        return v;
    }
}

const struct json *json_parse(struct vs_arena *arena, const char *text)
{
    struct reader r = {arena, text};

    return read_value(&r);
}

const struct json *json_get(const struct json *value, const char *key)
{
    for (const struct json *m = value && value->kind == JSON_OBJECT ? value->first : NULL; m;
         m = m->next) {
        if (!strcmp(m->key, key))
            return m;
    }
    return NULL;
}

const struct json *json_at(const struct json *value, size_t i)
{
    const struct json *m = value && value->kind == JSON_ARRAY ? value->first : NULL;

    while (m && i--)
        m = m->next;
    return m;
}

const char *json_str(const struct json *value)
{
    return value && value->kind == JSON_STRING ? value->text : "";
}

uint64_t json_u64(const struct json *value)
{
    return value && value->kind == JSON_NUMBER ? (uint64_t)value->integer : 0;
}
