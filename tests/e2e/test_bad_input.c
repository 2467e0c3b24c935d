/*
 * tests/e2e/test_bad_input.c - what a user can get wrong: each gives one message that names the thing, exit status 1
 * or 2, and nothing that was there is lost.
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

#include "base/toggle.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define LENET "sample_nets/lenet.py"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/*
 * It ended with `status`, printed no result, and its message, one, has all of `parts` (ending with NULL). Releases p.
 */
static void assert_said(struct program p, int status, const char *const *parts)
{
    if (p.status != status || strncmp(p.err, "vramscope: ", 11) != 0 || *p.out)
        fail_msg("status %d, not %d; out: %s; err: %s", p.status, status, p.out, p.err);
    for (; *parts; parts++)
        if (!strstr(p.err, *parts))
            fail_msg("\"%s\" is not in: %s", *parts, p.err);
    if (strstr(strstr(p.err, "vramscope: ") + 1, "vramscope: "))
        fail_msg("more than one message: %s", p.err);
    program_release(&p);
}

#define SAID(p, status, ...) assert_said(p, status, (const char *const[]){__VA_ARGS__, NULL})

/* Nothing in the folder of the test begins with `name`: neither it nor what it was to become. */
static void assert_nothing_called(const char *name)
{
    char command[512];

    snprintf(command, sizeof(command), "ls -a '%s' | grep -q '^%s'", program_folder(), name);
    if (system(command) == 0)
        fail_msg("something called %s… was left behind", name);
}

static const char *trace_of_lenet(const char *name)
{
    const char *path = program_path(name);
    struct program p =
        program_run("record", LENET, "-o", path, "--device", "meta", "--force", NULL);

    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    return path;
}

/* ---- nets ---- */

static const char *file_of(const char *name, const void *bytes, size_t count)
{
    const char *path = program_path(name);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void a_net_that_cannot_be_read_is_named_with_the_reason(void **state)
{
    static const char BINARY[] = "\x7f"
                                 "ELF\0\1";
    static const char LATIN[] = "# caf\xe9\n";
    const char *out = program_path("unread.db");
    const char *loop = program_path("loop.py");

    (void)state;
    SAID(program_run("record", program_path("none.py"), "-o", out, NULL), 1,
         "none.py: there is no such file");
    SAID(program_run("record", program_folder(), "-o", out, NULL), 1, "holds no net.py");
    SAID(program_run("record", LENET "/net.py", "-o", out, NULL), 1, LENET "/net.py: ");
    SAID(program_run("record", "", "-o", out, NULL), 1, "there is no such file");
    assert_int_equal(symlink("loop.py", loop), 0);
    SAID(program_run("record", loop, "-o", out, NULL), 1, "loop.py: ", "symbolic links");
    SAID(program_run("record", file_of("empty.py", "", 0), "-o", out, NULL), 1,
         "empty.py: there is no `def model():`");
    SAID(program_run("record", file_of("binary.py", BINARY, sizeof(BINARY)), "-o", out, NULL), 1,
         "binary.py: this is no text file");
    SAID(program_run("record", file_of("latin.py", LATIN, sizeof(LATIN) - 1), "-o", out, NULL), 1,
         "latin.py:1:6: ", "not UTF-8 (0xE9)", "save the file as UTF-8");
    assert_nothing_called("unread");
}

static void a_net_nobody_may_read_says_so(void **state)
{
    const char *net = program_file("secret.py", "x = 1\n");

    (void)state;
    if (geteuid() == 0) {
        tests_skip("root may read every file");
    }
    assert_int_equal(chmod(net, 0), 0);
    SAID(program_run("record", net, NULL), 1, "secret.py: cannot be read: Permission denied");
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
    assert_said(
        program_run("record", program_file("wrong.py", text), "-o", out, "--device", "cpu", NULL),
        1, parts);
    assert_nothing_called("refused");
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
            "imports torch and its modules, and math");
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

static void what_the_loop_cannot_use_is_reported_in_its_words(void **state)
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
    assert_nothing_called("later.db");
}

