/*
 * tests/e2e/test_whatif.c - a what-if equals recording again; and the commands that print tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/toggle.h"
#include "tests/e2e/program.h"
#include "tests/wait.h"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void assert_same(const char *a, const char *path_a, const char *b, const char *path_b)
{
    char *x = json_text(a, path_a);
    char *y = json_text(b, path_b);

    if (!x || !y || strcmp(x, y) != 0)
        fail_msg("%s is %s, but %s is %s", path_a, x ? x : "missing", path_b, y ? y : "missing");
    free(x);
    free(y);
}

/* What-if with toggle=value on a plain recording says what recording with --toggle value gives. */
static void assert_equals_recording(const char *net, const char *toggle, const char *value)
{
    const char *plain = program_record(net, "plain.db", "--force", NULL);
    char option[64];
    char pair[128];
    const char *again = program_path("again.db");
    struct program recorded;
    struct program asked;
    struct program p;

    snprintf(option, sizeof(option), "--%s", toggle);
    snprintf(pair, sizeof(pair), "%s=%s", toggle, value);
    p = program_run("record", net, "-o", again, "--device", "meta", "--force", option, value, NULL);
    if (p.status)
        fail_msg("%s: %s", pair, p.err);
    program_release(&p);
    recorded = program_run("report", again, "--json", NULL);
    asked = program_run("whatif", plain, "--set", pair, "--json", NULL);
    if (asked.status)
        fail_msg("%s: %s", pair, asked.err);
    assert_same(asked.out, "$.result", recorded.out, "$.peak");
    assert_same(asked.out, "$.events", recorded.out, "$.events");
    assert_same(asked.out, "$.recompute_flops", recorded.out, "$.recompute_flops");
    assert_same(asked.out, "$.total_flops", recorded.out, "$.total_flops");
    assert_int_equal(json_int(asked.out, "$.delta_allocated"),
                     json_int(asked.out, "$.result.allocated") -
                         json_int(asked.out, "$.baseline.allocated"));
    program_release(&recorded);
    program_release(&asked);
}

static void a_what_if_equals_recording_again(void **state)
{
    (void)state;
    assert_equals_recording("sample_nets/lenet.py", "batch", "16");
    assert_equals_recording("sample_nets/lenet.py", "inplace", "on");
    assert_equals_recording("sample_nets/lenet.py", "optimizer", "adam");
    assert_equals_recording("sample_nets/lenet.py", "amp", "fp16");
    assert_equals_recording("sample_nets/lenet.py", "accumulate", "2");
    assert_equals_recording("sample_nets/lenet.py", "grad", "no_grad");
    assert_equals_recording("sample_nets/resnet18.py", "checkpoint", "blocks");
    assert_equals_recording("sample_nets/resnet18.py", "zero-grad", "zeros");
    assert_equals_recording("sample_nets/resnet18.py", "alloc-conf", "expandable_segments:True");
}

