/*
 * tests/programs/faults/test_faults.c - fifty programs with one mistake each: the report names its line without being
 * asked, and does not name it once it is repaired.
 *
 * The line is marked `# fault: KIND`, and the comment below it, `# repaired: …`, is what belongs there. In `make test`
 * a few of them are recorded; VRAMSCOPE_ALL_FAULTS=1 (`make test-programs`) takes all, and of these at least NAMED_MIN
 * must be named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tests/programs/corpus.h"

#define FOLDER "tests/programs/faults/"
#define PROGRAMS 50
#define NAMED_MIN 48
#define FAULT "  # fault: "
#define REPAIRED "# repaired: "

/* One of each kind that one process has. */
static const char *const SOME[] = {
    "leak/list_of_losses",     "cycle/function_of_itself",           "view/last_token",
    "no_grad/validation",      "fragmentation/lengths_of_sentences", "copy/second_model",
    "spike/checkpoint_to_gpu",
};

static bool takes_all(void)
{
    const char *all = getenv("VRAMSCOPE_ALL_FAULTS");

    return all && *all;
}

static char *file_read(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char part[4096];
    size_t n;

    assert_non_null(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    fclose(file);
    return vs_text_take(&text);
}

/*
 * Write the program without its marks, as it is or with the line repaired, into the test's folder. Returns the number
 * of the line.
 */
static int program_write(const char *name, bool is_repaired, const char *path)
{
    struct vs_text from = {NULL, 0, 0};
    struct vs_text to = {NULL, 0, 0};
    const char *mark;
    const char *line;
    const char *repaired;
    char *text;
    FILE *file;
    int number = 1;

    vs_text_addf(&from, FOLDER "%s.py", name);
    text = file_read(vs_text_get(&from));
    mark = strstr(text, FAULT);
    repaired = strstr(text, REPAIRED);
    assert_non_null(mark);
    assert_non_null(repaired);
    for (const char *p = text; p < mark; p++)
        number += *p == '\n';
    for (line = mark; line > text && line[-1] != '\n';)
        line--;
    vs_text_add_n(&to, text, (size_t)(line - text));
    if (is_repaired) {
        vs_text_add_n(&to, line, strspn(line, " "));
        vs_text_add_n(&to, repaired + strlen(REPAIRED), strcspn(repaired + strlen(REPAIRED), "\n"));
    } else {
        vs_text_add_n(&to, line, (size_t)(mark - line));
    }
    vs_text_add(&to, "\n\n");
    repaired += strcspn(repaired, "\n");
    vs_text_add(&to, *repaired ? repaired + 1 : repaired);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(vs_text_get(&to), 1, to.len, file), to.len);
    assert_int_equal(fclose(file), 0);
    vs_text_release(&from);
    vs_text_release(&to);
    vs_free(text);
    return number;
}

static bool is_of_ranks(const char *name)
{
    return strncmp(name, "rank_skew/", 10) == 0;
}

static struct program program_record_it(const char *name, const char *path, const char *trace)
{
    const char *python = corpus_python(NULL);

    if (is_of_ranks(name))
        return program_run("record", "--gpu", CORPUS_GPU, "-f", "-o", trace, "--", python, "-m",
                           "torch.distributed.run", "--standalone", "--nproc-per-node", "2", path,
                           NULL);
    return program_run("record", "--gpu", CORPUS_GPU, "-f", "-o", trace, "--", python, path, NULL);
}

/*
 * Whether a likely mistake of the report has this line. program: "KIND/NAME"; `said`: what the report says of mistakes.
 */
