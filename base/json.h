/*
 * base/json.h - writes JSON, member by member, into a growing text.
 *
 * For:            every command with --json.
 * Must not know:  what the figures mean.
 * Invariant:      what has been closed completely is valid JSON (RFC 8259), whatever the strings held; integers of 64 bits are
 *                 written digit by digit, never through a double.
 *
 *     vs_json_init(&json, &text);
 *     vs_json_object(&json);
 *     vs_json_key(&json, "peak");
 *     vs_json_uint(&json, bytes);
 *     vs_json_end(&json);
 */
#ifndef VS_BASE_JSON_H
#define VS_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

#define VS_JSON_DEPTH_MAX 32

/*
 * out    borrowed
 * close  the brackets that are open
 * depth  how many
 * flat   from this depth on everything stands on one line; 0: nothing does
 */
struct vs_json {
    struct vs_text *out;
    unsigned depth;
    unsigned flat;
    bool has_member[VS_JSON_DEPTH_MAX];
    bool after_key;
    char close[VS_JSON_DEPTH_MAX];
};

/* Start at the end of `out`, which must outlive the writer. */
void vs_json_init(struct vs_json *json, struct vs_text *out);

/* Open an object or an array; the flat ones are written on one line with all they hold. */
void vs_json_object(struct vs_json *json);
void vs_json_array(struct vs_json *json);
void vs_json_object_flat(struct vs_json *json);
void vs_json_array_flat(struct vs_json *json);
/* Close what was opened last. After the outermost one a final newline is written. */
void vs_json_end(struct vs_json *json);

/* The name of the next member of an object. */
void vs_json_key(struct vs_json *json, const char *key);

/* Values. Bytes of a string that are not UTF-8 become U+FFFD; NULL is null. A number that is not finite is null. */
void vs_json_string(struct vs_json *json, const char *text);
void vs_json_uint(struct vs_json *json, uint64_t value);
void vs_json_int(struct vs_json *json, int64_t value);
void vs_json_double(struct vs_json *json, double value);
void vs_json_bool(struct vs_json *json, bool value);
void vs_json_null(struct vs_json *json);

/* Key and value in one. */
void vs_json_put_string(struct vs_json *json, const char *key, const char *text);
void vs_json_put_uint(struct vs_json *json, const char *key, uint64_t value);
void vs_json_put_int(struct vs_json *json, const char *key, int64_t value);
void vs_json_put_double(struct vs_json *json, const char *key, double value);
void vs_json_put_bool(struct vs_json *json, const char *key, bool value);

#endif
