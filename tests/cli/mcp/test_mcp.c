/*
 * tests/cli/mcp/test_mcp.c - the server of the Model Context Protocol, asked as the specification says.
 *
 * What a tool says is compared with what the command of the same question says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/mcp/mcp.h"
#include "tests/e2e/program.h"

#define NET "tests/nets/mlp.py"

static struct mcp_server server;

static int setup(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    return mcp_server_open(&server, NULL, &err) != VS_OK;
}

static int cleanup(void **state)
{
    (void)state;
    mcp_server_close(&server);
    program_cleanup();
    return 0;
}

/* The answer to a message; heap memory, "" where there is none. It is one line. */
static char *answer_to(const char *message)
{
    struct vs_text out = {NULL, 0, 0};
    char *answer;

    mcp_server_answer(&server, message, strlen(message), &out);
    answer = strdup(vs_text_get(&out));
    vs_text_release(&out);
    if (*answer && strchr(answer, '\n') != answer + strlen(answer) - 1)
        fail_msg("not one line: %s", answer);
    return answer;
}

static void expect_error(const char *message, int code, const char *id)
{
    char *answer = answer_to(message);
    char *found = json_text(answer, "$.id");

    if (json_int(answer, "$.error.code") != code || strcmp(found ? found : "null", id) != 0)
        fail_msg("%s is answered by: %s", message, answer);
    free(found);
    free(answer);
}

/* What a tool says: the object, as text. failed: it says an error instead. Heap memory. */
static char *call(const char *tool, const char *arguments, bool failed)
{
    char *message = NULL;
    char *answer;
    char *text;

    assert_true(asprintf(&message,
                         "{\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"tools/call\", "
                         "\"params\": {\"name\": \"%s\", \"arguments\": %s}}",
                         tool, arguments) > 0);
    answer = answer_to(message);
    text = json_text(answer, "$.result.content[0].text");
    if (!text || json_int(answer, "$.id") != 7 || json_int(answer, "$.result.isError") != failed)
        fail_msg("%s is answered by: %s", message, answer);
    if (!failed) { /* the same as text and as an object */
        char *object = json_text(answer, "$.result.structuredContent");
        char *again = json_text(text, "$");

        assert_string_equal(object, again);
        free(object);
        free(again);
    }
    free(message);
    free(answer);
    return text;
}

VS_PRINTF(1, 2)
static char *arguments(const char *fmt, ...)
{
    struct vs_text text = {NULL, 0, 0};
    char *copy;
    va_list ap;

    va_start(ap, fmt);
    vs_text_addfv(&text, fmt, ap);
    va_end(ap);
    copy = strdup(vs_text_get(&text));
    vs_text_release(&text);
    return copy;
}

static void expect_same(const char *a, const char *a_path, const char *b, const char *b_path)
{
    if (json_int(a, a_path) != json_int(b, b_path))
        fail_msg("%s is %" PRId64 ", %s is %" PRId64, a_path, json_int(a, a_path), b_path,
                 json_int(b, b_path));
}

/* ---- the protocol ---- */

static void a_session_begins_with_the_version_that_both_speak(void **state)
{
    char *answer = answer_to("{\"jsonrpc\": \"2.0\", \"id\": \"a\", \"method\": \"initialize\", "
                             "\"params\": {\"protocolVersion\": \"2025-03-26\", "
                             "\"capabilities\": {}, \"clientInfo\": {\"name\": \"test\", "
                             "\"version\": \"1\"}}}");
    char *version = json_text(answer, "$.result.protocolVersion");
    char *id = json_text(answer, "$.id");

    (void)state;
    assert_string_equal(version, "2025-03-26");
    assert_string_equal(id, "a");
    json_expect(answer, "$.result.capabilities.tools", "object");
    json_expect(answer, "$.result.serverInfo.version", "text");
    free(version);
    free(id);
    free(answer);
    answer = answer_to("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", "
                       "\"params\": {\"protocolVersion\": \"1999-01-01\"}}");
    version = json_text(answer, "$.result.protocolVersion");
    assert_string_equal(version, "2025-11-25");
    free(version);
    free(answer);
    answer = answer_to("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}");
    assert_string_equal(answer, "");
    free(answer);
    answer = answer_to("{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"ping\"}");
    json_expect(answer, "$.result", "object");
    free(answer);
}

