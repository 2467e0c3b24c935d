/*
 * tests/e2e/test_bad_net.c - a wrong net file or argument gives one message that names it, exit status 1 or 2, and no
 * trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/toggle.h"
#include "tests/e2e/bad_input.h"
#include "tests/skip.h"

static void a_net_that_cannot_be_read_is_reported_with_the_reason(void **state)
{
    static const char BINARY[] = "\x7f"
                                 "ELF\0\1";
    static const char LATIN[] = "# caf\xe9\n";
    const char *out = program_path("unread.db");
    const char *loop = program_path("loop.py");

    (void)state;
    ASSERT_MESSAGE(program_run("record", program_path("none.py"), "-o", out, NULL), 1,
                   "none.py: there is no such file");
    ASSERT_MESSAGE(program_run("record", program_folder(), "-o", out, NULL), 1, "holds no net.py");
    ASSERT_MESSAGE(program_run("record", LENET "/net.py", "-o", out, NULL), 1, LENET "/net.py: ");
    ASSERT_MESSAGE(program_run("record", "", "-o", out, NULL), 1, "there is no such file");
    assert_int_equal(symlink("loop.py", loop), 0);
    ASSERT_MESSAGE(program_run("record", loop, "-o", out, NULL), 1, "loop.py: ", "symbolic links");
    ASSERT_MESSAGE(program_run("record", bad_input_file("empty.py", "", 0), "-o", out, NULL), 1,
                   "empty.py: there is no `def model():`");
    ASSERT_MESSAGE(
        program_run("record", bad_input_file("binary.py", BINARY, sizeof(BINARY)), "-o", out, NULL),
        1, "binary.py: this is no text file");
    ASSERT_MESSAGE(program_run("record", bad_input_file("latin.py", LATIN, sizeof(LATIN) - 1), "-o",
                               out, NULL),
                   1, "latin.py:1:6: ", "not UTF-8 (0xE9)", "save the file as UTF-8");
    bad_input_assert_no_file("unread");
}

static void a_net_without_read_permission_is_refused(void **state)
{
    const char *net = program_file("secret.py", "x = 1\n");

    (void)state;
    if (geteuid() == 0) {
        tests_skip("root may read every file");
    }
    assert_int_equal(chmod(net, 0), 0);
    ASSERT_MESSAGE(program_run("record", net, NULL), 1,
                   "secret.py: cannot be read: Permission denied");
}

#define NET_HEAD                                                                                   \
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"                       \
    "class Net(nn.Module):\n"                                                                      \
    "    def __init__(self):\n"                                                                    \
    "        super().__init__()\n"                                                                 \
    "        self.fc = nn.Linear(4, 3)\n"                                                          \
    "        self.conv = nn.Conv2d(3, 8, 3)\n"                                                     \
    "        self.tail = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(4, 3))\n"             \
    "    def forward(self, x):\n"
#define NET_TAIL                                                                                   \
    "\ndef model():\n    return Net()\n"                                                           \
    "def batch(n):\n    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"

/* A net whose forward, from line 11 on, is `body`; each part is in the message. */
static void assert_forward_refused(const char *body, const char *const *parts)
{
    char text[2048];
    const char *out = program_path("refused.db");

    snprintf(text, sizeof(text), NET_HEAD "%s" NET_TAIL, body);
    bad_input_assert_message(
        program_run("record", program_file("wrong.py", text), "-o", out, "--device", "cpu", NULL),
        1, parts);
    bad_input_assert_no_file("refused");
}

#define REFUSED(body, ...) assert_forward_refused(body, (const char *const[]){__VA_ARGS__, NULL})

static void a_syntax_error_is_shown_at_its_line(void **state)
{
    (void)state;
    REFUSED("        return self.fc(x\n", "wrong.py:11:23: ", "    11 |         return self.fc(x",
            "\n       |                       ^", "`(` is never closed");
    REFUSED("        retrun x\n", "wrong.py:11:", "    11 |         retrun x", "^");
    REFUSED("        try:\n            return x\n        except:\n            pass\n",
            "wrong.py:11:9: ", "`try` is not part of the net language",
            "docs/guide/net-language.md");
    REFUSED("        import numpy\n        return x\n", "wrong.py:11:9: ", "numpy",
            "torch.manual_seed() seeds all random numbers");
    REFUSED("        import pandas\n        return x\n", "wrong.py:11:9: ", "pandas",
            "imports torch and its modules, math, copy, collections, functools and gc");
}

static void an_op_outside_the_table_is_refused_at_its_line(void **state)
{
    (void)state;
    REFUSED("        return F.softmx(self.fc(x))\n", "wrong.py:11:16: ", "has no `softmx` here",
            "did you mean `softmax`?");
    REFUSED("        return self.fc(x).frobnicate(1)\n",
            "wrong.py:11:16: ", "`Tensor` has no attribute `frobnicate`");
    REFUSED("        return torch.fft.fft(x)\n", "wrong.py:11:16: ", "torch has no `fft` here",
            "`vramscope ops` lists what there is");
}