/* 97 rows of 48 in shards of 33: the last of three ranks has 31, and Adam keeps less for it. */
static void whatif_ranks_says_which_rank_peaks_and_why(void **state)
{
    const char *trace = program_record("tests/nets/gpt_tiny.py", "ranks.db", "--shard", "fsdp");
    struct program p = program_run("whatif", trace, "--ranks", "--set", "world=3", "--json", NULL);
    struct program text = program_run("whatif", trace, "--ranks", "--set", "world=3", NULL);
    struct program alike = program_run("whatif", trace, "--ranks", "--set", "optimizer=sgd", NULL);
    struct program bad = program_run("whatif", trace, "--ranks", "--set", "shard=ddp", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.world"), 3);
    assert_int_equal(json_int(p.out, "$.ranks[0].last"), 1);
    assert_int_equal(json_int(p.out, "$.ranks[1].first"), 2);
    assert_true(json_int(p.out, "$.ranks[0].categories.optimizer") >
                json_int(p.out, "$.ranks[1].categories.optimizer"));
    assert_non_null(strstr(text.out, "ranks 0 to 1 have the highest peak: 1.0 KiB more than rank "
                                     "2, of these categories: optimizer 1.0 KiB"));
    assert_non_null(strstr(alike.out, "all 8 ranks are alike"));
    assert_int_equal(bad.status, 1);
    assert_non_null(strstr(bad.err, "shard=ddp is followed for rank 0 alone"));
    program_release(&p);
    program_release(&text);
    program_release(&alike);
    program_release(&bad);
}

/* Of a net whose activations are all of its memory but for a constant: 32 KiB of input and twice 32 KiB for each. */
static void a_curve_has_a_slope_and_a_constant(void **state)
{
    const char *net =
        program_file("line.py", "import torch\nimport torch.nn as nn\n\n\n"
                                "def model():\n    return nn.Sequential(nn.Linear(64, "
                                "8192), nn.ReLU())\n\n\n"
                                "def batch(n):\n    return torch.randn(n, 64), "
                                "torch.randint(0, 10, (n,))\n\n\n"
                                "defaults = dict(batch=256, steps=1)\n");
    const char *trace = program_record(net, "line.db", "--grad", "no_grad");
    struct program p = program_run("whatif", trace, "--curve", "batch", "--json", NULL);
    struct program text = program_run("whatif", trace, "--curve", "batch", NULL);
    struct program bad = program_run("whatif", trace, "--curve", "amp", NULL);
    char *off;

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.curve[0].value"), 32);
    assert_int_equal(json_int(p.out, "$.curve[5].value"), 1024);
    assert_int_equal(
        json_int(p.out, "$.curve[1].allocated") * 2 - json_int(p.out, "$.curve[2].allocated"),
        json_int(p.out, "$.curve[2].allocated") * 2 - json_int(p.out, "$.curve[3].allocated"));
    off = json_text(p.out, "$.off");
    assert_true(off && strtod(off, NULL) < 0.01);
    free(off);
    assert_non_null(strstr(text.out, "for each unit of batch"));
    assert_int_equal(bad.status, 2);
    assert_non_null(strstr(bad.err, "--curve cannot be `amp`"));
    program_release(&p);
    program_release(&text);
    program_release(&bad);
}

/* The names and types that docs/formats/json.md promises to programs. */
static void the_json_of_whatif_has_its_documented_fields(void **state)
{
    static const char *const FIGURES[] = {"delta_allocated", "recompute_flops", "total_flops",
                                          "events"};
    static const char *const PEAK[][2] = {
        {"allocated", "integer"}, {"requested", "integer"}, {"active", "integer"},
        {"reserved", "integer"},  {"event", "integer"},     {"step", "integer"},
        {"phase", "text"},        {"module", "text"},       {"op", "text"},
        {"recompute", "bool"},    {"by_category", "object"}};
    const char *trace = program_record("sample_nets/lenet.py", "contract.db", NULL, NULL);
    struct program one = program_run("whatif", trace, "--set", "amp=bf16", "--json", NULL);
    struct program each = program_run("whatif", trace, "--each", "--json", NULL);
    char path[64];

    (void)state;
    json_expect(one.out, "$.set.amp", "text");
    json_expect(one.out, "$.milliseconds", "real");
    json_expect(one.out, "$.bound.is_lower", "bool");
    json_expect(each.out, "$.each[0].toggle", "text");
    for (size_t i = 0; i < sizeof(FIGURES) / sizeof(FIGURES[0]); i++) {
        snprintf(path, sizeof(path), "$.%s", FIGURES[i]);
        json_expect(one.out, path, "integer");
        snprintf(path, sizeof(path), "$.each[0].%s", FIGURES[i]);
        json_expect(each.out, path, "integer");
    }
    for (size_t i = 0; i < sizeof(PEAK) / sizeof(PEAK[0]); i++) {
        snprintf(path, sizeof(path), "$.baseline.%s", PEAK[i][0]);
        json_expect(one.out, path, PEAK[i][1]);
        json_expect(each.out, path, PEAK[i][1]);
        snprintf(path, sizeof(path), "$.result.%s", PEAK[i][0]);
        json_expect(one.out, path, PEAK[i][1]);
    }
    program_release(&one);
    program_release(&each);
}

static void a_what_if_without_changes_equals_the_recording(void **state)
{
    const char *trace = program_path("data.db");
    struct program p = program_run("record", "sample_nets/lenet.py", "-o", trace, "--device", "cpu",
                                   "--amp", "fp16", "--batch", "4", NULL);
    struct program asked;

    (void)state;
    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    asked = program_run("whatif", trace, "--set", "batch=4", "--json", NULL);
    if (asked.status)
        fail_msg("%s", asked.err);
    assert_same(asked.out, "$.result", asked.out, "$.baseline");
    assert_int_equal(json_int(asked.out, "$.delta_allocated"), 0);
    program_release(&asked);
}

/* What `whatif --each` writes to a terminal as its standard error, into `out`; its results are ignored. */
static void each_on_terminal(const char *trace, char *out, size_t size)
{
    const char *program = getenv("VRAMSCOPE") ? getenv("VRAMSCOPE") : "build/vramscope";
    struct winsize screen = {.ws_row = 24, .ws_col = 60};
    int master = -1;
    int slave = -1;
    size_t len = 0;
    ssize_t n = 1;
    pid_t pid;

    assert_int_equal(openpty(&master, &slave, NULL, NULL, &screen), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(slave, STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        close(master);
        setenv("TERM", "xterm", 1);
        execl(program, "vramscope", "whatif", trace, "--each", (char *)NULL);
        _exit(127);
    }
    close(slave);
    wait_begin("whatif --each to write to its terminal and to close it");
    while (n > 0 || (n < 0 && errno == EINTR)) {
        n = read(master, out + len, size - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    wait_end();
    out[len] = '\0';
    close(master);
    assert_int_equal(wait_child(pid, "whatif --each to end"), 0);
}

static void each_shows_its_progress_on_a_terminal(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "told.db", NULL, NULL);
    struct program p = program_run("whatif", trace, "--each", NULL);
    char out[16384];

    (void)state;
    assert_int_equal(p.status, 0);
    assert_string_equal(p.err, ""); /* no terminal */
    program_release(&p);
    each_on_terminal(trace, out, sizeof(out));
    if (strncmp(out, "\r\033[K0 tried, now the recorded toggles", 36) != 0)
        fail_msg("it says %s", out);
    /* and the line is empty again */
    assert_true(strlen(out) > 4);
    assert_string_equal(out + strlen(out) - 4, "\r\033[K");
}

static void each_runs_every_toggle_separately(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "each.db", NULL, NULL);
    struct program p = program_run("whatif", trace, "--each", NULL);
    struct program json = program_run("whatif", trace, "--each", "--json", NULL);
    char value[VS_TOGGLE_VALUE_MAX];

    (void)state;
    if (p.status || json.status)
        fail_msg("%s%s", p.err, json.err);
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        const char *now = i == VS_TOGGLE_BATCH ? "64" : info->initial;

        for (size_t n = 0; vs_toggle_try((enum vs_toggle)i, now, n, value); n++) {
            char label[VS_TOGGLE_VALUE_MAX + 64];

            snprintf(label, sizeof(label), "%s=%s", info->name, value);
            if (!strstr(p.out, label) || !strstr(json.out, label))
                fail_msg("%s is missing in: %s", label, p.out);
        }
    }
    assert_true(json_int(json.out, "$.baseline.allocated") > 0);
    /* lenet has no containers, so there are no blocks */
    assert_non_null(strstr(p.out, "no effect: the net has no Sequential or ModuleList"));
    assert_non_null(strstr(p.out, "no effect: nothing is checkpointed"));
    assert_non_null(strstr(json.out, "\"no_effect\": \"nothing is checkpointed"));
    assert_non_null(strstr(json.out, "\"no_effect\": null"));
    program_release(&p);
    program_release(&json);
}

static void a_toggle_the_net_does_not_support_is_refused(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "fit.db", NULL, NULL);
    struct program p = program_run("whatif", trace, "--set", "checkpoint=no.such.module", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    if (!strstr(p.err, "no.such.module"))
        fail_msg("%s", p.err);
    program_release(&p);
    p = program_run("whatif", trace, "--set", "alloc-conf=nonsense:1", NULL);
    assert_int_equal(p.status, 1);
    if (!strstr(p.err, "nonsense"))
        fail_msg("%s", p.err);
    program_release(&p);
}

/* A legal value that changes nothing in a net is reported by every command, with a value that would. */
static void a_toggle_without_effect_is_reported(void **state)
{
    static const struct {
        const char *net, *toggle, *value, *says;
    } CASES[] = {
        {"variables", "checkpoint", "blocks",
         "no Sequential or ModuleList; name modules: checkpoint=conv1,conv2"},
        {"variables", "freeze", "relu", "freeze relu: it has no parameters; these have: conv1"},
        {"variables", "checkpoint-impl", "reentrant", "nothing is checkpointed"},
        {"variables", "preserve-rng", "off", "nothing is checkpointed"},
        {"linear_only", "inplace", "on", "no module of an activation or a dropout"},
        {"flat", "checkpoint", "blocks", "into parts: checkpoint=segments=2"},
    };
    static const char LINEAR[] = "import torch\nimport torch.nn as nn\n\ndef model():\n"
                                 "    return nn.Linear(4, 4)\n\ndef batch(n):\n"
                                 "    return torch.randn(n, 4), torch.randint(0, 4, (n,))\n";
    static const char FLAT[] = "import torch\nimport torch.nn as nn\n\ndef model():\n"
                               "    return nn.Sequential(nn.Linear(4, 4), nn.ReLU())\n\n"
                               "def batch(n):\n"
                               "    return torch.randn(n, 4), torch.randint(0, 4, (n,))\n";

    (void)state;
    program_file("linear_only.py", LINEAR);
    program_file("flat.py", FLAT);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const char *trace = program_path("idle.db");
        char net[128];
        char pair[64];
        struct program p;

        snprintf(net, sizeof(net), "%s/%s.py", i < 4 ? "sample_nets" : program_folder(),
                 CASES[i].net);
        snprintf(pair, sizeof(pair), "%s=%s", CASES[i].toggle, CASES[i].value);
        (void)program_record(net, "idle.db", "--force", NULL);
        p = program_run("whatif", trace, "--set", pair, NULL);
        if (p.status || !strstr(p.out, CASES[i].says))
            fail_msg("%s %s: %s%s", CASES[i].net, pair, p.out, p.err);
        program_release(&p);
        snprintf(pair, sizeof(pair), "--%s=%s", CASES[i].toggle, CASES[i].value);
        p = program_run("record", net, "-o", trace, "--force", "--device", "meta", pair, NULL);
        if (p.status || !strstr(p.err, CASES[i].says))
            fail_msg("%s %s: %s%s", CASES[i].net, pair, p.out, p.err);
        program_release(&p);
    }
}