static void errors_have_the_codes_of_the_protocol(void **state)
{
    static const char deep[] = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ";
    char *nested = malloc(sizeof(deep) + 20000);

    (void)state;
    expect_error("{", -32700, "null");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": 1, 'method': 'ping'}", -32700, "null");
    expect_error("\xff\xfe", -32700, "null");
    expect_error("[]", -32600, "null");
    expect_error("3", -32600, "null");
    expect_error("{\"id\": 4, \"method\": \"ping\"}", -32600, "4");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": 5}", -32600, "5");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": [], \"method\": \"ping\"}", -32600, "null");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": 6, \"method\": \"resources/list\"}", -32601, "6");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"initialize\"}", -32602, "8");
    expect_error("{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": "
                 "{\"name\": \"rm\", \"arguments\": {}}}",
                 -32602, "9");
    strcpy(nested, deep);
    memset(nested + strlen(deep), '[', 20000);
    nested[strlen(deep) + 20000 - 1] = 0;
    expect_error(nested, -32700, "null");
    free(nested);
}

/* Arguments and their values. */
static const char *const WRONG[][2] = {
    {"trace", "3"}, {"a", "3"}, {"block", "1"}, {"sql", "\"select 1\""}, {NULL, NULL}};
static const char *const NOWHERE[][2] = {{"trace", "\"/nowhere.db\""},
                                         {"a", "\"/nowhere.db\""},
                                         {"b", "\"/nowhere.db\""},
                                         {"block", "1"},
                                         {"sql", "\"select 1\""},
                                         {"set", "{\"batch\": 2}"},
                                         {NULL, NULL}};

/* Those that the tool has, as an object; heap memory. */
static char *arguments_of(const struct mcp_tool *tool, const char *const (*all)[2])
{
    struct vs_text text = {NULL, 0, 0};
    char word[32];
    char *copy;

    for (size_t i = 0; all[i][0]; i++) {
        snprintf(word, sizeof(word), "\"%s\": {", all[i][0]);
        if (strstr(tool->schema, word))
            vs_text_addf(&text, "%s\"%s\": %s", text.len ? ", " : "{", all[i][0], all[i][1]);
    }
    vs_text_add(&text, "}");
    copy = strdup(vs_text_get(&text));
    vs_text_release(&text);
    return copy;
}

static void an_argument_that_a_tool_does_not_have_is_refused_by_name(void **state)
{
    const struct mcp_tool *tool;

    (void)state;
    for (size_t i = 0; (tool = mcp_tool_at(i)) != NULL; i++) {
        char *text = call(tool->name, "{\"evnt\": 3}", true);

        if (!strstr(text, "has no argument `evnt`") || !strstr(text, tool->name))
            fail_msg("%s says: %s", tool->name, text);
        free(text);
    }
    free(call("peak", "{\"trace\": \"/nowhere.db\", \"type\": 1}", true));
}

static void only_the_tool_that_writes_no_index_is_said_to_read_only(void **state)
{
    char *answer = answer_to("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}");
    const struct mcp_tool *tool;
    char path[96];

    (void)state;
    for (size_t i = 0; (tool = mcp_tool_at(i)) != NULL; i++) {
        snprintf(path, sizeof(path), "$.result.tools[%zu].annotations.readOnlyHint", i);
        assert_int_equal(json_int(answer, path), strcmp(tool->name, "query") == 0);
        snprintf(path, sizeof(path), "$.result.tools[%zu].annotations.destructiveHint", i);
        assert_int_equal(json_int(answer, path), 0);
    }
    free(answer);
}

static void each_tool_has_a_schema_and_refuses_arguments_that_do_not_fit(void **state)
{
    char *answer = answer_to("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}");
    const struct mcp_tool *tool;
    char path[64];

    (void)state;
    for (size_t i = 0; (tool = mcp_tool_at(i)) != NULL; i++) {
        char *name;
        char *type;
        char *text;
        char *args;

        snprintf(path, sizeof(path), "$.result.tools[%zu].name", i);
        name = json_text(answer, path);
        snprintf(path, sizeof(path), "$.result.tools[%zu].inputSchema.type", i);
        type = json_text(answer, path);
        assert_string_equal(name, tool->name);
        assert_string_equal(type, "object");
        args = arguments_of(tool, WRONG);
        text = call(tool->name, args, true);
        free(args);
        assert_non_null(strstr(text, strcmp(name, "whatif") == 0 ? "`set`" : "must"));
        free(text);
        args = arguments_of(tool, NOWHERE);
        text = call(tool->name, args, true);
        free(args);
        assert_non_null(strstr(text, "/nowhere.db"));
        free(text);
        free(name);
        free(type);
    }
    free(answer);
}