/* ---- arguments ---- */

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
            SAID(program_run("record", LENET, option, "no-such-value", NULL), 2, info->name,
                 "no-such-value", legal);
        if (info->flags & VS_TOGGLE_PATHS)
            SAID(program_run("record", LENET, "-o", program_path("toggle.db"), option, "no.such",
                             NULL),
                 1, "the model has no module 'no.such'", legal, "conv1, relu1");
    }
    SAID(program_run("record", LENET, "--alloc-conf", "no_such_key:1", NULL), 1, "no_such_key",
         "max_split_size_mb", "expandable_segments");
    assert_nothing_called("toggle");
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
        SAID(program_run("record", LENET, CASES[i][0], CASES[i][1], NULL), 2, CASES[i][1],
             CASES[i][2]);
    SAID(program_run("report", "x.db", "--top", "-1", NULL), 2, "--top cannot be `-1`");
    SAID(program_run("whatif", "x.db", "--set", "batch=0", NULL), 2, "`batch` cannot be `0`");
}

static void what_was_meant_is_suggested(void **state)
{
    (void)state;
    SAID(program_run("recrod", NULL), 2, "there is no command `recrod`; did you mean `record`?");
    SAID(program_run("record", LENET, "--chekpoint", "blocks", NULL), 2,
         "there is no option --chekpoint; did you mean --checkpoint?");
    SAID(program_run("report", "x.db", "--jsn", NULL), 2, "did you mean --json?");
    SAID(program_run("report", "x.db", "--frobnicate", NULL), 2, "there is no option --frobnicate",
         "`vramscope report --help` lists them");
    SAID(program_run("whatif", "x.db", "--set", "chekpoint=blocks", NULL), 2, "chekpoint");
    SAID(program_run("help", "recrod", NULL), 2, "did you mean `record`?");
}

static void keys_and_runs_of_a_screen_are_checked_before_it_is_drawn(void **state)
{
    (void)state;
    SAID(program_run("tui", "x.db", "--dump", "--keys", "gb<entr>", NULL), 2,
         "there is no key `<entr>`", "<enter>");
    SAID(program_run("tui", "x.db", "y.db", "--set", "amp=fp16", NULL), 2,
         "a second trace or --set, not both");
}

/* ---- where the trace goes ---- */

static void an_output_that_cannot_be_written_is_reported_before_the_run(void **state)
{
    (void)state;
    SAID(program_run("record", LENET, "-o", program_path("no/such/folder.db"), "--device", "meta",
                     NULL),
         1, "no/such/folder.db: cannot be created: No such file or directory");
    SAID(program_run("record", LENET, "-o", program_folder(), "--device", "meta", NULL), 1,
         "it exists already");
    SAID(program_run("record", LENET, "-o", program_folder(), "--device", "meta", "--force", NULL),
         1, "not a regular file; choose another name");
    SAID(program_run("record", LENET, "-o", LENET "/x.db", "--device", "meta", NULL), 1,
         LENET "/x.db: ", "Not a directory");
}

