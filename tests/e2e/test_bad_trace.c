/*
 * tests/e2e/test_bad_trace.c - every command refuses a file that is not a trace or not a snapshot, with the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/bad_input.h"

static void every_command_refuses_a_file_that_is_not_a_trace(void **state)
{
    const char *whole = bad_input_trace("whole.db");
    const char *other = program_path("other.db");
    const char *newer = bad_input_trace("newer.db");
    const char *cut = bad_input_trace("cut.db");
    struct stat size;
    const struct {
        const char *path;
        const char *part;
    } cases[] = {
        {program_path("none.db"), "none.db: no such file"},
        {program_folder(), "not a file"},
        {bad_input_file("empty.db", "", 0), "empty.db: an empty file"},
        {LENET, LENET ": not a trace of vramscope; `vramscope record` makes one"},
        {other, "other.db: an SQLite file, but not a trace of vramscope"},
        {newer, "newer.db: the trace has format 9999, this vramscope reads up to format"},
        {cut, "cut.db: the trace is truncated: "},
    };

    (void)state;
    sql_create(other, "create table t (x)");
    sql_run(newer, "pragma user_version = 9999");
    assert_int_equal(stat(cut, &size), 0);
    assert_int_equal(truncate(cut, size.st_size * 2 / 3), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = cases[i].path;

        ASSERT_MESSAGE(program_run("report", path, NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("report", path, "--json", NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("whatif", path, "--set", "amp=fp16", NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("whatif", path, "--each", "--json", NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("sql", path, "select 1", NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("export", path, "--format", "csv", NULL), 1, cases[i].part);
        ASSERT_MESSAGE(program_run("tui", path, "--dump", NULL), 1, cases[i].part);
        /* 1 is a difference, and limits that are passed */
        ASSERT_MESSAGE(program_run("diff", path, whole, NULL), 2, cases[i].part);
        ASSERT_MESSAGE(program_run("diff", whole, path, "--json", NULL), 2, cases[i].part);
        ASSERT_MESSAGE(program_run("check", path, "--max-peak", "1G", NULL), 2, cases[i].part);
    }
}

static void a_file_that_is_not_a_snapshot_is_refused(void **state)
{
    static const char CODE[] = "\x80\x02"
                               "cposix\nsystem\n(X\x02.";
    static const char NINE[] = "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f";
    static const char GZIP[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03";
    const char *out = program_path("unread.db");
    const struct {
        const char *path;
        const char *part;
    } cases[] = {
        {program_path("none.pickle"), "none.pickle: No such file"},
        {program_folder(), ": cannot be read: Is a directory"},
        {bad_input_file("empty.pickle", "", 0), "empty.pickle: this is neither a memory snapshot"},
        {LENET, LENET ": this is neither a memory snapshot"},
        {bad_input_file("page.html", "<html></html>", 13), "this page holds no memory snapshot"},
        {bad_input_file("code.pickle", CODE, sizeof(CODE) - 1), "offset 2: opcode GLOBAL"},
        {bad_input_file("nine.pickle", NINE, sizeof(NINE) - 1), "offset 2: the pickle is cut off"},
        {bad_input_file("cut.gz", GZIP, sizeof(GZIP) - 1), "cut.gz: cannot be read: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_MESSAGE(program_run("import", cases[i].path, "-o", out, NULL), 1, cases[i].part);
    bad_input_assert_no_file("unread");
}

/* `before`, then `unit` as often as makes so many bytes, then `after`. */
static const char *bomb(const char *name, const char *before, const char *unit, size_t bytes,
                        const char *after)
{
    const size_t len = strlen(unit);
    char *text = malloc(bytes + 64);
    size_t n = strlen(before);
    const char *path;

    assert_non_null(text);
    memcpy(text, before, n);
    for (; n + len <= bytes; n += len)
        memcpy(text + n, unit, len);
    memcpy(text + n, after, strlen(after));
    path = bad_input_file(name, text, n + strlen(after));
    free(text);
    return path;
}

/*
 * Each input has 16 MiB and is read under a limit of four times that plus 96 MiB: the 64 MiB that recording/pickle.c
 * adds, and the program itself. An input that expands beyond the limit is refused with that reason. An input whose
 * values fit, because a small number or a reference to the memo is one word, is read to its end and then refused for
 * what it holds.
 */
static void a_decompression_bomb_is_refused_within_four_times_its_size(void **state)
{
    const size_t size = (size_t)16 << 20;
    const struct program_world world = {.memory_bytes = 4 * size + ((size_t)96 << 20)};
    const char *out = program_path("bomb.db");
    const struct {
        const char *before, *unit, *after, *part;
    } cases[] = {
        {"\x80\x04(", "N", "l.", "more than four times its size"},
        {"\x80\x04(", "]", "l.", "more than four times its size"},
        {"\x80\x04(", "}", "l.", "more than four times its size"},
        {"\x80\x04(", "K\x01", "l.", "`address` is missing"},
        {"\x80\x04N", "2\x86", ".", "more than four times its size"},
        {"\x80\x04N", "\x94", ".", "not a memory snapshot"},
        {"\x80\x04", "(", ".", "more than 1000 deep"},
        {"\x80\x04", "]\x94", ".", "more than four times its size"},
        {"\x80\x04", "\x95", ".", "cut off in this frame"},
        {"\x80\x04](}(\x8c\x06"
         "action\x8c\x05"
         "alloc\x8c\x04"
         "addrK\x01\x8c\x04sizeK\x01u\x94",
         "h\x01", "e.", "nothing was put"},
        {"\x80\x04\x8c\x01x\x94\x94(", "h\x01", "l.", "`address` is missing"},
        {"<html>\"base64\": \"", "gARO", "\"", "the pickle is cut off here"},
        {"id,kind,bytes\n", "1,a,1\n", "", "this is neither a memory snapshot"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_MESSAGE(program_run_in(&world, "import",
                                      bomb("bomb.pickle", cases[i].before, cases[i].unit, size,
                                           cases[i].after),
                                      "-o", out, NULL),
                       1, cases[i].part);
    bad_input_assert_no_file("bomb.db");
}

static void a_truncated_trace_is_refused_at_any_length(void **state)
{
    const char *trace = bad_input_trace("whole.db");
    size_t count;
    char *bytes = bad_input_bytes(trace, &count);

    (void)state;
    for (size_t part = 1; part < 32; part++)
        ASSERT_MESSAGE(
            program_run("report", bad_input_file("part.db", bytes, count * part / 32), NULL), 1,
            "part.db: ");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_refuses_a_file_that_is_not_a_trace),
        cmocka_unit_test(a_file_that_is_not_a_snapshot_is_refused),
        cmocka_unit_test(a_decompression_bomb_is_refused_within_four_times_its_size),
        cmocka_unit_test(a_truncated_trace_is_refused_at_any_length),
    };

    return cmocka_run_group_tests_name("e2e/bad trace", tests, NULL, bad_input_cleanup);
}
