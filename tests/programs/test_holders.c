/*
 * tests/programs/test_holders.c - who holds the blocks of a program, found by running it again to an event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <pty.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/programs/corpus.h"
#include "tests/wait.h"

/* `vramscope why` of trace.db, run again without asking. The caller releases it. */
static struct program why(const char *option, const char *value)
{
    struct program p = program_run("why", "--rerun", "--json", "--top", "1000",
                                   program_path("trace.db"), option, value, NULL);

    if (p.status != 0)
        fail_msg("why: status %d: %s", p.status, p.err);
    return p;
}

static void each_kind_of_holder_is_found_at_the_peak(void **state)
{
    static const char *const WANTED[] = {
        "local `x` of `step`",
        "local `out` of `step`",
        "local `again` of `step`",
        "local `batch` of `batches`",
        "local `inside` of `closure.<locals>.get`",
        "attribute `weight` of `fc`",
        "item of `past[0]` in `Net`",
        "item of `kept['a']` in `Box`",
        "item of `history[0]['loss']` in `<module>`",
        "item of `param_groups[0]['params'][0]` in `AdamW`",
        "item of `state[fc.weight]['exp_avg']` in `AdamW`",
        "`.grad` of `fc.weight`",
        "saved by `AddmmBackward0`",
        "autocast's weight cache",
        "C++ alone, no object of Python, since `empty`",
    };
    struct program p = corpus_record("holders", 0, CORPUS_GPU);
    char *json;

    (void)state;
    program_release(&p);
    p = why(NULL, NULL);
    for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
        if (!strstr(p.out, WANTED[i]))
            fail_msg("no block has the holder \"%s\": %s", WANTED[i], p.out);
    /* the report has them, too, without running anything */
    json = corpus_report(program_path("trace.db"));
    if (!strstr(json, "local `x` of `step`") || !strstr(json, "C++ alone"))
        fail_msg("the report has no holders: %.3000s", json);
    free(json);
    program_release(&p);
}

static void a_module_that_is_not_on_the_gpu_takes_no_name(void **state)
{
    struct program p = corpus_record("observed/roots", 0, CORPUS_GPU);
    char *json;

    (void)state;
    program_release(&p);
    json = corpus_report(program_path("trace.db"));
    if (!strstr(json, "\"0.weight\"") || !strstr(json, "\"Sequential#2.0.weight\"") ||
        strstr(json, "Sequential#3"))
        fail_msg("the names of the parameters are others: %.3000s", json);
    free(json);
}

/* How many rows of the JSON that `why` prints satisfy a condition of SQL on their columns. */
static int64_t count(const char *json, const char *condition)
{
    char sql[1024];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t found;

    snprintf(sql, sizeof(sql),
             "select count(*) from (select value ->> 'bytes' as bytes, value ->> 'category' as "
             "category, value ->> 'dtype' as dtype, value ->> 'shape' as shape, value ->> 'line' "
             "as line, value ->> 'belongs_to' as module, value ->> 'unknown' as why, "
             "json_array_length(value, '$.holders') as holders from json_each(?, '$.largest')) "
             "where bytes >= 1 << 20 and %s",
             condition);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    found = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return found;
}

