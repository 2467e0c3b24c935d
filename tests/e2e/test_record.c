/*
 * tests/e2e/test_record.c - `vramscope record` and `vramscope report` as a user runs them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/wait.h"

#define LENET "sample_nets/lenet.py"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Record and expect success; returns the path of the trace. */
static const char *record_lenet(const char *name, const char *device)
{
    const char *trace = program_path(name);
    struct program p =
        program_run("record", LENET, "-o", trace, "--device", device, "--batch", "8", NULL);

    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
    return trace;
}

static struct program report_of(const char *trace)
{
    struct program p = program_run("report", trace, "--json", NULL);

    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    return p;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

/* The names and types that docs/formats/json.md promises to programs. */
static void the_json_of_report_has_its_documented_fields(void **state)
{
    static const char *const FIELDS[][2] = {
        {"$.format", "integer"},
        {"$.source.kind", "text"},
        {"$.source.name", "text"},
        {"$.device", "text"},
        {"$.toggles.batch", "text"},
        {"$.events", "integer"},
        {"$.parameters", "integer"},
        {"$.peak.allocated", "integer"},
        {"$.peak.requested", "integer"},
        {"$.peak.active", "integer"},
        {"$.peak.reserved", "integer"},
        {"$.peak.event", "integer"},
        {"$.peak.step", "integer"},
        {"$.peak.phase", "text"},
        {"$.peak.module", "text"},
        {"$.peak.op", "text"},
        {"$.peak.recompute", "bool"},
        {"$.peak.by_category.parameter", "integer"},
        {"$.peak.by_category.buffer", "integer"},
        {"$.peak.by_category.gradient", "integer"},
        {"$.peak.by_category.optimizer", "integer"},
        {"$.peak.by_category.input", "integer"},
        {"$.peak.by_category.activation", "integer"},
        {"$.peak.by_category.saved", "integer"},
        {"$.peak.by_category.checkpoint", "integer"},
        {"$.peak.by_category.cast", "integer"},
        {"$.peak.by_category.temporary", "integer"},
        {"$.peak.by_category.workspace", "integer"},
        {"$.peak.by_category.other", "integer"},
        {"$.steps[1].step", "integer"},
        {"$.steps[1].loss", "real"},
        {"$.steps[1].phases[0].phase", "text"},
        {"$.steps[1].phases[0].allocated_end", "integer"},
        {"$.steps[1].phases[0].allocated_peak", "integer"},
        {"$.steps[1].phases[0].requested_end", "integer"},
        {"$.steps[1].phases[0].requested_peak", "integer"},
        {"$.steps[1].phases[0].reserved_end", "integer"},
        {"$.saved.tensors", "integer"},
        {"$.saved.bytes", "integer"},
        {"$.saved.bytes_all", "integer"},
        {"$.recomputed_ops", "array"},
        {"$.recomputed_ops[0]", "integer"},
        {"$.devices[0].device", "integer"},
        {"$.devices[0].events", "integer"},
        {"$.devices[0].segments", "integer"},
        {"$.devices[0].blocks", "integer"},
        {"$.devices[0].reserved", "integer"},
        {"$.devices[0].allocated", "integer"},
        {"$.devices[0].peak_allocated", "integer"},
        {"$.devices[0].peak_requested", "integer"},
        {"$.devices[0].peak_reserved", "integer"},
    };
    struct program p = report_of(record_lenet("fields.db", "cpu"));

    (void)state;
    for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++)
        json_expect(p.out, FIELDS[i][0], FIELDS[i][1]);
    assert_int_equal(json_int(p.out, "$.format"), 1);
    assert_int_equal(json_int(p.out, "$.parameters"), 61706);
    assert_int_equal(json_int(p.out, "$.steps[0].step"), -1);
    program_release(&p);
}

