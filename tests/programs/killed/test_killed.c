/*
 * tests/programs/killed/test_killed.c - a program that is killed leaves what was saved of its history while it ran, and
 * saving changes no event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/programs/corpus.h"

#define SCRIPT "tests/programs/killed/killed.py"

/* Record the script with `every` seconds between two saves, as the trace `name`. */
static struct program record_saved(const char *every, const char *name, const char *argument)
{
    struct program p;

    setenv("VRAMSCOPE_SAVE_EVERY", every, 1);
    p = program_run("record", "--gpu", CORPUS_GPU, "-o", program_path(name), "--",
                    corpus_python(NULL), SCRIPT, argument, NULL);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    return p;
}

static void whole_record(const char *every, const char *name)
{
    struct program p = record_saved(every, name, NULL);

    if (p.status != 0)
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    program_release(&p);
}

static void saving_changes_no_event(void **state)
{
    (void)state;
    whole_record("0", "whole.db");
    whole_record("0.01", "saved.db");
    corpus_events_compare(SCRIPT, program_path("whole.db"), program_path("saved.db"));
}

static void a_killed_program_leaves_the_first_events_of_the_whole(void **state)
{
    struct program p;
    char *difference;
    char *json;

    (void)state;
    corpus_python(NULL);
    if (!program_count("whole.db"))
        whole_record("0", "whole.db");
    p = record_saved("0.01", "killed.db", "kill");
    if (p.status != 137 || !strstr(p.err, " s before the end, "))
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    program_release(&p);
    difference = corpus_events_difference(program_path("whole.db"), program_path("killed.db"));
    if (difference && (strncmp(difference, "row 0 ", 6) == 0 ||
                       !strstr(difference, "in the second recording `no more`")))
        fail_msg("%s", difference);
    vs_free(difference);
    json = corpus_report(program_path("killed.db"));
    assert_int_equal(json_int(json, "$.complete"), 0);
    assert_true(json_int(json, "$.peak.allocated") > 0);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saving_changes_no_event),
        cmocka_unit_test(a_killed_program_leaves_the_first_events_of_the_whole),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