static void sql_queries_are_answered_and_cannot_write(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "ask.db", NULL, NULL);
    struct program p = program_run("sql", trace, "select count(*) as n, 'x' as t from event", NULL);
    int64_t count = sql_int(trace, "select count(*) from event");
    char want[64];

    (void)state;
    assert_int_equal(p.status, 0);
    snprintf(want, sizeof(want), "n|t\n%lld|x\n", (long long)count);
    assert_string_equal(p.out, want);
    program_release(&p);
    p = program_run("sql", trace, "select count(*) as n, null as m from event", "--json", NULL);
    assert_int_equal(json_int(p.out, "$[0].n"), count);
    program_release(&p);
    p = program_run("sql", trace, "delete from meta", NULL);
    assert_int_equal(p.status, 2);
    program_release(&p);
    p = program_run("sql", trace, "select 1; select 2", NULL);
    assert_int_equal(p.status, 2);
    program_release(&p);
    p = program_run("sql", trace, "select no_such_column", NULL);
    assert_int_equal(p.status, 2);
    if (!strstr(p.err, "no such column"))
        fail_msg("%s", p.err);
    program_release(&p);
    assert_int_equal(sql_int(trace, "select count(*) from event"), count);
}

static void every_command_has_help(void **state)
{
    static const char *const COMMANDS[] = {"record", "report", "whatif",  "diff",
                                           "check",  "sql",    "toggles", "ops"};

    (void)state;
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        struct program p = program_run(COMMANDS[i], "--help", NULL);

        assert_int_equal(p.status, 0);
        assert_string_equal(p.err, "");
        if (!strstr(p.out, "usage: vramscope ") || !strstr(p.out, COMMANDS[i]))
            fail_msg("%s", p.out);
        program_release(&p);
    }
}

