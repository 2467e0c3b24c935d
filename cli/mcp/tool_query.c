/*
 * cli/mcp/tool_query.c - the tool `query`: one select statement on a trace.
 *
 * Must not know:  the protocol, the tables.
 * Invariant:      the trace is only read; rows, cells and time are bounded.
 */
#include "cli/mcp/mcp.h"
#include "store/query.h"

#define ROWS 50
#define ROWS_MAX 200
#define CELL_MAX 500

/* rows: given so far, of at most `limit`; is_more: there is another one */
struct answer {
    const struct mcp_call *call;
    struct vs_json *json;
    uint64_t limit;
    uint64_t rows;
    bool is_more;
    bool is_late;
};

static void columns(void *user, size_t count, const char *const *names)
{
    struct answer *answer = user;

    vs_json_key(answer->json, "columns");
    vs_json_array(answer->json);
    for (size_t i = 0; i < count; i++)
        vs_json_string(answer->json, names[i]);
    vs_json_end(answer->json);
    vs_json_key(answer->json, "rows");
    vs_json_array(answer->json);
}

static void put_cell(struct vs_json *json, const struct sto_value *value)
{
    struct vs_text text = {NULL, 0, 0};

    switch (value->kind) {
    case STO_VALUE_NULL:
        vs_json_null(json);
        break;
    case STO_VALUE_INTEGER:
        vs_json_int(json, value->integer);
        break;
    case STO_VALUE_REAL:
        vs_json_double(json, value->real);
        break;
    case STO_VALUE_TEXT:
        mcp_add_clipped(json, value->text, CELL_MAX);
        break;
    case STO_VALUE_BLOB:
        vs_text_addf(&text, "%zu bytes", value->len);
        vs_json_string(json, vs_text_get(&text));
        break;
    }
    vs_text_release(&text);
}

static void row(void *user, size_t count, const struct sto_value *values)
{
    struct answer *answer = user;

    answer->is_more = answer->rows == answer->limit;
    if (answer->is_more)
        return;
    answer->rows++;
    vs_json_array(answer->json);
    for (size_t i = 0; i < count; i++)
        put_cell(answer->json, &values[i]);
    vs_json_end(answer->json);
}

/* Enough is enough: rows, bytes, time. */
static bool goes_on(void *user)
{
    struct answer *answer = user;

    answer->is_late = !mcp_goes_on((void *)(uintptr_t)answer->call, 0, 0);
    return !answer->is_more && !answer->is_late && answer->json->out->len <= MCP_ANSWER_MAX;
}

static enum vs_status run(const struct mcp_call *call, struct vs_json *json, struct vs_error *err)
{
    struct answer answer = {.call = call, .json = json};
    const struct sto_query_sink sink = {
        .user = &answer, .columns = columns, .row = row, .goes_on = goes_on};
    struct vs_text sql = {NULL, 0, 0};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = mcp_arg_count(call, "limit", ROWS, ROWS_MAX, &answer.limit, err);

    if (!st)
        st = mcp_arg_text(call, "sql", &sql, err);
    if (!st)
        st = mcp_arg_path(call, "trace", &path, err);
    if (!st)
        st = sto_query(vs_text_get(&path), vs_text_get(&sql), &sink, err);
    if (st == VS_E_STOPPED && !answer.is_late)
        st = VS_OK;
    if (!st) {
        vs_json_end(json);
        vs_json_put_uint(json, "row_count", answer.rows);
        vs_json_put_bool(json, "is_cut", answer.is_more);
    }
    vs_text_release(&sql);
    vs_text_release(&path);
    return st;
}

const struct mcp_tool mcp_tool_query = {
    .name = "query",
    .title = "Query a trace in SQL",
    .description =
        "One select statement of SQLite on a trace, which is only read. Views: event(seq, kind, "
        "step, phase, module, func, line, op, block, tensor, size, block_size, category, …), "
        "block(id, alloc_seq, free_seq, size, block_size, category, step, phase, module, func, "
        "line, op), tensor(id, block, name, dtype, sizes). Tables: meta(key, value), toggle, "
        "step, phase_stat. `is_cut` says that there are more rows.",
    .schema =
        "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
        "\"description\": \"path of the trace file\"}, \"sql\": {\"type\": \"string\"}, "
        "\"limit\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 200, \"description\": "
        "\"rows at most; 50\"}}, \"required\": [\"sql\"]}",
    .run = run,
    .is_read_only = true,
};