/* ---- tools ---- */

static void peak_says_what_the_report_says(void **state)
{
    const char *trace = program_record(NET, "peak.db", NULL, NULL);
    struct program report = program_run("report", trace, "--json", NULL);
    char *args = arguments("{\"trace\": \"%s\", \"top\": 3}", trace);
    char *said = call("peak", args, false);

    (void)state;
    expect_same(said, "$.peak.allocated", report.out, "$.peak.allocated");
    expect_same(said, "$.peak.reserved", report.out, "$.peak.reserved");
    expect_same(said, "$.peak.event", report.out, "$.peak.event");
    expect_same(said, "$.peak.step", report.out, "$.peak.step");
    expect_same(said, "$.largest[0].block", report.out, "$.largest[0].block");
    json_expect(said, "$.largest[2].bytes", "integer");
    assert_null(json_text(said, "$.largest[3]"));
    free(said);
    free(args);
    program_release(&report);
}

static void holders_add_up_to_what_is_allocated(void **state)
{
    const char *trace = program_record(NET, "holders.db", NULL, NULL);
    char *args = arguments("{\"trace\": \"%s\"}", trace);
    char *said = call("holders", args, false);
    int64_t sum = 0;
    char path[64];

    (void)state;
    for (int i = 0;; i++) {
        char *found;

        snprintf(path, sizeof(path), "$.groups[%d].bytes", i);
        found = json_text(said, path);
        if (!found)
            break;
        sum += strtoll(found, NULL, 10);
        free(found);
    }
    assert_int_equal(sum, json_int(said, "$.allocated"));
    free(said);
    free(args);
}

static void why_alive_names_the_holders_of_a_block(void **state)
{
    const char *trace = program_record(NET, "why.db", NULL, NULL);
    struct program why = program_run("why", trace, "--json", "--top", "1", NULL);
    char *args = NULL;
    char *said;
    char *held;
    char *holder;

    (void)state;
    assert_true(asprintf(&args, "{\"trace\": \"%s\", \"block\": %" PRId64 "}", trace,
                         json_int(why.out, "$.largest[0].block")) > 0);
    said = call("why_alive", args, false);
    held = json_text(said, "$.block.held_by[0]");
    holder = json_text(why.out, "$.largest[0].holders[0]");
    assert_string_equal(held, holder);
    expect_same(said, "$.block.bytes", why.out, "$.largest[0].bytes");
    expect_same(said, "$.event", why.out, "$.event");
    free(held);
    free(holder);
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"block\": 99999999}", trace);
    said = call("why_alive", args, true);
    assert_non_null(strstr(said, "no block 99999999"));
    free(said);
    free(args);
    program_release(&why);
}

/* The events of a block's life, from the table of blocks. */
static int64_t life_of(const char *trace, int64_t block, const char *column)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "select %s from block where id = %" PRId64, column, block);
    return sql_int(trace, sql);
}

static void why_alive_of_a_block_that_is_dead_says_when_it_died_and_who_held_it(void **state)
{
    const char *trace = program_record(NET, "dead.db", NULL, NULL);
    const int64_t block =
        sql_int(trace, "select id from block where free_seq > 0 order by free_seq limit 1");
    const int64_t alloc = life_of(trace, block, "alloc_seq");
    const int64_t freed = life_of(trace, block, "free_seq");
    char *args = NULL;
    char *said;

    (void)state;
    assert_true(freed > alloc);
    assert_true(asprintf(&args,
                         "{\"trace\": \"%s\", \"block\": %" PRId64 ", \"event\": %" PRId64 "}",
                         trace, block, freed) > 0);
    said = call("why_alive", args, false);
    assert_int_equal(json_int(said, "$.is_alive"), 0);
    assert_int_equal(json_int(said, "$.last_alive.event"), freed - 1);
    assert_int_equal(json_int(said, "$.last_alive.block.block"), block);
    assert_int_equal(json_int(said, "$.last_alive.block.freed_at_event"), freed);
    json_expect(said, "$.last_alive.block.held_by", "array");
    assert_non_null(strstr(said, "already freed"));
    free(said);
    free(args);
    assert_true(asprintf(&args,
                         "{\"trace\": \"%s\", \"block\": %" PRId64 ", \"event\": %" PRId64 "}",
                         trace, block, alloc - 1) > 0);
    said = call("why_alive", args, false);
    assert_non_null(strstr(said, "not yet allocated"));
    free(said);
    free(args);
}

