/*
 * cli/mcp/arguments.c - the arguments of a call of a tool; see mcp.h.
 *
 * Must not know:  what an argument means.
 * Invariant:      a message about an argument names it and says what is expected.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "cli/mcp/mcp.h"

#define PATH_MAX_LEN 80
#define NAME_MAX_LEN 80

static const char *path_of(const char *name, char *buf)
{
    snprintf(buf, PATH_MAX_LEN, "$.params.arguments.%s", name);
    return buf;
}

/* The names that are allowed, and one that is looked for among them. */
struct names {
    struct sto_json_reader *schema;
    const char *name;
    struct vs_text unknown;
    struct vs_text legal;
    bool is_found;
};

static bool on_property(void *user, const char *key, enum sto_json_type type, const char *value)
{
    struct names *names = user;

    (void)type;
    (void)value;
    names->is_found = strcmp(key, names->name) == 0;
    return !names->is_found;
}

static bool on_legal(void *user, const char *key, enum sto_json_type type, const char *value)
{
    struct names *names = user;

    (void)type;
    (void)value;
    vs_text_addf(&names->legal, "%s%s", names->legal.len ? ", " : "", key);
    return true;
}

static bool on_argument(void *user, const char *key, enum sto_json_type type, const char *value)
{
    struct names *names = user;

    (void)type;
    (void)value;
    names->name = key;
    names->is_found = false;
    sto_json_members(names->schema, "$.properties", on_property, names);
    if (!names->is_found)
        vs_text_add_n(&names->unknown, key, vs_utf8_cut(key, NAME_MAX_LEN));
    return names->is_found;
}

enum vs_status mcp_args_check(const struct mcp_call *call, const struct mcp_tool *tool,
                              struct vs_error *err)
{
    struct names names = {.schema = sto_json_reader_new(err)};
    enum vs_status st;

    if (!names.schema)
        return err->status;
    st = sto_json_reader_take(names.schema, tool->schema, strlen(tool->schema), err);
    if (!st)
        sto_json_members(call->reader, "$.params.arguments", on_argument, &names);
    if (!st && !names.is_found && names.name) {
        sto_json_members(names.schema, "$.properties", on_legal, &names);
        st = vs_fail(err, VS_E_USAGE, "`%s` has no argument `%s`; it has: %s", tool->name,
                     vs_text_get(&names.unknown), vs_text_get(&names.legal));
    }
    vs_text_release(&names.unknown);
    vs_text_release(&names.legal);
    sto_json_reader_free(names.schema);
    return st;
}

bool mcp_arg_has(const struct mcp_call *call, const char *name)
{
    char path[PATH_MAX_LEN];
    const enum sto_json_type type = sto_json_type(call->reader, path_of(name, path));

    return type != STO_JSON_NONE && type != STO_JSON_NULL;
}

enum vs_status mcp_arg_text(const struct mcp_call *call, const char *name, struct vs_text *out,
                            struct vs_error *err)
{
    char path[PATH_MAX_LEN];

    if (sto_json_text(call->reader, path_of(name, path), out))
        return VS_OK;
    return vs_fail(err, VS_E_USAGE, "the argument `%s` must be a string", name);
}

enum vs_status mcp_arg_count(const struct mcp_call *call, const char *name, uint64_t initial,
                             uint64_t max, uint64_t *out, struct vs_error *err)
{
    char path[PATH_MAX_LEN];
    int64_t n = -1;

    *out = initial;
    if (!mcp_arg_has(call, name))
        return VS_OK;
    if (sto_json_type(call->reader, path_of(name, path)) != STO_JSON_INTEGER ||
        !sto_json_int(call->reader, path, &n) || n < 0 || (uint64_t)n > max)
        return vs_fail(err, VS_E_USAGE,
                       "the argument `%s` must be a whole number from 0 to %" PRIu64, name, max);
    *out = (uint64_t)n;
    return VS_OK;
}

enum vs_status mcp_arg_size(const struct mcp_call *call, const char *name, uint64_t *out,
                            struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    char path[PATH_MAX_LEN];
    int64_t n = 0;
    bool ok = true;

    *out = 0;
    if (!mcp_arg_has(call, name))
        return VS_OK;
    if (sto_json_text(call->reader, path_of(name, path), &text))
        ok = vs_bytes_parse(vs_text_get(&text), out);
    else
        ok = sto_json_int(call->reader, path, &n) && n > 0;
    if (n > 0)
        *out = (uint64_t)n;
    vs_text_release(&text);
    return ok && *out ? VS_OK
                      : vs_fail(err, VS_E_USAGE,
                                "the argument `%s` must be a size such as \"24G\" or a number of "
                                "bytes",
                                name);
}

enum vs_status mcp_arg_path(const struct mcp_call *call, const char *name, struct vs_text *out,
                            struct vs_error *err)
{
    if (mcp_arg_has(call, name))
        return mcp_arg_text(call, name, out, err);
    if (!call->trace)
        return vs_fail(err, VS_E_USAGE, "the argument `%s` must name a trace file", name);
    vs_text_add(out, call->trace);
    return VS_OK;
}

static bool has_time(void *user)
{
    const struct mcp_call *call = user;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < call->deadline;
}

enum vs_status mcp_arg_trace(const struct mcp_call *call, const char *name, struct rpl_trace **out,
                             struct vs_error *err)
{
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = mcp_arg_path(call, name, &path, err);

    if (!st)
        st = rpl_trace_open(vs_text_get(&path), out, err);
    if (!st)
        rpl_trace_watch(*out, has_time, (void *)(uintptr_t)call);
    vs_text_release(&path);
    return st;
}

bool mcp_goes_on(void *user, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    return has_time(user);
}