static bool is_named(const char *program, bool is_repaired, struct vs_text *said)
{
    struct vs_text file = {NULL, 0, 0};
    struct vs_text where = {NULL, 0, 0};
    const char *name = strchr(program, '/') + 1;
    const char *trace = program_path("trace.db");
    const char *path;
    struct program p;
    struct program report;
    char *mistakes;
    int line;
    bool found;

    vs_text_addf(&file, "%s.py", name);
    path = program_path(vs_text_get(&file));
    line = program_write(program, is_repaired, path);
    p = program_record_it(program, path, trace);
    if (p.status)
        fail_msg("%s: status %d: %s%s", name, p.status, p.out, p.err);
    report = program_run("report", trace, "--json", is_of_ranks(program) ? "--ranks" : NULL, NULL);
    assert_int_equal(report.status, 0);
    mistakes = json_text(report.out, "$.mistakes");
    vs_text_addf(&where, "\"%s.py:%d\"", name, line);
    found = mistakes && strstr(mistakes, vs_text_get(&where)) != NULL;
    vs_text_addf(said, "%s:%d: %s", name, line, mistakes ? mistakes : "nothing");
    free(mistakes);
    program_release(&p);
    program_release(&report);
    vs_text_release(&file);
    vs_text_release(&where);
    return found;
}

static int check(const char *name, struct vs_text *missed)
{
    struct vs_text said = {NULL, 0, 0};
    const bool found = is_named(name, false, &said);

    if (!found)
        vs_text_addf(missed, "%s\n", vs_text_get(&said));
    vs_text_clear(&said);
    if (is_named(name, true, &said))
        fail_msg("accused once repaired: %s", vs_text_get(&said));
    vs_text_release(&said);
    return found;
}

static void the_line_of_a_mistake_is_named(void **state)
{
    struct vs_text missed = {NULL, 0, 0};
    int named = 0;

    (void)state;
    corpus_python(NULL);
    if (!takes_all()) {
        for (size_t i = 0; i < sizeof(SOME) / sizeof(SOME[0]); i++)
            named += check(SOME[i], &missed);
        if (missed.len)
            fail_msg("not named:\n%s", vs_text_get(&missed));
    } else {
        glob_t all;

        assert_int_equal(glob(FOLDER "*/*.py", 0, NULL, &all), 0);
        assert_int_equal(all.gl_pathc, PROGRAMS);
        for (size_t i = 0; i < all.gl_pathc; i++) {
            char *name = strdup(all.gl_pathv[i] + strlen(FOLDER));

            name[strlen(name) - strlen(".py")] = '\0';
            named += check(name, &missed);
            free(name);
        }
        globfree(&all);
        if (named < NAMED_MIN)
            fail_msg("%d of %d named; not these:\n%s", named, PROGRAMS, vs_text_get(&missed));
        print_message("%d of %d named; not these:\n%s", named, PROGRAMS, vs_text_get(&missed));
    }
    vs_text_release(&missed);
}

/* No backward frees what these graphs saved. */
static void tensors_that_grow_are_named_with_what_their_graphs_keep(void **state)
{
    static const char PROGRAM[] =
        "import torch\n"
        "from torch import nn\n\n"
        "model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()\n\n\n"
        "def main(history):\n"
        "    for _ in range(8):\n"
        "        x = torch.randn(128, 512, device=\"cuda\")\n"
        "        history.append(model(x).sum())\n\n\n"
        "main([])\n";
    const char *path = program_file("validation.py", PROGRAM);
    const char *trace = program_path("trace.db");
    struct program p = program_record_it("leak/validation", path, trace);
    struct program report;
    char *text;

    (void)state;
    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    report = program_run("report", trace, "--json", NULL);
    text = json_text(report.out, "$.mistakes[0].text");
    /* the input, 128 x 512 floats, and the output of ReLU, 128 x 1,024: 768 KiB, of each of 5 */
    if (!text || !strstr(text, "`history` of main") || !strstr(text, "5 after 6 calls") ||
        !strstr(text, "3.8 MiB saved by their graphs") || !strstr(text, ".detach()"))
        fail_msg("the list is said to be: %s", text ? text : report.out);
    free(text);
    program_release(&p);
    program_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_that_grow_are_named_with_what_their_graphs_keep),
        cmocka_unit_test(the_line_of_a_mistake_is_named),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
