/*
 * base/json.h - writes JSON, member by member, into a growing text.
 *
 * For:            every command with --json.
 * Must not know:  what the figures mean.
 * Invariant:      once every bracket is closed the text is valid JSON (RFC 8259), whatever the strings contain;
 *                 64-bit integers are
 *                 written with all digits and never converted to double.
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
 * out    borrowed: the text that is written to
 * close  the closing brackets that are still to be written, innermost last
 * depth  how many brackets are open
 * flat   from this depth on everything is written on one line; 0: nowhere
 */
struct vs_json {
    struct vs_text *out;
    unsigned depth;
    unsigned flat;
    bool has_member[VS_JSON_DEPTH_MAX];
    bool after_key;
    char close[VS_JSON_DEPTH_MAX];
};

/* Begins to write at the end of `out`, which must outlive the writer. */
void vs_json_init(struct vs_json *json, struct vs_text *out);

/* Open an object or an array. The flat variants write everything inside on one line. */
void vs_json_object(struct vs_json *json);
void vs_json_array(struct vs_json *json);
void vs_json_object_flat(struct vs_json *json);
void vs_json_array_flat(struct vs_json *json);
/* Closes the innermost open object or array. A newline follows the outermost one. */
void vs_json_end(struct vs_json *json);

/* Writes the name of the next member of an object. */
void vs_json_key(struct vs_json *json, const char *key);

/*
 * Write a value. Bytes of a string that are not valid UTF-8 become U+FFFD; NULL and numbers that are not finite
 * become null.
 */
void vs_json_string(struct vs_json *json, const char *text);
void vs_json_uint(struct vs_json *json, uint64_t value);
void vs_json_int(struct vs_json *json, int64_t value);
void vs_json_double(struct vs_json *json, double value);
void vs_json_bool(struct vs_json *json, bool value);
void vs_json_null(struct vs_json *json);

/* Write a key and its value. */
void vs_json_put_string(struct vs_json *json, const char *key, const char *text);
void vs_json_put_uint(struct vs_json *json, const char *key, uint64_t value);
void vs_json_put_int(struct vs_json *json, const char *key, int64_t value);
void vs_json_put_double(struct vs_json *json, const char *key, double value);
void vs_json_put_bool(struct vs_json *json, const char *key, bool value);

#endif