/* Of blocks of at least 1 MiB; a library's workspace is no tensor, so it has no shape. */
static void at_the_peak_every_block_has_shape_dtype_line_and_holder(void **state)
{
    static const struct {
        const char *name;
        int blocks, workspaces;
    } PROGRAMS[] = {
        {"conv_amp", 4, 1}, {"lm_lstm", 5, 1},      {"selective_checkpoint", 7, 1},
        {"prefetch", 6, 1}, {"save_on_cpu", 19, 1}, {"out_of_memory", 79, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++) {
        struct program p = corpus_record(PROGRAMS[i].name, 0, CORPUS_GPU);
        int64_t unknown;

        program_release(&p);
        p = why(NULL, NULL);
        unknown = count(p.out, "(category <> 'workspace' and (dtype is null or shape is null) or "
                               "ifnull(line, 0) = 0 or holders = 0 or "
                               "(shape is null and why not like '%shape: workspace of%') or "
                               "(module is null and why not like '%module: %'))");
        if (unknown)
            fail_msg("%s: of %" PRId64 " blocks something is not known: %.4000s", PROGRAMS[i].name,
                     unknown, p.out);
        assert_int_equal(count(p.out, "1"), PROGRAMS[i].blocks);
        assert_int_equal(count(p.out, "category = 'workspace'"), PROGRAMS[i].workspaces);
        program_release(&p);
    }
}

/* Each event is that of the recording: the bytes allocated there are compared before holders are stored. */
static void holders_are_found_at_events_of_all_kinds(void **state)
{
    static const char *const WHICH[] = {
        "select min(seq) from event where kind = 'alloc'",
        "select max(seq) from event where kind = 'free'",
        "select seq from event where kind = 'free' limit 1 offset 20",
        "select max(seq) from event where kind = 'segment_alloc'",
        "select seq from event where kind = 'alloc' and phase = 'backward' limit 1",
    };
    struct program p = corpus_record("holders", 0, CORPUS_GPU);

    (void)state;
    program_release(&p);
    for (size_t i = 0; i < sizeof(WHICH) / sizeof(WHICH[0]); i++) {
        const int64_t seq = sql_int(program_path("trace.db"), WHICH[i]);
        char text[24];

        snprintf(text, sizeof(text), "%" PRId64, seq);
        p = why("--at", text);
        assert_int_equal(json_int(p.out, "$.event"), seq);
        if (strstr(p.out, "\"holders\": []"))
            fail_msg("a block at event %s has no holder: %s", text, p.out);
        program_release(&p);
    }
    assert_int_equal(sql_int(program_path("trace.db"), "select count(distinct seq) from held"),
                     (int64_t)(sizeof(WHICH) / sizeof(WHICH[0])));
}

/* While rank 0 is examined, rank 1 comes to its end, and torchrun must not end rank 0 for what happens there. */
static void of_several_ranks_the_one_of_the_trace_is_examined(void **state)
{
    struct program p = corpus_record("tensor_parallel", 2, CORPUS_GPU);

    (void)state;
    program_release(&p);
    p = why(NULL, NULL);
    if (strstr(p.out, "\"holders\": []") || !strstr(p.out, "saved by `GeluBackward0`"))
        fail_msg("a block of rank 0 has no holder, or no node has: %.3000s", p.out);
    program_release(&p);
}

/* They were wrapped since the model was called last. */
static void modules_have_the_paths_that_they_have_at_the_event(void **state)
{
    struct program p = corpus_record("observed/replaced", 0, CORPUS_GPU);
    char seq[24];

    (void)state;
    program_release(&p);
    snprintf(seq, sizeof(seq), "%" PRId64,
             sql_int(program_path("trace.db"), "select seq from event where kind = 'alloc' and op "
                                               "= 'randn' order by seq limit 1 offset 8"));
    p = why("--at", seq);
    if (!strstr(p.out, "attribute `weight` of `head.base`") ||
        !strstr(p.out, "attribute `a` of `body.0`") ||
        strstr(p.out, "attribute `weight` of `head`"))
        fail_msg("the paths of wrapped modules are others: %.4000s", p.out);
    program_release(&p);
}

/*
 * Where a block is freed, the node that releases it has addresses of tensors that are gone. This is in the middle of
 * the last backward; rank 1 comes to its end meanwhile.
 */
static void a_rank_is_examined_where_backward_frees_after_others_have_ended(void **state)
{
    struct program p = corpus_record("fsdp2", 2, CORPUS_GPU);
    char seq[24];

    (void)state;
    program_release(&p);
    snprintf(seq, sizeof(seq), "%" PRId64,
             sql_int(program_path("trace.db"),
                     "select max(seq) from event where kind = 'free' and seq < (select seq from "
                     "event where kind = 'unsave' and step = 2 order by seq limit 1 offset 41)"));
    p = why("--at", seq);
    if (!strstr(p.out, "saved by `"))
        fail_msg("at event %s nothing is said to be saved: %.3000s", seq, p.out);
    program_release(&p);
}

/* How many files `folder` has; of these names of processes, how many of them are running where `is_running`. */
static int pids_in(const char *folder, bool is_running)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        count += *entry->d_name != '.' &&
                 (!is_running || kill((pid_t)strtol(entry->d_name, NULL, 10), 0) == 0);
    closedir(dir);
    return count;
}

static void a_signal_ends_the_command_and_each_process_of_the_program(void **state)
{
    static const int SIGNALS[] = {SIGTERM, SIGINT};
    static const char *const NAMES[] = {"pids-term", "pids-int"};
    char command[320];
    struct program p;

    (void)state;
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        char folder[256];
        struct wait w;
        pid_t pid;

        snprintf(folder, sizeof(folder), "%s", program_path(NAMES[i]));
        snprintf(command, sizeof(command), "observed/stuck %s", folder);
        p = corpus_record(command, 2, CORPUS_GPU);
        program_release(&p);
        assert_int_equal(mkdir(folder, 0700), 0);
        pid = program_start("why", "--rerun", program_path("trace.db"), NULL);
        w = wait_for(pid, "two ranks that hear no SIGTERM");
        while (pids_in(folder, false) < 2)
            wait_more(&w);
        kill(pid, SIGNALS[i]);
        assert_int_equal(WTERMSIG(wait_child(pid, "why after signal %d", SIGNALS[i])), SIGNALS[i]);
        w = wait_for(0, "the ends of both ranks after signal %d", SIGNALS[i]);
        while (pids_in(folder, true))
            wait_more(&w);
    }
}