static void the_tables_of_toggles_and_ops_are_printed_completely(void **state)
{
    struct program p = program_run("toggles", "--json", NULL);
    char path[32];
    char *name;

    (void)state;
    snprintf(path, sizeof(path), "$[%d].name", VS_TOGGLE_COUNT - 1);
    assert_int_equal(p.status, 0);
    name = json_text(p.out, path);
    assert_non_null(name);
    assert_string_equal(name, vs_toggle_info((enum vs_toggle)(VS_TOGGLE_COUNT - 1))->name);
    free(name);
    program_release(&p);
    p = program_run("ops", "--json", NULL);
    assert_int_equal(p.status, 0);
    name = json_text(p.out, "$[0].signature");
    assert_non_null(name);
    free(name);
    program_release(&p);
    p = program_run("ops", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "F.conv2d"));
    program_release(&p);
}

/* Its figures are those until then: no change is shown, and no improvement. */
static void a_run_that_ends_out_of_memory_is_no_improvement(void **state)
{
    const char *trace = program_path("attention.db");
    struct program p =
        program_run("import", "tests/golden/snapshots/attention_3g.pickle.gz", "-o", trace, NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    p = program_run("whatif", trace, "--capacity", "1G", NULL);
    assert_int_equal(p.status, 0);
    if (!strstr(p.out, "until it ends\n") || strchr(p.out, '%') ||
        !strstr(p.out, "  this run ends out of memory: step 0, forward, ") ||
        !strstr(p.out, "    512.0 MiB were refused with "))
        fail_msg("%s", p.out);
    program_release(&p);
    p = program_run("whatif", trace, "--capacity", "4G", NULL);
    if (!strstr(p.out, "change\n") || strstr(p.out, "out of memory"))
        fail_msg("%s", p.out);
    program_release(&p);
}

/* The arithmetic of a large net has a unit that needs no exponent. */
static void arithmetic_is_given_in_a_unit_that_fits(void **state)
{
    const char *trace = program_record("sample_nets/gpt2_small.py", "large.db", "--steps", "2");
    struct program p = program_run("whatif", trace, "--set", "zero-grad=zeros", NULL);

    (void)state;
    if (p.status)
        fail_msg("%s", p.err);
    assert_non_null(strstr(p.out, " TFLOP, nothing recomputed\n"));
    assert_null(strstr(p.out, "e+0"));
    program_release(&p);
    p = program_run("whatif", trace, "--set", "checkpoint=blocks", NULL);
    assert_non_null(strstr(p.out, " TFLOP, of these 0."));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_what_if_equals_recording_again),
        cmocka_unit_test(whatif_ranks_says_which_rank_peaks_and_why),
        cmocka_unit_test(a_curve_has_a_slope_and_a_constant),
        cmocka_unit_test(the_json_of_whatif_has_its_documented_fields),
        cmocka_unit_test(a_what_if_without_changes_equals_the_recording),
        cmocka_unit_test(each_runs_every_toggle_separately),
        cmocka_unit_test(each_shows_its_progress_on_a_terminal),
        cmocka_unit_test(a_toggle_the_net_does_not_support_is_refused),
        cmocka_unit_test(a_toggle_without_effect_is_reported),
        cmocka_unit_test(sql_queries_are_answered_and_cannot_write),
        cmocka_unit_test(every_command_has_help),
        cmocka_unit_test(the_tables_of_toggles_and_ops_are_printed_completely),
        cmocka_unit_test(a_run_that_ends_out_of_memory_is_no_improvement),
        cmocka_unit_test(arithmetic_is_given_in_a_unit_that_fits),
    };

    return cmocka_run_group_tests_name("e2e/whatif", tests, NULL, cleanup);
}
