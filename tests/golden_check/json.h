/*
 * tests/golden_check/json.h - reads JSON values, for golden files.
 *
 * For:            tests that compare with files made elsewhere.
 * Must not know:  what the values mean.
 * Invariant:      a value and all below it live until the arena given to json_parse is cleared.
 */
#ifndef TESTS_GOLDEN_CHECK_JSON_H
#define TESTS_GOLDEN_CHECK_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

/* An array's items, or an object's members in order (each with its key), are a list of `next`. */
struct json {
    enum json_kind kind;
    const char *key;
    const char *text;
    double number;
    int64_t integer;
    size_t count;
    struct json *first;
    struct json *next;
};

/* NULL when `text` is not JSON: golden files are ours, so the caller fails the test. */
const struct json *json_parse(struct vs_arena *arena, const char *text);
/* Member `key` of an object, item `i` of an array; NULL where there is none (also for a NULL value). */
const struct json *json_get(const struct json *value, const char *key);
const struct json *json_at(const struct json *value, size_t i);
const char *json_str(const struct json *value); /* "" for what is no string */
uint64_t json_u64(const struct json *value);    /* 0 for what is no number */

#endif
