/*
 * cli/mcp/server.c - the protocol: JSON-RPC 2.0 with the methods of a server that has tools; see mcp.h.
 *
 * Must not know:  what a tool does.
 * Invariant:      each request has exactly one answer, of one line; notifications have none.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/mcp/mcp.h"
#include "cli/version.h"

/* Versions of the protocol that this server speaks, the newest first. */
static const char *const VERSIONS[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
#define VERSION_COUNT (sizeof(VERSIONS) / sizeof(VERSIONS[0]))

/* Error codes of JSON-RPC. */
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    INVALID_PARAMS = -32602,
};

#define INSTRUCTIONS                                                                               \
    "vramscope reads traces of PyTorch's GPU memory. Ask `peak` first: it says what fills the "    \
    "peak, and names events and blocks by number. `holders` and `why_alive` explain them, "        \
    "`advise` lists what would help, `whatif` runs a recorded net again with other settings, "     \
    "`query` answers the rest in SQL. Sizes are bytes. Nothing here starts a program."

enum vs_status mcp_server_open(struct mcp_server *server, const char *trace, struct vs_error *err)
{
    server->trace = trace;
    server->seconds = MCP_SECONDS_MAX;
    server->reader = sto_json_reader_new(err);
    return server->reader ? VS_OK : err->status;
}

void mcp_server_close(struct mcp_server *server)
{
    sto_json_reader_free(server->reader);
}

static void add_string(const char *text, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_string(&json, text);
}

/* ---- answers ---- */

/* The id of the message as it was sent; false: it has none, or none that the protocol allows. */
static bool id_add(struct mcp_server *server, struct vs_text *out)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    int64_t n;
    double real;
    bool ok = true;

    vs_json_init(&json, out);
    switch (sto_json_type(server->reader, "$.id")) {
    case STO_JSON_TEXT:
        ok = sto_json_text(server->reader, "$.id", &text);
        if (ok)
            vs_json_string(&json, vs_text_get(&text));
        break;
    case STO_JSON_INTEGER:
        ok = sto_json_int(server->reader, "$.id", &n);
        if (ok)
            vs_json_int(&json, n);
        break;
    case STO_JSON_REAL:
        ok = sto_json_real(server->reader, "$.id", &real);
        if (ok)
            vs_json_double(&json, real);
        break;
    case STO_JSON_NONE:
    case STO_JSON_NULL:
    case STO_JSON_BOOL:
    case STO_JSON_ARRAY:
    case STO_JSON_OBJECT:
        ok = false;
        break;
    }
    vs_text_release(&text);
    return ok;
}

static void add_result(const char *id, const char *result, struct vs_text *out)
{
    vs_text_addf(out, "{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", id, result);
}

static void add_error(const char *id, int code, const char *message, struct vs_text *out)
{
    vs_text_addf(out,
                 "{\"jsonrpc\": \"2.0\", \"id\": %s, \"error\": {\"code\": %d, \"message\": ", id,
                 code);
    add_string(message, out);
    vs_text_add(out, "}}\n");
}

/* ---- methods ---- */

static void initialize(struct mcp_server *server, const char *id, struct vs_text *out)
{
    struct vs_text asked = {NULL, 0, 0};
    struct vs_text result = {NULL, 0, 0};
    const char *version = VERSIONS[0];

    if (!sto_json_text(server->reader, "$.params.protocolVersion", &asked)) {
        add_error(id, INVALID_PARAMS, "initialize needs params.protocolVersion, a string", out);
        return;
    }
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (strcmp(VERSIONS[i], vs_text_get(&asked)) == 0)
            version = VERSIONS[i];
    vs_text_addf(&result,
                 "{\"protocolVersion\": \"%s\", \"capabilities\": {\"tools\": {\"listChanged\": "
                 "false}}, \"serverInfo\": {\"name\": \"vramscope\", \"version\": \"%s\"}, "
                 "\"instructions\": ",
                 version, CLI_VERSION);
    add_string(INSTRUCTIONS, &result);
    vs_text_add(&result, "}");
    add_result(id, vs_text_get(&result), out);
    vs_text_release(&asked);
    vs_text_release(&result);
}

static void tools_list(const char *id, struct vs_text *out)
{
    struct vs_text result = {NULL, 0, 0};

    vs_text_add(&result, "{\"tools\": ");
    mcp_tools_json(&result);
    vs_text_add(&result, "}");
    add_result(id, vs_text_get(&result), out);
    vs_text_release(&result);
}

static const struct mcp_tool *tool_find(const char *name)
{
    const struct mcp_tool *tool;

    for (size_t i = 0; (tool = mcp_tool_at(i)) != NULL; i++)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}