static char *bytes_of(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *count = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void no_failure_touches_a_trace_that_is_there(void **state)
{
    static const struct program_world full = {.file_bytes = 65536};
    const char *trace = trace_of_lenet("kept.db");
    const char *wrong = program_file("no_net.py", "x = 1\n");
    size_t count;
    size_t count_after;
    char *before = bytes_of(trace, &count);
    char *after;

    (void)state;
    SAID(program_run("record", LENET, "-o", trace, "--device", "meta", NULL), 1,
         "kept.db: it exists already; --force replaces it");
    SAID(program_run("record", wrong, "-o", trace, "--force", NULL), 1, "no `def model():`");
    SAID(program_run("record", LENET, "-o", trace, "--force", "--amp", "fp8", NULL), 2, "fp8");
    SAID(program_run_in(&full, "record", LENET, "-o", trace, "--force", "--device", "meta", NULL),
         1, "kept.db: ");
    SAID(program_run("sql", trace, "delete from event_block", NULL), 2, "a trace is only read");
    after = bytes_of(trace, &count_after);
    assert_int_equal(count_after, count);
    assert_memory_equal(after, before, count);
    assert_nothing_called("kept.db.");
    free(before);
    free(after);
}

static void a_disk_that_fills_up_ends_the_recording(void **state)
{
    static const struct program_world tiny = {.file_bytes = 65536};
    static const struct program_world small = {.file_bytes = 400 << 10};
    const char *trace = program_path("filled.db");
    struct program p =
        program_run_in(&tiny, "record", LENET, "-o", trace, "--device", "meta", NULL);

    (void)state;
    SAID(p, 1, "filled.db: no more can be written to it", "write to another place");
    assert_nothing_called("filled");
    /* later: the run stops, although a million steps were wanted, and says where it is */
    p = program_run_in(&small, "record", LENET, "-o", trace, "--device", "cpu", "--batch", "1",
                       "--steps", "1000000", NULL);
    assert_int_equal(p.status, 1);
    assert_string_equal(p.out, "");
    assert_non_null(strstr(p.err, "filled.db: no more can be written to it"));
    assert_non_null(strstr(p.err, "filled.db holds what was written before that"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.complete"), 0);
    program_release(&p);
}

/* ---- what is no trace ---- */

static void what_is_no_trace_is_refused_by_every_command(void **state)
{
    const char *whole = trace_of_lenet("whole.db");
    const char *other = program_path("other.db");
    const char *newer = trace_of_lenet("newer.db");
    const char *cut = trace_of_lenet("cut.db");
    struct stat size;
    const struct {
        const char *path;
        const char *part;
    } cases[] = {
        {program_path("none.db"), "none.db: no such file"},
        {program_folder(), "not a file"},
        {file_of("empty.db", "", 0), "empty.db: an empty file"},
        {LENET, LENET ": not a trace of vramscope; `vramscope record` makes one"},
        {other, "other.db: an SQLite file, but not a trace of vramscope"},
        {newer, "newer.db: the trace has format 9999, this vramscope reads up to format"},
        {cut, "cut.db: the trace is cut off: "},
    };

    (void)state;
    sql_create(other, "create table t (x)");
    sql_run(newer, "pragma user_version = 9999");
    assert_int_equal(stat(cut, &size), 0);
    assert_int_equal(truncate(cut, size.st_size * 2 / 3), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = cases[i].path;

        SAID(program_run("report", path, NULL), 1, cases[i].part);
        SAID(program_run("report", path, "--json", NULL), 1, cases[i].part);
        SAID(program_run("whatif", path, "--set", "amp=fp16", NULL), 1, cases[i].part);
        SAID(program_run("whatif", path, "--each", "--json", NULL), 1, cases[i].part);
        SAID(program_run("sql", path, "select 1", NULL), 1, cases[i].part);
        SAID(program_run("export", path, "--format", "csv", NULL), 1, cases[i].part);
        SAID(program_run("tui", path, "--dump", NULL), 1, cases[i].part);
        /* 1 is a difference, and limits that are passed */
        SAID(program_run("diff", path, whole, NULL), 2, cases[i].part);
        SAID(program_run("diff", whole, path, "--json", NULL), 2, cases[i].part);
        SAID(program_run("check", path, "--max-peak", "1G", NULL), 2, cases[i].part);
    }
}

static void what_is_no_snapshot_is_refused(void **state)
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
        {file_of("empty.pickle", "", 0), "empty.pickle: this is no memory snapshot"},
        {LENET, LENET ": this is no memory snapshot"},
        {file_of("page.html", "<html></html>", 13), "this page holds no memory snapshot"},
        {file_of("code.pickle", CODE, sizeof(CODE) - 1), "offset 2: opcode GLOBAL"},
        {file_of("nine.pickle", NINE, sizeof(NINE) - 1), "offset 2: the pickle is cut off"},
        {file_of("cut.gz", GZIP, sizeof(GZIP) - 1), "cut.gz: cannot be read: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        SAID(program_run("import", cases[i].path, "-o", out, NULL), 1, cases[i].part);
    assert_nothing_called("unread");
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
    path = file_of(name, text, n + strlen(after));
    free(text);
    return path;
}

/*
 * Each input has 16 MiB and is read under a limit of four times that plus 96 MiB: the 64 MiB that recording/pickle.c
 * adds, and the program itself. An input that expands beyond the limit is refused with that reason. An input whose
 * values fit, because a small number or a reference to the memo is one word, is read to its end and then refused for
 * what it holds.
 */
static void a_bomb_is_refused_within_four_times_its_size(void **state)
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
        {"\x80\x04N", "\x94", ".", "no memory snapshot"},
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
        {"id,kind,bytes\n", "1,a,1\n", "", "this is no memory snapshot"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        SAID(program_run_in(
                 &world, "import",
                 bomb("bomb.pickle", cases[i].before, cases[i].unit, size, cases[i].after), "-o",
                 out, NULL),
             1, cases[i].part);
    assert_nothing_called("bomb.db");
}

static void a_trace_is_refused_wherever_it_is_cut(void **state)
{
    const char *trace = trace_of_lenet("whole.db");
    size_t count;
    char *bytes = bytes_of(trace, &count);

    (void)state;
    for (size_t part = 1; part < 32; part++)
        SAID(program_run("report", file_of("part.db", bytes, count * part / 32), NULL), 1,
             "part.db: ");
    free(bytes);
}

/* ---- results that nobody takes ---- */

static void a_result_that_cannot_be_written_is_a_failure(void **state)
{
    static const struct program_world full = {.stdout_path = "/dev/full"};
    static const struct program_world unread = {.no_reader = true};
    const char *trace = trace_of_lenet("unsaid.db");
    const char *again = program_path("again.db");
    struct program p;

    (void)state;
    SAID(program_run_in(&full, "report", trace, NULL), 1, "cannot write the result: No space left");
    SAID(program_run_in(&full, "report", trace, "--json", NULL), 1, "cannot write the result");
    SAID(program_run_in(&full, "ops", NULL), 1, "cannot write the result");
    SAID(program_run_in(&full, "sql", trace, "select * from event", NULL), 1,
         "cannot write the result");
    /* as every program in a pipe, what only prints ends with its reader */
    p = program_run_in(&unread, "report", trace, NULL);
    assert_int_equal(p.status, 128 + SIGPIPE);
    program_release(&p);
    /* a recording does not: the trace is what it was for */
    p = program_run_in(&unread, "record", LENET, "-o", again, "--device", "meta", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "vramscope: cannot write the result: Broken pipe"));
    program_release(&p);
    p = program_run("report", again, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.complete"), 1);
    program_release(&p);
}

static void nothing_but_text_is_printed_where_no_terminal_is(void **state)
{
    const char *trace = program_path("plain.db");
    struct program p =
        program_run("record", LENET, "-o", trace, "--device", "cpu", "--batch", "1", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.err, "step 1/3, loss "));
    assert_non_null(strstr(p.err, "step 3/3, loss "));
    assert_null(strpbrk(p.err, "\r\033"));
    assert_null(strpbrk(p.out, "\r\033"));
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_null(strpbrk(p.out, "\r\033"));
    program_release(&p);
}

/* ---- ends that were not planned ---- */

/* The bytes that are on the disk now: events of its committed blocks. */
static int64_t events_in(const char *trace)
{
    return sql_try_int(trace, "select sum(count) from event_block");
}

static void an_instruction_set_is_known_or_refused(void **state)
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

static void every_wish_to_end_leaves_a_trace_of_what_happened(void **state)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};

    (void)state;
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        const char *trace = program_path("ended.db");
        pid_t pid = program_start("record", LENET, "-o", trace, "--device", "cpu", "--batch", "1",
                                  "--steps", "100000000", "--force", NULL);
        struct wait events = wait_for(pid, "5,000 committed events in %s", trace);
        struct wait losses = wait_for(pid, "2 committed losses in %s", trace);
        struct program p;
        int status;

        while (events_in(trace) < 5000)
            wait_more(&events);
        /* losses come with the blocks of events, which are small under STRESS */
        while (sql_try_int(trace, "select count(loss) from step") < 2)
            wait_more(&losses);
        assert_int_equal(kill(pid, SIGNALS[i]), 0);
        status = wait_child(pid, "the recorder to end after signal %d", SIGNALS[i]);
        if (SIGNALS[i] == SIGKILL)
            assert_true(WIFSIGNALED(status));
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        p = program_run("report", trace, "--json", NULL);
        assert_int_equal(p.status, 0);
        assert_int_equal(json_int(p.out, "$.complete"), 0);
        assert_true(json_int(p.out, "$.events") >= 5000);
        assert_int_equal(json_int(p.out, "$.parameters"), 61706);
        /* what was computed is there too */
        assert_true(sql_int(trace, "select count(loss) from step") > 1);
        program_release(&p);
        remove(trace);
    }
}