static void the_reports_figures_equal_those_of_sql(void **state)
{
    const char *trace = record_lenet("sql.db", "cpu");
    struct program p = report_of(trace);
    char sql[512];

    (void)state;
    assert_int_equal(json_int(p.out, "$.events"), sql_int(trace, "select count(*) from event"));
    snprintf(sql, sizeof(sql),
             "select sum(case kind when 'alloc' then block_size else -block_size end) from event "
             "where kind in ('alloc', 'free') and seq <= %lld",
             (long long)json_int(p.out, "$.peak.event"));
    assert_int_equal(json_int(p.out, "$.peak.allocated"), sql_int(trace, sql));
    snprintf(sql, sizeof(sql),
             "with t as (select sum(case kind when 'alloc' then block_size else -block_size end) "
             "over (order by seq) as live from event where kind in ('alloc', 'free')) select "
             "max(live) from t");
    assert_int_equal(json_int(p.out, "$.peak.allocated"), sql_int(trace, sql));
    snprintf(sql, sizeof(sql),
             "with t as (select sum(case kind when 'alloc' then size else -size end) "
             "over (order by seq) as live from event where kind in ('alloc', 'free')) select "
             "max(live) from t");
    assert_int_equal(json_int(p.out, "$.peak.requested"), sql_int(trace, sql));
    assert_int_equal(
        json_int(p.out, "$.peak.reserved"),
        sql_int(trace,
                "select sum(case kind when 'segment_alloc' then size else -size end) from event "
                "where kind in ('segment_alloc', 'segment_free')"));
    program_release(&p);
}

static void categories_add_up_to_the_peak(void **state)
{
    struct program p = report_of(record_lenet("categories.db", "meta"));
    char *sum;

    (void)state;
    sum = json_text(p.out, "$.peak.by_category");
    assert_non_null(sum);
    free(sum);
    assert_int_equal(json_int(p.out, "$.peak.by_category.parameter") +
                         json_int(p.out, "$.peak.by_category.buffer") +
                         json_int(p.out, "$.peak.by_category.gradient") +
                         json_int(p.out, "$.peak.by_category.optimizer") +
                         json_int(p.out, "$.peak.by_category.input") +
                         json_int(p.out, "$.peak.by_category.activation") +
                         json_int(p.out, "$.peak.by_category.saved") +
                         json_int(p.out, "$.peak.by_category.checkpoint") +
                         json_int(p.out, "$.peak.by_category.cast") +
                         json_int(p.out, "$.peak.by_category.temporary") +
                         json_int(p.out, "$.peak.by_category.workspace") +
                         json_int(p.out, "$.peak.by_category.other"),
                     json_int(p.out, "$.peak.allocated"));
    program_release(&p);
}

/* lm4 has an Adam of its own: two moments a parameter, made in its constructor and anew in every step. */
static void the_state_of_a_users_optimizer_has_its_own_category(void **state)
{
    const char *trace = program_path("own.db");
    struct program p = program_run("record", "sample_nets/lm4.py", "-o", trace, "--device", "meta",
                                   "--batch", "1", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    p = report_of(trace);
    assert_true(json_int(p.out, "$.peak.step") > 0); /* the moments there were made by a step */
    assert_true(json_int(p.out, "$.peak.by_category.parameter") >= 22696448 * 4);
    assert_true(json_int(p.out, "$.peak.by_category.optimizer") >= 2 * 22696448 * 4);
    assert_int_equal(json_int(p.out, "$.peak.by_category.other"), 0);
    program_release(&p);
}

static void cpu_and_meta_record_the_same_events(void **state)
{
    const char *cpu = record_lenet("same-cpu.db", "cpu");
    const char *meta = record_lenet("same-meta.db", "meta");

    (void)state;
    assert_int_equal(sql_int(cpu, "select count(*) from event"),
                     sql_int(meta, "select count(*) from event"));
    for (int part = 0; part < 4; part++) {
        static const char *const SUMS[] = {
            "select sum(seq * block) from event where kind = 'alloc'",
            "select sum(seq * block) from event where kind = 'free'",
            "select sum(seq * size) from event where kind = 'alloc'",
            "select sum(seq * line) from event where kind in ('hold', 'drop')",
        };

        assert_int_equal(sql_int(cpu, SUMS[part]), sql_int(meta, SUMS[part]));
    }
}

static void the_text_names_the_line_of_the_peak(void **state)
{
    const char *trace = record_lenet("text.db", "cpu");
    struct program json = report_of(trace);
    struct program p = program_run("report", trace, NULL);
    char *line = json_text(json.out, "$.peak.source_line");

    (void)state;
    assert_int_equal(p.status, 0);
    assert_contains(p.out, "Peak: ");
    assert_contains(p.out, "What fills the peak");
    assert_contains(p.out, "Largest tensors there");
    assert_non_null(line);
    if (*line)
        assert_contains(p.out, line);
    free(line);
    program_release(&p);
    program_release(&json);
}

static void an_existing_trace_is_only_replaced_with_force(void **state)
{
    const char *trace = program_file("precious.db", "not to be lost");
    struct program p = program_run("record", LENET, "-o", trace, "--device", "meta", NULL);
    char back[32] = "";
    FILE *file;

    (void)state;
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "precious.db: it exists already; --force replaces it");
    assert_string_equal(p.out, "");
    program_release(&p);
    file = fopen(trace, "r");
    assert_non_null(file);
    assert_non_null(fgets(back, sizeof(back), file));
    fclose(file);
    assert_string_equal(back, "not to be lost");
    p = program_run("record", LENET, "-o", trace, "--device", "meta", "--force", NULL);
    assert_int_equal(p.status, 0);
    program_release(&p);
    p = report_of(trace);
    program_release(&p);
}

