/*
 * tests/e2e/test_match.c - `vramscope match`: what it prints, its exit status, and what it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

#define ATTENTION "tests/nets/recorded/attention.py"
#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"
#define COMPACT "tests/golden/alloc/attention_3g.0.txt"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void check(struct program p, int status, const char *out, const char *err)
{
    if (p.status != status || !strstr(p.out, out) || !strstr(p.err, err))
        fail_msg("status %d (not %d), says:\n%s\n%s\nbut should: %s%s", p.status, status, p.out,
                 p.err, out, err);
    program_release(&p);
}

static void equal_events_are_counted_and_the_status_is_0(void **state)
{
    (void)state;
    check(program_run("match", ATTENTION, SNAPSHOT, NULL), 0, "matched 56 of 56 events (tensors)",
          "");
    check(program_run("match", ATTENTION, COMPACT, NULL), 0,
          "left out of the recording: 2 workspace allocations (17039360 bytes), 2 reduction "
          "allocations (260 bytes)",
          "");
}

/* Two workspaces, a split sum's buffer and semaphores, 9 segments, every address and the device's own peaks. */
static void with_a_target_everything_is_compared(void **state)
{
    struct program p = program_run("match", ATTENTION, SNAPSHOT, "--target", "a100-40",
                                   "--workspace", "2.6", "--json", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.matched"), 97);
    assert_int_equal(json_int(p.out, "$.events"), 97);
    assert_int_equal(json_int(p.out, "$.peaks_equal"), 1);
    assert_int_equal(json_int(p.out, "$.peaks_recorded.allocated"), 3249144832);
    assert_int_equal(json_int(p.out, "$.peaks_ours.reserved"), 3781165056);
    program_release(&p);
}

static void the_first_difference_is_shown_with_op_and_line(void **state)
{
    struct program p;
    char *text;

    (void)state;
    check(program_run("match", ATTENTION, SNAPSHOT, "-D", "LENGTH=2048", NULL), 1,
          "first difference, after 0 events: other bytes\n"
          "    recorded  alloc      2097152  as 0  randn  trace_peak_memory.py:35 in main\n"
          "    ours      alloc      1048576  as 0  randn  line 52 in train_step",
          "");
    p = program_run("match", ATTENTION, SNAPSHOT, "--events", "all", "--json", NULL);
    assert_int_equal(p.status, 1);
    assert_int_equal(json_int(p.out, "$.equal"), 0);
    assert_int_equal(json_int(p.out, "$.matched"), 6);
    text = json_text(p.out, "$.difference.recorded.op");
    assert_string_equal(text, "einsum");
    free(text);
    assert_int_equal(json_int(p.out, "$.difference.recorded.bytes"), 8519680);
    program_release(&p);
}

static void a_users_own_event_list_is_compared(void **state)
{
    static const char net[] = "import torch\nimport torch.nn as nn\nWIDTH = 3\n"
                              "def model():\n    return nn.Linear(WIDTH, 2, bias=False)\n"
                              "def batch(n):\n    return torch.randn(n, WIDTH), ()\n"
                              "def loss(output, target):\n    return output.sum()\n"
                              "defaults = dict(batch=4, steps=1)\n";
    /*
     * of real PyTorch (tests/oracle/run.py --csv): weight, batch, output, sum, root, gradient, a dense copy of the root
     */
    static const char list[] = "kind,bytes,id,op\nalloc,24,w,\nalloc,48,x,\nalloc,32,y,mm\n"
                               "alloc,4,l,sum\nalloc,4,one,\nalloc,24,g,mm\nalloc,32,copy,mm\n"
                               "free,32,copy,mm\nfree,4,one,\n";
    const char *net_path = program_file("net.py", net);
    const char *list_path = program_file("list.csv", list);

    (void)state;
    check(program_run("match", net_path, list_path, NULL), 0, "matched 9 of 9 events", "");
    check(program_run("match", net_path, list_path, "--batch", "8", NULL), 1,
          "matched 1 of 9 events", "");
    check(program_run("match", net_path, list_path, "--from", "0", NULL), 1,
          "matched 0 of 9 events", "");
}

static void wrong_arguments_and_failures_have_different_exit_statuses(void **state)
{
    (void)state;
    check(program_run("match", ATTENTION, NULL), 2, "", "LIST");
    check(program_run("match", ATTENTION, SNAPSHOT, "--events", "some", NULL), 2, "",
          "legal: tensors, allocations, all");
    check(program_run("match", ATTENTION, SNAPSHOT, "-D", "DEPTH=3", NULL), 2, "",
          "has no line `DEPTH = …`");
    check(program_run("match", ATTENTION, SNAPSHOT, "-D", "LENGTH", NULL), 2, "",
          "give NAME=VALUE");
    check(program_run("match", ATTENTION, SNAPSHOT, "--from", "soon", NULL), 2, "",
          "such as 5:forward");
    check(program_run("match", ATTENTION, SNAPSHOT, "--gpu", "first", NULL), 2, "",
          "give a number from 0 on");
    check(program_run("match", ATTENTION, SNAPSHOT, "--from", "7", NULL), 1, "", "no event in 7");
    check(program_run("match", ATTENTION, SNAPSHOT, "--gpu", "5", NULL), 1, "",
          "no data of device 5");
    check(program_run("match", ATTENTION, "README.md", NULL), 1, "", "README.md: line 3: ");
    check(program_run("match", ATTENTION, "nowhere.csv", NULL), 1, "", "nowhere.csv: ");
    check(program_run("match", "nowhere.py", SNAPSHOT, NULL), 1, "", "nowhere.py: ");
}

/* A pickle that would run a command is refused before any of its values is used. */
static void a_snapshot_that_could_run_code_is_refused(void **state)
{
    const char *path = program_file("evil.pickle", "\x80\x02"
                                                   "cposix\nsystem\n(X\x02.");

    (void)state;
    check(program_run("match", ATTENTION, path, NULL), 1, "",
          "evil.pickle: offset 2: opcode GLOBAL, which data never needs: it could run code");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_events_are_counted_and_the_status_is_0),
        cmocka_unit_test(with_a_target_everything_is_compared),
        cmocka_unit_test(the_first_difference_is_shown_with_op_and_line),
        cmocka_unit_test(a_users_own_event_list_is_compared),
        cmocka_unit_test(wrong_arguments_and_failures_have_different_exit_statuses),
        cmocka_unit_test(a_snapshot_that_could_run_code_is_refused),
    };

    return cmocka_run_group_tests_name("e2e/match", tests, NULL, cleanup);
}