static void a_device_too_small_for_the_model_is_an_out_of_memory(void **state)
{
    const char *trace = program_path("tiny.db");
    struct program p =
        program_run("record", LENET, "-o", trace, "--device", "meta", "--capacity", "1M", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "Out of memory: 600 B were refused at event "));
    assert_non_null(strstr(p.out, ", setup\n"));
    assert_non_null(strstr(p.out, "Nothing was allocated."));
    assert_non_null(strstr(p.err, "lenet.py: device out of memory: tried to allocate 2.0 MiB"));
    assert_non_null(strstr(p.err, "in the training loop, at `model.to(\"cuda\")`"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.oom.requested"), 600);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_net_that_cannot_be_read_is_named_with_the_reason),
        cmocka_unit_test(a_net_nobody_may_read_says_so),
        cmocka_unit_test(a_syntax_error_is_shown_at_its_line),
        cmocka_unit_test(an_op_outside_the_table_is_refused_at_its_line),
        cmocka_unit_test(a_shape_mismatch_names_both_shapes),
        cmocka_unit_test(a_batch_norm_of_dtypes_that_do_not_fit_is_refused),
        cmocka_unit_test(what_the_loop_cannot_use_is_reported_in_its_words),
        cmocka_unit_test(a_net_that_fails_later_leaves_no_trace),
        cmocka_unit_test(a_wrong_toggle_value_lists_the_legal_ones),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(what_was_meant_is_suggested),
        cmocka_unit_test(keys_and_runs_of_a_screen_are_checked_before_it_is_drawn),
        cmocka_unit_test(an_output_that_cannot_be_written_is_reported_before_the_run),
        cmocka_unit_test(no_failure_touches_a_trace_that_is_there),
        cmocka_unit_test(a_disk_that_fills_up_ends_the_recording),
        cmocka_unit_test(what_is_no_trace_is_refused_by_every_command),
        cmocka_unit_test(what_is_no_snapshot_is_refused),
        cmocka_unit_test(a_bomb_is_refused_within_four_times_its_size),
        cmocka_unit_test(a_trace_is_refused_wherever_it_is_cut),
        cmocka_unit_test(a_result_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(nothing_but_text_is_printed_where_no_terminal_is),
        cmocka_unit_test(an_instruction_set_is_known_or_refused),
        cmocka_unit_test(every_wish_to_end_leaves_a_trace_of_what_happened),
        cmocka_unit_test(a_device_too_small_for_the_model_is_an_out_of_memory),
    };

    return cmocka_run_group_tests_name("e2e/bad input", tests, NULL, cleanup);
}