/* A net that is wrong: exit status 1, this in the message, and no file left behind. */
static void assert_net_refused(const char *text, const char *message)
{
    const char *net = program_file("wrong.py", text);
    const char *trace = program_path("wrong.db");
    struct program p = program_run("record", net, "-o", trace, NULL);

    assert_int_equal(p.status, 1);
    assert_contains(p.err, "vramscope: ");
    assert_contains(p.err, message);
    assert_string_equal(p.out, "");
    assert_int_not_equal(access(trace, F_OK), 0);
    program_release(&p);
}

#define NET_HEAD "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
#define NET_TAIL                                                                                   \
    "def model():\n    return Net()\n"                                                             \
    "def batch(n):\n    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"
#define NET(body)                                                                                  \
    NET_HEAD "class Net(nn.Module):\n"                                                             \
             "    def __init__(self):\n"                                                           \
             "        super().__init__()\n"                                                        \
             "        self.fc = nn.Linear(4, 3)\n"                                                 \
             "    def forward(self, x):\n" body NET_TAIL

static void a_wrong_net_is_refused_at_its_line(void **state)
{
    (void)state;
    assert_net_refused(NET("        return self.fc(x\n"), "wrong.py:");
    assert_net_refused(
        NET("        try:\n            return self.fc(x)\n        except:\n            pass\n"),
        "wrong.py:9:9: ");
    assert_net_refused(NET("        return torch.frobnicate(self.fc(x))\n"), "frobnicate");
    assert_net_refused(NET("        return self.fc(x.flatten(0))\n"), "wrong.py:9");
    assert_net_refused(NET("        return self.fc(y)\n"), "wrong.py:9");
    assert_net_refused(NET_HEAD "def batch(n):\n    return 1, 2\n", "model");
}

/* A warning is shown where the run fails, with the remedy, and is in the report where it does not. */
static void warnings_of_pytorch_are_shown(void **state)
{
    struct program p;
    const char *trace;
    char *text;

    (void)state;
    p = program_run("record", "tests/nets/articles/reentrant_no_grad.py", "-o",
                    program_path("none.db"), "--device", "meta", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err,
                           "warning: None of the inputs have requires_grad=True. Gradients will "
                           "be None (line 13); pass use_reentrant=False"));
    assert_non_null(strstr(p.err, "requires grad: pass use_reentrant=False\n"));
    program_release(&p);
    trace = program_record("tests/nets/articles/reentrant_part.py", "part.db", NULL, NULL);
    p = program_run("report", trace, NULL);
    assert_non_null(strstr(p.out,
                           "\nWarnings\n  None of the inputs have requires_grad=True. "
                           "Gradients will be None (line 15); pass\n    use_reentrant=False"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(json_int(p.out, "$.warnings[0].line"), 15);
    text = json_text(p.out, "$.warnings[0].text");
    assert_non_null(strstr(text, "Gradients will be None"));
    free(text);
    program_release(&p);
}

static void a_missing_net_file_is_named(void **state)
{
    struct program p = program_run("record", program_path("no-such.py"), NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "no-such.py: there is no such file");
    program_release(&p);
    p = program_run("record", program_folder(), NULL);
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "this folder holds no net.py");
    program_release(&p);
}