static void a_shape_mismatch_names_both_shapes(void **state)
{
    (void)state;
    REFUSED("        a = torch.randn(5, 6)\n        return x + a\n",
            "wrong.py:12:16: ", "    12 |         return x + a", "`x` is [8, 4]", "`a` is [5, 6]");
    REFUSED("        q = self.fc(x)\n        q += torch.randn(7)\n        return q\n",
            "wrong.py:12:9: ", "`q` is [8, 3]", "`torch.randn(7)` is [7]");
    REFUSED("        return torch.matmul(x, self.fc(x))\n", "wrong.py:11:16: ", "`x` is [8, 4]",
            "`self.fc(x)` is [8, 3]");
    REFUSED("        h = self.fc(x)\n        return torch.cat([h, x], 0)\n",
            "wrong.py:12:16: ", "`h` is [8, 3]", "`x` is [8, 4]");
    REFUSED("        return torch.einsum('ij,jk->ik', x, self.fc(x))\n",
            "wrong.py:11:16: ", "'j' is 4 in operand 0 [8, 4] and 8 in operand 1 [8, 3]");
    REFUSED("        return x.view(-1, 7)\n", "wrong.py:11:16: ", "[-1, 7]", "`x` is [8, 4]");
    REFUSED("        return self.conv(x)\n", "wrong.py:11:16: ", "`input` is [8, 4]",
            "`weight` is [8, 3, 3, 3]", "in module `conv`");
    REFUSED("        return self.tail(x)\n", "wrong.py:11:16: ", "`input` is [8, 5]",
            "`weight` is [3, 4]", "in module `tail.2`");
    REFUSED("        h = self.fc(x)\n        return self.fc(h)\n",
            "wrong.py:12:16: ", "`input` is [8, 3]", "`weight` is [3, 4]", "in module `fc`");
}

static void a_batch_norm_of_dtypes_that_do_not_fit_is_refused(void **state)
{
    (void)state;
    REFUSED("        w = x.new_ones(4).half()\n"
            "        return F.batch_norm(x.bfloat16(), None, None, w, w, True)\n",
            "wrong.py:12:16: ", "Expected weight to have type Float but got Half");
    REFUSED("        w = x.new_ones(4)\n"
            "        return F.batch_norm(x.half(), None, None, w, w.half(), True)\n",
            "wrong.py:12:16: ", "Expected bias to have type Float but got Half");
    REFUSED("        w = x.new_ones(4).half()\n"
            "        return F.batch_norm(x.unsqueeze(2), None, None, w, w, True)\n",
            "wrong.py:12:16: ",
            "argument 'input' to have the same type as tensor for argument "
            "'weight'; but type Float does not equal Half");
    REFUSED("        w, mean = self.fc.bias.half(), x.new_zeros(3)\n"
            "        h = self.fc(x).half().view(4, 3, 2)\n"
            "        return F.batch_norm(h, mean, mean.half(), w, w, True).float().view(8, 3)\n",
            "wrong.py: ", "Expected running_mean to have type Half but got Float",
            "in the training loop, at `scaler.scale(l).backward()`");
}

static void what_the_training_loop_cannot_use_is_reported_at_its_statement(void **state)
{
    (void)state;
    REFUSED("        return x[:5]\n", "wrong.py: ", "`input` is [5, 4]", "`target` is [8]",
            "in the training loop, at `l = loss(output, targets)`");
    REFUSED("        return None\n", "wrong.py: ", "`input` must be a tensor, not `NoneType`",
            "in the training loop, at `l = loss(output, targets)`");
    REFUSED(
        "        y = self.fc(x).exp()\n        z = y * y\n        y.add_(1)\n        return z\n",
        "wrong.py: ", "line 12", "in-place",
        "in the training loop, at `scaler.scale(l).backward()`");
}

/* Only the second step fails, when the trace is there and has been written to. */
static void a_net_that_fails_later_leaves_no_trace(void **state)
{
    static const char NET[] = "import torch\nimport torch.nn as nn\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.fc = nn.Linear(4, 3)\n"
                              "        self.calls = 0\n"
                              "    def forward(self, x):\n"
                              "        self.calls += 1\n"
                              "        if self.calls == 2:\n"
                              "            raise ValueError('had enough')\n"
                              "        return self.fc(x)\n" NET_TAIL;
    const char *out = program_path("later.db");
    struct program p =
        program_run("record", program_file("later.py", NET), "-o", out, "--device", "cpu", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "later.py:11:13: ValueError: had enough"));
    program_release(&p);
    bad_input_assert_no_file("later.db");
}