static void what_filled_the_gpu_is_held_when_memory_runs_out(void **state)
{
    struct program p = corpus_record("out_of_memory", 0, "rtx3060");

    (void)state;
    program_release(&p);
    p = why(NULL, NULL);
    if (!strstr(p.out, "item of `blocks[10]` in `<module>`"))
        fail_msg("who holds the last block is not said: %s", p.out);
    program_release(&p);
}

/*
 * Feed `typed` to a prompt at an event, and compare what it prints with `wanted`, "&" between parts that come in this
 * order.
 */
static void prompt_check(int64_t seq, const char *typed, const char *wanted)
{
    const char *vramscope = getenv("VRAMSCOPE");
    char command[2048];
    char out[8192];
    char parts[512];
    char *rest = parts;
    const char *at = out;
    char *part;
    size_t n;
    FILE *pipe;

    snprintf(command, sizeof(command),
             "printf '%s' | timeout 300 '%s' python --rerun --at %" PRId64 " '%s' 2>&1", typed,
             vramscope ? vramscope : "build/vramscope", seq, program_path("trace.db"));
    pipe = popen(command, "r");
    assert_non_null(pipe);
    n = fread(out, 1, sizeof(out) - 1, pipe);
    out[n] = '\0';
    if (pclose(pipe) != 0)
        fail_msg("the prompt failed: %s", out);
    snprintf(parts, sizeof(parts), "%s", wanted);
    while ((part = strsep(&rest, "&")) != NULL) {
        at = strstr(at, part);
        if (!at)
            fail_msg("`%s` is not printed, or too early: %s", part, out);
    }
}

static void a_prompt_opens_in_the_script_at_the_event(void **state)
{
    struct program p = corpus_record("holders", 0, CORPUS_GPU);
    const char *trace = program_path("trace.db");

    (void)state;
    program_release(&p);
    /* the last allocation: `again` is there, and the next line is run */
    prompt_check(sql_int(trace, "select max(seq) from event where kind = 'alloc'"),
                 "p tuple(again.shape), len(history)\\nn\\np 40 + 2\\nc\\n",
                 "holders.py(52)step()&((64, 256), 1)&holders.py(53)step()&42&FIGURES");
    /* in backward, on another thread, which has no frame: the next line is that of the main thread */
    prompt_check(sql_int(trace, "select max(seq) from event where kind = 'alloc' and phase = "
                                "'backward'"),
                 "n\\np 40 + 2\\nc\\n", "holders.py(48)step()&holders.py(49)step()&42&FIGURES");
    /* ^C comes back to the prompt */
    prompt_check(sql_int(trace, "select max(seq) from event where kind = 'alloc' and phase = "
                                "'backward'"),
                 "import os, signal\\nos.kill(os.getpid(), signal.SIGINT)\\nc\\np 40 + 2\\nc\\n",
                 "holders.py(48)step()&Interrupted; `c` goes on.&holders.py(48)step()&42&FIGURES");
    prompt_check(sql_int(trace, "select max(seq) from event where kind = 'alloc' and phase = "
                                "'backward'"),
                 "p tuple(out.shape), \"again\" in dir()\\nu\\nq\\n",
                 "holders.py(48)step()&((64, 256), False)&holders.py(57)<module>()");
}

/* Read from the terminal until `wanted` is there, behind what was read before. */
static void terminal_await(int terminal, const char *wanted)
{
    char out[8192];
    char what[128];
    size_t len = 0;
    ssize_t n = 1;

    snprintf(what, sizeof(what), "the prompt to print `%s`", wanted);
    wait_begin(what);
    out[0] = '\0';
    while (!strstr(out, wanted) && n > 0 && len < sizeof(out) - 1) {
        n = read(terminal, out + len, sizeof(out) - 1 - len);
        len += n > 0 ? (size_t)n : 0;
        out[len] = '\0';
    }
    wait_end();
    if (!strstr(out, wanted))
        fail_msg("`%s` is not printed: %s", wanted, out);
}

static void terminal_type(int terminal, const char *keys)
{
    assert_int_equal(write(terminal, keys, strlen(keys)), strlen(keys));
}