static void output_of_the_net_is_not_mixed_into_the_json(void **state)
{
    const char *net = program_file(
        "talks.py", NET("        print('shape', x.shape)\n        return self.fc(x)\n"));
    struct program p = program_run("record", net, "-o", program_path("talks.db"), "--device",
                                   "meta", "--steps", "1", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_contains(p.out, "shape torch.Size([8, 4])\n");
    program_release(&p);
    p = program_run("record", net, "-o", program_path("talks.db"), "--device", "meta", "--steps",
                    "1", "--force", "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_true(json_int(p.out, "$.peak.allocated") > 0);
    assert_contains(p.err, "shape torch.Size([8, 4])\n");
    program_release(&p);
}

static void a_folder_with_net_py_is_a_net(void **state)
{
    struct program p;
    const char *trace = program_path("folder.db");

    (void)state;
    assert_int_equal(mkdir(program_path("net"), 0700), 0);
    program_file("net/net.py", NET("        return self.fc(x)\n"));
    p = program_run("record", program_path("net"), "-o", trace, NULL);
    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    p = report_of(trace);
    assert_int_equal(json_int(p.out, "$.parameters"), 15);
    program_release(&p);
}

/* One that was put there for something; none at all is the ordinary case, and not worth a word. */
static void a_gpu_that_cannot_be_simulated_is_reported(void **state)
{
    const char *trace = program_path("auto.db");
    char folder[4096];
    struct program p;
    char *why;

    (void)state;
    program_file("vramscope_cuda.so", "this is no library\n");
    snprintf(folder, sizeof(folder), "%s", program_folder());
    setenv("VRAMSCOPE_PLUGINS", folder, 1);
    p = program_run("record", LENET, "-o", trace, "--steps", "1", NULL);
    unsetenv("VRAMSCOPE_PLUGINS");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.err, "on the CPU, because the GPU could not be used: device cuda: "));
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_non_null(strstr(p.out, "on the CPU, because the GPU could not be used: device cuda: "));
    program_release(&p);
    p = report_of(trace);
    why = json_text(p.out, "$.why_cpu");
    assert_non_null(why);
    free(why);
    program_release(&p);
}

static void wrong_usage_is_exit_status_2(void **state)
{
    static const char *const CASES[][4] = {
        {"record", LENET, "--amp", "fp8"},    {"record", LENET, "--chekpoint", "blocks"},
        {"record", LENET, "--device", "tpu"}, {"record", LENET, "--capacity", "lots"},
        {"record", LENET, "--seed", "-1"},    {"whatif", "x.db", "--set", "amp=fp8"},
        {"whatif", "x.db", "--set", "amp"},   {"whatif", "x.db", NULL, NULL},
        {"report", NULL, NULL, NULL},         {"diff", "a", NULL, NULL},
        {"frobnicate", NULL, NULL, NULL},     {"record", LENET, "--keep", "0"},
        {"record", LENET, "--keep", "10x"},   {"record", LENET, "--keep", "9999999g"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct program p = program_run(CASES[i][0], CASES[i][1], CASES[i][1] ? CASES[i][2] : NULL,
                                       CASES[i][1] && CASES[i][2] ? CASES[i][3] : NULL, NULL);

        if (p.status != 2 || strncmp(p.err, "vramscope: ", 11) != 0)
            fail_msg("case %zu: status %d, %s", i, p.status, p.err);
        assert_string_equal(p.out, "");
        program_release(&p);
    }
}

static void a_file_that_is_not_a_trace_is_reported_as_such(void **state)
{
    struct program p = program_run("report", program_file("text.txt", "hello"), NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "text.txt");
    program_release(&p);
    p = program_run("report", program_path("missing.db"), NULL);
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "missing.db");
    program_release(&p);
}

static void a_toggle_given_as_to_whatif_is_refused_with_the_option(void **state)
{
    struct program p = program_run("record", "sample_nets/lenet.py", "--set", "batch=4", "-o",
                                   program_path("set.db"), NULL);

    (void)state;
    assert_true(p.status != 0);
    assert_string_equal(p.err, "vramscope: record: there is no option --set; each toggle is an "
                               "option: --batch 4\n");
    program_release(&p);
}

static void a_truncated_or_newer_trace_is_refused(void **state)
{
    const char *trace = record_lenet("cut.db", "meta");
    struct stat size;
    struct program p;

    (void)state;
    assert_int_equal(stat(trace, &size), 0);
    assert_int_equal(truncate(trace, size.st_size / 2), 0);
    p = program_run("report", trace, NULL);
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "cut.db");
    program_release(&p);
    trace = record_lenet("newer.db", "meta");
    sql_run(trace, "pragma user_version = 9999");
    p = program_run("report", trace, NULL);
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "newer");
    program_release(&p);
}