/* Run the tool; *answer is its object on one line. */
static enum vs_status tool_run(struct mcp_server *server, const struct mcp_tool *tool,
                               struct vs_text *answer, struct vs_error *err)
{
    struct mcp_call call = {.reader = server->reader, .trace = server->trace};
    struct timespec now;
    struct vs_json json;
    enum vs_status st;

    clock_gettime(CLOCK_MONOTONIC, &now);
    call.deadline = now.tv_sec + server->seconds;
    vs_json_init(&json, answer);
    vs_json_object_flat(&json);
    st = mcp_args_check(&call, tool, err);
    if (!st)
        st = tool->run(&call, &json, err);
    if (st == VS_E_STOPPED)
        st = vs_fail(err, st, "it took longer than %d seconds", server->seconds);
    if (st)
        return st;
    vs_json_end(&json);
    while (answer->len && answer->data[answer->len - 1] == '\n')
        answer->data[--answer->len] = 0;
    if (answer->len > MCP_ANSWER_MAX)
        return vs_fail(err, VS_E_VALUE,
                       "the answer has %zu bytes, and at most %d are given; ask for fewer rows or "
                       "columns",
                       answer->len, MCP_ANSWER_MAX);
    return VS_OK;
}

static void tools_call(struct mcp_server *server, const char *id, struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text name = {NULL, 0, 0};
    struct vs_text answer = {NULL, 0, 0};
    struct vs_text result = {NULL, 0, 0};
    const struct mcp_tool *tool = NULL;

    if (sto_json_text(server->reader, "$.params.name", &name))
        tool = tool_find(vs_text_get(&name));
    if (!tool) {
        vs_text_addf(&result, "there is no tool `%s`", vs_text_get(&name));
        add_error(id, INVALID_PARAMS, vs_text_get(&result), out);
    } else {
        const bool failed = tool_run(server, tool, &answer, &err) != VS_OK;

        vs_text_add(&result, "{\"content\": [{\"type\": \"text\", \"text\": ");
        add_string(failed ? err.text : vs_text_get(&answer), &result);
        vs_text_add(&result, "}], ");
        if (!failed)
            vs_text_addf(&result, "\"structuredContent\": %s, ", vs_text_get(&answer));
        vs_text_addf(&result, "\"isError\": %s}", failed ? "true" : "false");
        add_result(id, vs_text_get(&result), out);
    }
    vs_text_release(&name);
    vs_text_release(&answer);
    vs_text_release(&result);
}

static void request(struct mcp_server *server, const char *id, const char *method,
                    struct vs_text *out)
{
    if (strcmp(method, "initialize") == 0)
        initialize(server, id, out);
    else if (strcmp(method, "ping") == 0)
        add_result(id, "{}", out);
    else if (strcmp(method, "tools/list") == 0)
        tools_list(id, out);
    else if (strcmp(method, "tools/call") == 0)
        tools_call(server, id, out);
    else
        add_error(id, NO_METHOD, "there is no such method", out);
}

/* Whether the message answers a request; this server never sends one. */
static bool is_response(struct mcp_server *server)
{
    return sto_json_type(server->reader, "$.result") != STO_JSON_NONE ||
           sto_json_type(server->reader, "$.error") != STO_JSON_NONE;
}

void mcp_server_answer(struct mcp_server *server, const char *line, size_t len, struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text method = {NULL, 0, 0};
    struct vs_text version = {NULL, 0, 0};
    struct vs_text id = {NULL, 0, 0};

    if (sto_json_reader_take(server->reader, line, len, &err)) {
        add_error("null", PARSE_ERROR, err.text, out);
        return;
    }
    (void)sto_json_text(server->reader, "$.jsonrpc", &version);
    if (sto_json_type(server->reader, "$") != STO_JSON_OBJECT) {
        add_error("null", INVALID_REQUEST, "a message is one object", out);
    } else if (strcmp(vs_text_get(&version), "2.0") != 0 ||
               (!sto_json_text(server->reader, "$.method", &method) && !is_response(server))) {
        if (!id_add(server, &id))
            vs_text_add(&id, "null");
        add_error(vs_text_get(&id), INVALID_REQUEST,
                  "a request has jsonrpc \"2.0\" and a method, a string", out);
    } else if (method.len && sto_json_type(server->reader, "$.id") != STO_JSON_NONE) {
        if (id_add(server, &id))
            request(server, vs_text_get(&id), vs_text_get(&method), out);
        else
            add_error("null", INVALID_REQUEST, "an id is a string or a number", out);
    }
    vs_text_release(&method);
    vs_text_release(&version);
    vs_text_release(&id);
}