/* In backward, whose threads handle no signals: ^C on the terminal drops the line. */
static void an_interrupt_key_at_a_prompt_in_backward_drops_the_line(void **state)
{
    const char *vramscope = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    struct program p = corpus_record("holders", 0, CORPUS_GPU);
    const char *trace = program_path("trace.db");
    char seq[32];
    int terminal = -1;
    pid_t pid;

    (void)state;
    program_release(&p);
    snprintf(seq, sizeof(seq), "%" PRId64,
             sql_int(trace, "select max(seq) from event where kind = 'alloc' and phase = "
                            "'backward'"));
    pid = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(pid >= 0);
    if (pid == 0) {
        setenv("TERM", "xterm", 1);
        setenv("INPUTRC", "/dev/null", 1);
        execl(vramscope, "vramscope", "python", "--rerun", "--at", seq, trace, (char *)NULL);
        _exit(127);
    }
    terminal_await(terminal, "(Pdb) ");
    terminal_type(terminal, "never run");
    terminal_await(terminal, "never run");
    terminal_type(terminal, "\003p 40 + 2\n");
    terminal_await(terminal, "\r\n42\r\n");
    terminal_type(terminal, "q\n");
    assert_int_equal(wait_child(pid, "the prompt to end"), 0);
    close(terminal);
}

/* Run the prompt with what the shell's `feed` prints as its input. */
static void interrupt_check(const char *feed, const char *wanted, int status)
{
    const char *vramscope = getenv("VRAMSCOPE");
    char script[2048];
    struct program p;

    snprintf(script, sizeof(script),
             "until_is() { i=0; until eval \"$1\" || [ $i -ge 3000 ]; do sleep 0.1; i=$((i + 1)); "
             "done; }\n"
             "out='%s'\n(%s) | timeout 300 '%s' python --rerun '%s' >\"$out\" 2>&1\n"
             "status=$?; cat \"$out\"; exit $status",
             program_path("prompt.out"), feed, vramscope ? vramscope : "build/vramscope",
             program_path("trace.db"));
    p = program_shell(script);
    if (p.status != status || !strstr(p.out, wanted) || strstr(p.out, "Traceback") ||
        strstr(p.out, "Interrupted"))
        fail_msg("status %d, not %d with \"%s\": %s%s", p.status, status, wanted, p.out, p.err);
    program_release(&p);
}

static void an_interrupt_at_a_prompt_leaves_it_open_in_one_line(void **state)
{
    const char *pid = program_path("prompt.pid");
    struct program p = corpus_record("holders", 0, CORPUS_GPU);
    char feed[1024];

    (void)state;
    program_release(&p);
    snprintf(
        feed, sizeof(feed),
        "echo 'import os; open(\"%s\", \"w\").write(str(os.getpid()))'; until_is '[ -s \"%s\" ]'; "
        "kill -INT $(cat '%s'); until_is 'grep -q Interrupt \"$out\"'; printf 'p 40 + 2\\nq\\n'",
        pid, pid, pid);
    interrupt_check(feed, "42", 0);
}

static void an_interrupt_before_the_event_ends_the_program_in_one_line(void **state)
{
    const char *folder = program_path("pids-early");
    char command[320];
    char feed[1024];
    struct program p;

    (void)state;
    snprintf(command, sizeof(command), "observed/stuck %s", folder);
    p = corpus_record(command, 0, CORPUS_GPU);
    program_release(&p);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(feed, sizeof(feed), "until_is '[ -n \"$(ls '%s')\" ]'; kill -INT $(ls '%s')", folder,
             folder);
    interrupt_check(feed, "vramscope: interrupted before", 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interrupt_key_at_a_prompt_in_backward_drops_the_line),
        cmocka_unit_test(an_interrupt_at_a_prompt_leaves_it_open_in_one_line),
        cmocka_unit_test(an_interrupt_before_the_event_ends_the_program_in_one_line),
        cmocka_unit_test(modules_have_the_paths_that_they_have_at_the_event),
        cmocka_unit_test(a_rank_is_examined_where_backward_frees_after_others_have_ended),
        cmocka_unit_test(a_signal_ends_the_command_and_each_process_of_the_program),
        cmocka_unit_test(a_prompt_opens_in_the_script_at_the_event),
        cmocka_unit_test(each_kind_of_holder_is_found_at_the_peak),
        cmocka_unit_test(a_module_that_is_not_on_the_gpu_takes_no_name),
        cmocka_unit_test(at_the_peak_every_block_has_shape_dtype_line_and_holder),
        cmocka_unit_test(holders_are_found_at_events_of_all_kinds),
        cmocka_unit_test(of_several_ranks_the_one_of_the_trace_is_examined),
        cmocka_unit_test(what_filled_the_gpu_is_held_when_memory_runs_out),
    };

    return cmocka_run_group_tests_name("programs/holders", tests, corpus_setup, corpus_cleanup);
}