static void a_full_device_ends_the_run_with_what_fills_it(void **state)
{
    const char *trace = program_path("oom.db");
    struct program p = program_run("record", LENET, "-o", trace, "--device", "meta", "--batch",
                                   "4096", "--capacity", "64M", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_contains(p.err, "memory");
    assert_contains(p.out, "Out of memory: ");
    assert_contains(p.out, "What fills the device");
    program_release(&p);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'oom'"), 1);
    p = report_of(trace);
    assert_int_equal(json_int(p.out, "$.complete"), 1);
    assert_true(json_int(p.out, "$.oom.event") > 0);
    assert_true(json_int(p.out, "$.peak.reserved") <= 64 << 20);
    program_release(&p);
}

/*
 * Start a recording without an end, and return when more than 2,000 events of it are on the disk. Blocks of kind 63
 * hold tensors.
 */
static pid_t start_endless(const char *trace)
{
    pid_t pid = program_start("record", LENET, "-o", trace, "--device", "cpu", "--steps",
                              "100000000", NULL);
    struct wait w = wait_for(pid, "2,000 committed events in %s", trace);

    while (sql_try_int(trace, "select sum(count) from event_block where kind <> 63") <= 2000)
        wait_more(&w);
    return pid;
}

static void a_killed_recorder_leaves_a_trace_that_opens(void **state)
{
    const char *trace = program_path("killed.db");
    struct program p;
    pid_t pid = start_endless(trace);
    int status;

    (void)state;
    assert_int_equal(kill(pid, SIGKILL), 0);
    status = wait_child(pid, "the killed recorder to end");
    assert_true(WIFSIGNALED(status));
    p = report_of(trace);
    assert_int_equal(json_int(p.out, "$.complete"), 0);
    assert_true(json_int(p.out, "$.events") > 1000);
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_int_equal(p.status, 0);
    assert_contains(p.out, "cut off");
    program_release(&p);
}

static void an_interrupted_recording_keeps_its_events(void **state)
{
    const char *trace = program_path("stopped.db");
    struct program p;
    pid_t pid = start_endless(trace);
    int status;

    (void)state;
    assert_int_equal(kill(pid, SIGINT), 0);
    status = wait_child(pid, "the interrupted recorder to end");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    p = report_of(trace);
    assert_int_equal(json_int(p.out, "$.complete"), 0);
    assert_true(json_int(p.out, "$.events") > 1000);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_of_report_has_its_documented_fields),
        cmocka_unit_test(the_reports_figures_equal_those_of_sql),
        cmocka_unit_test(categories_add_up_to_the_peak),
        cmocka_unit_test(the_state_of_a_users_optimizer_has_its_own_category),
        cmocka_unit_test(cpu_and_meta_record_the_same_events),
        cmocka_unit_test(the_text_names_the_line_of_the_peak),
        cmocka_unit_test(an_existing_trace_is_only_replaced_with_force),
        cmocka_unit_test(a_wrong_net_is_refused_at_its_line),
        cmocka_unit_test(a_toggle_given_as_to_whatif_is_refused_with_the_option),
        cmocka_unit_test(warnings_of_pytorch_are_shown),
        cmocka_unit_test(a_missing_net_file_is_named),
        cmocka_unit_test(output_of_the_net_is_not_mixed_into_the_json),
        cmocka_unit_test(a_folder_with_net_py_is_a_net),
        cmocka_unit_test(a_gpu_that_cannot_be_simulated_is_reported),
        cmocka_unit_test(wrong_usage_is_exit_status_2),
        cmocka_unit_test(a_file_that_is_not_a_trace_is_reported_as_such),
        cmocka_unit_test(a_truncated_or_newer_trace_is_refused),
        cmocka_unit_test(a_full_device_ends_the_run_with_what_fills_it),
        cmocka_unit_test(a_killed_recorder_leaves_a_trace_that_opens),
        cmocka_unit_test(an_interrupted_recording_keeps_its_events),
    };

    return cmocka_run_group_tests_name("e2e/record", tests, NULL, cleanup);
}
