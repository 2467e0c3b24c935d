/*
 * store/json/json_reader.h - reads a JSON text, by SQLite's functions for JSON.
 *
 * For:            messages of other programs (cli/mcp/).
 * Must not know:  what a message means.
 * Invariant:      a text that is not valid JSON (RFC 8259) is refused as a whole; no value is changed.
 *
 * A path is SQLite's: "$" is the whole text, "$.params.name" a member of a member.
 */
#ifndef STO_JSON_READER_H
#define STO_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"

enum sto_json_type {
    STO_JSON_NONE, /* there is nothing at this path */
    STO_JSON_NULL,
    STO_JSON_BOOL,
    STO_JSON_INTEGER,
    STO_JSON_REAL,
    STO_JSON_TEXT,
    STO_JSON_ARRAY,
    STO_JSON_OBJECT,
};

struct sto_json_reader;

/*
 * A reader without a text. One reader can read many texts, one after the other. NULL and *err: SQLite has no functions
 * for JSON, or no memory.
 */
struct sto_json_reader *sto_json_reader_new(struct vs_error *err) VS_MUST_USE;
void sto_json_reader_free(struct sto_json_reader *reader);

/*
 * Take the `len` bytes of `text`, which must live until the next one is taken. VS_E_VALUE: they are not JSON, nested
 * too deeply for SQLite (a thousand levels), or have U+0000 in a string; no value can be read then.
 */
VS_MUST_USE enum vs_status sto_json_reader_take(struct sto_json_reader *reader, const char *text,
                                                size_t len, struct vs_error *err);

/* What is at `path`. O(length of the text), as the others. */
enum sto_json_type sto_json_type(struct sto_json_reader *reader, const char *path);

/* Append the string at `path`. False: there is none. */
bool sto_json_text(struct sto_json_reader *reader, const char *path, struct vs_text *out);
/* The integer or boolean at `path`. False: there is none, or it does not fit. */
bool sto_json_int(struct sto_json_reader *reader, const char *path, int64_t *out);
/* The number at `path`. False: there is none. */
bool sto_json_real(struct sto_json_reader *reader, const char *path, double *out);

/*
 * Call `member` with each member of the object at `path`, in order; value: of a string, number or boolean its text
 * ("true", "16"), else "". False ends it. Nothing is called where there is no object.
 */
typedef bool sto_json_member_fn(void *user, const char *key, enum sto_json_type type,
                                const char *value);
void sto_json_members(struct sto_json_reader *reader, const char *path, sto_json_member_fn *member,
                      void *user);

#endif