static void diff_says_what_the_command_says(void **state)
{
    char *a = strdup(program_record(NET, "a.db", NULL, NULL));
    char *b = strdup(program_record(NET, "b.db", "--batch", "16"));
    struct program diff = program_run("diff", a, b, "--json", NULL);
    char *args = NULL;
    char *said;

    (void)state;
    assert_true(asprintf(&args, "{\"a\": \"%s\", \"b\": \"%s\", \"top\": 2}", a, b) > 0);
    said = call("diff", args, false);
    expect_same(said, "$.peak.a", diff.out, "$.a.allocated");
    expect_same(said, "$.peak.b", diff.out, "$.b.allocated");
    assert_true(json_int(said, "$.peak.delta") != 0);
    assert_null(json_text(said, "$.peak.rows[2]"));
    free(said);
    free(args);
    free(a);
    free(b);
    program_release(&diff);
}

static void whatif_says_what_the_command_says(void **state)
{
    const char *trace = program_record(NET, "whatif.db", NULL, NULL);
    struct program whatif =
        program_run("whatif", trace, "--set", "batch=2", "--set", "amp=bf16", "--json", NULL);
    char *args =
        arguments("{\"trace\": \"%s\", \"set\": {\"batch\": 2, \"amp\": \"bf16\"}}", trace);
    char *said = call("whatif", args, false);

    (void)state;
    expect_same(said, "$.result.allocated", whatif.out, "$.result.allocated");
    expect_same(said, "$.result.reserved", whatif.out, "$.result.reserved");
    expect_same(said, "$.delta_allocated", whatif.out, "$.delta_allocated");
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"set\": {\"amp\": \"bf32\"}}", trace);
    said = call("whatif", args, true);
    assert_non_null(strstr(said, "bf16"));
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"set\": \"amp=bf16\", \"capacity\": \"1G\"}", trace);
    said = call("whatif", args, true);
    assert_non_null(strstr(said, "must be an object"));
    free(said);
    free(args);
    program_release(&whatif);
}

/* The user copies it into a shell: a value of any characters stays one word. */
static void a_command_that_is_named_has_its_words_quoted(void **state)
{
    const char *trace = program_record(NET, "quoted.db", NULL, NULL);
    char *args = arguments("{\"trace\": \"%s\", \"set\": {\"shard-units\": \"a'b\"}}", trace);
    sqlite3 *db = NULL;
    char *said;

    (void)state;
    assert_int_equal(sqlite3_open(trace, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO meta (key, value) VALUES ('rerun_command', 'x')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    said = call("whatif", args, true);
    if (!strstr(said, "--set 'shard-units=a'\\''b'"))
        fail_msg("whatif says: %s", said);
    free(said);
    free(args);
}

static void advise_lists_changes_that_were_run(void **state)
{
    const char *trace = program_record(NET, "advise.db", NULL, NULL);
    struct program advise = program_run("advise", trace, "--json", NULL);
    char *args = arguments("{\"trace\": \"%s\"}", trace);
    char *said = call("advise", args, false);

    (void)state;
    expect_same(said, "$.changes[0].peak", advise.out, "$.advice[0].peak");
    assert_null(json_text(said, "$.changes[10]"));
    free(said);
    free(args);
    program_release(&advise);
}

static void a_query_is_bounded_and_only_reads(void **state)
{
    const char *trace = program_record(NET, "query.db", NULL, NULL);
    char *args = arguments("{\"trace\": \"%s\", \"limit\": 2, \"sql\": \"with recursive c(n) as "
                           "(select 1 union all select n + 1 from c) select n, 'x' from c\"}",
                           trace);
    char *said = call("query", args, false);

    (void)state;
    assert_int_equal(json_int(said, "$.row_count"), 2);
    assert_int_equal(json_int(said, "$.is_cut"), 1);
    assert_int_equal(json_int(said, "$.rows[1][0]"), 2);
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"sql\": \"select count(*) as n from event\"}", trace);
    said = call("query", args, false);
    assert_int_equal(json_int(said, "$.is_cut"), 0);
    assert_int_equal(json_int(said, "$.row_count"), 1);
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"sql\": \"delete from meta\"}", trace);
    said = call("query", args, true);
    assert_non_null(strstr(said, "only be read"));
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\", \"sql\": \"select load_extension('x')\"}", trace);
    free(call("query", args, true));
    free(args);
    /* 200 rows of 9 cells of 500 letters are too many */
    args = arguments("{\"trace\": \"%s\", \"limit\": 200, \"sql\": \"with recursive c(n, t) as "
                     "(select 1, hex(zeroblob(2000)) union all select n + 1, t from c) select "
                     "t, t, t, t, t, t, t, t, t from c\"}",
                     trace);
    said = call("query", args, true);
    assert_non_null(strstr(said, "fewer rows"));
    free(said);
    free(args);
}