static void a_wrong_toggle_value_lists_the_legal_ones(void **state)
{
    (void)state;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        const struct vs_toggle_info *info = vs_toggle_info((enum vs_toggle)i);
        char legal[VS_TOGGLE_LEGAL_MAX];
        char option[64];

        snprintf(option, sizeof(option), "--%s", info->name);
        vs_toggle_legal_text((enum vs_toggle)i, legal);
        if (!(info->flags & (VS_TOGGLE_PATHS | VS_TOGGLE_TEXT)))
            ASSERT_MESSAGE(program_run("record", LENET, option, "no-such-value", NULL), 2,
                           info->name, "no-such-value", legal);
        if (info->flags & VS_TOGGLE_PATHS)
            ASSERT_MESSAGE(program_run("record", LENET, "-o", program_path("toggle.db"), option,
                                       "no.such", NULL),
                           1, "the model has no module 'no.such'", legal, "conv1, relu1");
    }
    ASSERT_MESSAGE(program_run("record", LENET, "--alloc-conf", "no_such_key:1", NULL), 1,
                   "no_such_key", "max_split_size_mb", "expandable_segments");
    bad_input_assert_no_file("toggle");
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const char *const CASES[][3] = {
        {"--steps", "0", "a count from 1"},
        {"--steps", "-1", "a count from 1"},
        {"--batch", "0", "a count from 1"},
        {"--batch", "-8", "a count from 1"},
        {"--batch", "1e3", "a count from 1"},
        {"--batch", "99999999999999999999", "a count from 1 to 2147483647"},
        {"--accumulate", "0", "a count from 1"},
        {"--capacity", "-1G", "a size such as 8G"},
        {"--capacity", "0", "a size such as 8G"},
        {"--capacity", "99999999999999999999G", "a size such as 8G"},
        {"--seed", "-1", "a number from 0"},
        {"--seed", "5x", "a number from 0"},
        {"--seed", "18446744073709551616", "a number from 0"},
        {"--out", "", "needs the name of a file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
        ASSERT_MESSAGE(program_run("record", LENET, CASES[i][0], CASES[i][1], NULL), 2, CASES[i][1],
                       CASES[i][2]);
    ASSERT_MESSAGE(program_run("report", "x.db", "--top", "-1", NULL), 2, "--top cannot be `-1`");
    ASSERT_MESSAGE(program_run("whatif", "x.db", "--set", "batch=0", NULL), 2,
                   "`batch` cannot be `0`");
}

static void a_misspelled_word_gets_a_suggestion(void **state)
{
    (void)state;
    ASSERT_MESSAGE(program_run("recrod", NULL), 2,
                   "there is no command `recrod`; did you mean `record`?");
    ASSERT_MESSAGE(program_run("record", LENET, "--chekpoint", "blocks", NULL), 2,
                   "there is no option --chekpoint; did you mean --checkpoint?");
    ASSERT_MESSAGE(program_run("report", "x.db", "--jsn", NULL), 2, "did you mean --json?");
    ASSERT_MESSAGE(program_run("report", "x.db", "--frobnicate", NULL), 2,
                   "there is no option --frobnicate", "`vramscope report --help` lists them");
    ASSERT_MESSAGE(program_run("whatif", "x.db", "--set", "chekpoint=blocks", NULL), 2,
                   "chekpoint");
    ASSERT_MESSAGE(program_run("help", "recrod", NULL), 2, "did you mean `record`?");
}

static void arguments_of_tui_are_checked_before_anything_is_drawn(void **state)
{
    (void)state;
    ASSERT_MESSAGE(program_run("tui", "x.db", "--dump", "--keys", "gb<entr>", NULL), 2,
                   "there is no key `<entr>`", "<enter>");
    ASSERT_MESSAGE(program_run("tui", "x.db", "y.db", "--set", "amp=fp16", NULL), 2,
                   "a second trace or --set, not both");
}

static void an_unknown_instruction_set_is_refused(void **state)
{
    static const char *const KNOWN[] = {"baseline", "avx2", "avx512"};
    struct program p;

    (void)state;
    setenv("VRAMSCOPE_CPU", "mmx", 1);
    p = program_run("toggles", NULL);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(p.err, "VRAMSCOPE_CPU is `mmx`, not baseline, avx2 or avx512"));
    program_release(&p);
    for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++) {
        setenv("VRAMSCOPE_CPU", KNOWN[i], 1);
        p = program_run("record", LENET, "-o", program_path("level.db"), "--device", "cpu",
                        "--batch", "1", "--force", NULL);
        assert_int_equal(p.status, 0);
        program_release(&p);
    }
    unsetenv("VRAMSCOPE_CPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_net_that_cannot_be_read_is_reported_with_the_reason),
        cmocka_unit_test(a_net_without_read_permission_is_refused),
        cmocka_unit_test(a_syntax_error_is_shown_at_its_line),
        cmocka_unit_test(an_op_outside_the_table_is_refused_at_its_line),
        cmocka_unit_test(a_shape_mismatch_names_both_shapes),
        cmocka_unit_test(a_batch_norm_of_dtypes_that_do_not_fit_is_refused),
        cmocka_unit_test(what_the_training_loop_cannot_use_is_reported_at_its_statement),
        cmocka_unit_test(a_net_that_fails_later_leaves_no_trace),
        cmocka_unit_test(a_wrong_toggle_value_lists_the_legal_ones),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(a_misspelled_word_gets_a_suggestion),
        cmocka_unit_test(arguments_of_tui_are_checked_before_anything_is_drawn),
        cmocka_unit_test(an_unknown_instruction_set_is_refused),
    };

    return cmocka_run_group_tests_name("e2e/bad net", tests, NULL, bad_input_cleanup);
}
