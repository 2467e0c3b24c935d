/*
 * store/json/json_reader.c - see json_reader.h.
 *
 * Must not know:  where a text comes from.
 * Invariant:      the database is empty and in memory: a text is only ever bound as a parameter.
 */
#include "store/json/json_reader.h"

#include <string.h>

#include <sqlite3.h>

#include "base/mem.h"

/* db: in memory; valid, get, members: statements; text, len: borrowed; NULL: none */
struct sto_json_reader {
    sqlite3 *db;
    sqlite3_stmt *valid;
    sqlite3_stmt *get;
    sqlite3_stmt *members;
    const char *text;
    size_t len;
};

struct sto_json_reader *sto_json_reader_new(struct vs_error *err)
{
    struct sto_json_reader *reader = vs_calloc(1, sizeof(*reader));

    if (sqlite3_open_v2(":memory:", &reader->db, SQLITE_OPEN_READWRITE, NULL) ||
        sqlite3_prepare_v2(reader->db, "SELECT json_valid(?1)", -1, &reader->valid, NULL) ||
        sqlite3_prepare_v2(reader->db, "SELECT json_type(?1, ?2), json_extract(?1, ?2)", -1,
                           &reader->get, NULL) ||
        sqlite3_prepare_v2(reader->db, "SELECT key, type, value FROM json_each(?1, ?2) ORDER BY id",
                           -1, &reader->members, NULL)) {
        vs_fail(err, VS_E_UNSUPPORTED, "JSON cannot be read: %s", sqlite3_errmsg(reader->db));
        sto_json_reader_free(reader);
        return NULL;
    }
    return reader;
}

void sto_json_reader_free(struct sto_json_reader *reader)
{
    if (!reader)
        return;
    sqlite3_finalize(reader->valid);
    sqlite3_finalize(reader->get);
    sqlite3_finalize(reader->members);
    sqlite3_close(reader->db);
    vs_free(reader);
}

static bool text_bind(struct sto_json_reader *reader, sqlite3_stmt *stmt, const char *path)
{
    return reader->text &&
           !sqlite3_bind_text64(stmt, 1, reader->text, reader->len, SQLITE_STATIC, SQLITE_UTF8) &&
           (!path || !sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC));
}

/* No statement keeps the text. */
static void end(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
}

/* Whether all is UTF-8 without a NUL, which ends a text for SQLite. */
static bool is_utf8(const char *text, size_t len)
{
    struct vs_text copy = {NULL, 0, 0};
    const char *p;
    size_t step = 1;

    if (memchr(text, 0, len))
        return false;
    vs_text_add_n(&copy, text, len); /* vs_utf8_len needs a NUL at the end */
    for (p = vs_text_get(&copy); *p && step; p += step)
        step = vs_utf8_len(p);
    vs_text_release(&copy);
    return step != 0;
}

/* Whether a string has the escape of U+0000, at which SQLite would end it. */
static bool has_nul(const char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] != '\\')
            continue;
        if (len - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0)
            return true;
        i++; /* what is escaped */
    }
    return false;
}

enum vs_status sto_json_reader_take(struct sto_json_reader *reader, const char *text, size_t len,
                                    struct vs_error *err)
{
    bool is_valid;

    reader->text = text;
    reader->len = len;
    is_valid = is_utf8(text, len) && !has_nul(text, len) &&
               text_bind(reader, reader->valid, NULL) &&
               sqlite3_step(reader->valid) == SQLITE_ROW && sqlite3_column_int(reader->valid, 0);
    end(reader->valid);
    if (is_valid)
        return VS_OK;
    reader->text = NULL;
    return vs_fail(err, VS_E_VALUE, "not valid JSON");
}

static enum sto_json_type type_of(const char *name)
{
    static const struct {
        const char *name;
        enum sto_json_type type;
    } TYPES[] = {
        {"null", STO_JSON_NULL},       {"true", STO_JSON_BOOL},     {"false", STO_JSON_BOOL},
        {"integer", STO_JSON_INTEGER}, {"real", STO_JSON_REAL},     {"text", STO_JSON_TEXT},
        {"array", STO_JSON_ARRAY},     {"object", STO_JSON_OBJECT},
    };

    for (size_t i = 0; name && i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
        if (strcmp(TYPES[i].name, name) == 0)
            return TYPES[i].type;
    return STO_JSON_NONE;
}

/* The value at `path` is column 1 of reader->get, until end(). */
static enum sto_json_type get(struct sto_json_reader *reader, const char *path)
{
    if (!text_bind(reader, reader->get, path) || sqlite3_step(reader->get) != SQLITE_ROW)
        return STO_JSON_NONE;
    return type_of((const char *)sqlite3_column_text(reader->get, 0));
}

enum sto_json_type sto_json_type(struct sto_json_reader *reader, const char *path)
{
    const enum sto_json_type type = get(reader, path);

    end(reader->get);
    return type;
}

bool sto_json_text(struct sto_json_reader *reader, const char *path, struct vs_text *out)
{
    bool ok = get(reader, path) == STO_JSON_TEXT;

    if (ok) {
        const char *text = (const char *)sqlite3_column_text(reader->get, 1);
        const size_t len = (size_t)sqlite3_column_bytes(reader->get, 1);

        ok = text && !memchr(text, 0, len);
        if (ok)
            vs_text_add_n(out, text, len);
    }
    end(reader->get);
    return ok;
}

bool sto_json_int(struct sto_json_reader *reader, const char *path, int64_t *out)
{
    const enum sto_json_type type = get(reader, path);
    const bool ok = (type == STO_JSON_INTEGER || type == STO_JSON_BOOL) &&
                    sqlite3_column_type(reader->get, 1) == SQLITE_INTEGER;

    if (ok)
        *out = sqlite3_column_int64(reader->get, 1);
    end(reader->get);
    return ok;
}

bool sto_json_real(struct sto_json_reader *reader, const char *path, double *out)
{
    const enum sto_json_type type = get(reader, path);
    const bool ok = type == STO_JSON_INTEGER || type == STO_JSON_REAL;

    if (ok)
        *out = sqlite3_column_double(reader->get, 1);
    end(reader->get);
    return ok;
}

void sto_json_members(struct sto_json_reader *reader, const char *path, sto_json_member_fn *member,
                      void *user)
{
    bool goes_on =
        sto_json_type(reader, path) == STO_JSON_OBJECT && text_bind(reader, reader->members, path);

    while (goes_on && sqlite3_step(reader->members) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(reader->members, 0);
        const char *name = (const char *)sqlite3_column_text(reader->members, 1);
        const enum sto_json_type type = type_of(name);
        const bool is_plain =
            type == STO_JSON_TEXT || type == STO_JSON_INTEGER || type == STO_JSON_REAL;
        const char *value = type == STO_JSON_BOOL ? name
                            : is_plain ? (const char *)sqlite3_column_text(reader->members, 2)
                                       : "";

        goes_on = member(user, key ? key : "", type, value ? value : "");
    }
    end(reader->members);
}