static void work_that_takes_too_long_is_stopped(void **state)
{
    const char *trace = program_record(NET, "long.db", NULL, NULL);
    char *args = arguments("{\"trace\": \"%s\", \"sql\": \"with recursive c(n) as (select 1 union "
                           "all select n + 1 from c) select n from c where n < 0\"}",
                           trace);
    char *said;

    (void)state;
    server.seconds = 0;
    said = call("query", args, true);
    assert_non_null(strstr(said, "took longer"));
    free(said);
    free(args);
    args = arguments("{\"trace\": \"%s\"}", trace);
    said = call("peak", args, true);
    assert_non_null(strstr(said, "took longer"));
    free(said);
    free(args);
    assert_true(asprintf(&args, "{\"a\": \"%s\", \"b\": \"%s\"}", trace, trace) > 0);
    said = call("diff", args, true);
    assert_non_null(strstr(said, "took longer"));
    server.seconds = MCP_SECONDS_MAX;
    free(said);
    free(args);
}

/* ---- stdin and stdout ---- */

static void a_message_is_a_line_and_so_is_an_answer(void **state)
{
    const char *program = getenv("VRAMSCOPE");
    const char *trace = program_record(NET, "default.db", NULL, NULL);
    const char *in = program_file(
        "in.txt", "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\r\n\n"
                  "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\"}\n"
                  "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": "
                  "{\"name\": \"peak\", \"arguments\": {}}}\n"
                  "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"ping\"}");
    const char *out = program_path("out.txt");
    char command[4096];
    char line[1 << 17];
    FILE *file;

    (void)state;
    snprintf(command, sizeof(command), "timeout 100 '%s' mcp '%s' <'%s' >'%s'",
             program && *program ? program : "build/vramscope", trace, in, out);
    assert_int_equal(system(command), 0);
    file = fopen(out, "r");
    assert_non_null(file);
    for (int id = 1; id <= 3; id++) {
        assert_non_null(fgets(line, sizeof(line), file));
        assert_int_equal(json_int(line, "$.id"), id);
        json_expect(line, "$.result", "object");
    }
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_begins_with_the_version_that_both_speak),
        cmocka_unit_test(errors_have_the_codes_of_the_protocol),
        cmocka_unit_test(each_tool_has_a_schema_and_refuses_arguments_that_do_not_fit),
        cmocka_unit_test(peak_says_what_the_report_says),
        cmocka_unit_test(holders_add_up_to_what_is_allocated),
        cmocka_unit_test(an_argument_that_a_tool_does_not_have_is_refused_by_name),
        cmocka_unit_test(only_the_tool_that_writes_no_index_is_said_to_read_only),
        cmocka_unit_test(why_alive_names_the_holders_of_a_block),
        cmocka_unit_test(why_alive_of_a_block_that_is_dead_says_when_it_died_and_who_held_it),
        cmocka_unit_test(diff_says_what_the_command_says),
        cmocka_unit_test(whatif_says_what_the_command_says),
        cmocka_unit_test(a_command_that_is_named_has_its_words_quoted),
        cmocka_unit_test(advise_lists_changes_that_were_run),
        cmocka_unit_test(a_query_is_bounded_and_only_reads),
        cmocka_unit_test(work_that_takes_too_long_is_stopped),
        cmocka_unit_test(a_message_is_a_line_and_so_is_an_answer),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
