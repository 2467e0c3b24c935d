/*
 * tests/programs/toggles/test_toggles.c - the what-if of a program equals recording the same script with the toggle
 * written in by hand, event for event.
 *
 * Each script of this folder is recorded plain; `whatif` runs it again with a toggle applied from outside; and it is
 * recorded with the toggle as its argument, which hand.py writes in by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"
#include "tests/programs/corpus.h"

#define TOGGLES_MAX 12

/* A script, and the toggles that it has a place for, NULL-ended. */
struct script {
    const char *name;
    const char *toggles[TOGGLES_MAX];
};

static const struct script SCRIPTS[] = {
    {"mlp",
     {"amp=bf16", "amp=fp16", "half=on", "inplace=on", "optimizer=momentum", "foreach=off",
      "zero-grad=zeros", "freeze=0", "empty-cache=step"}},
    {"convnet",
     {"amp=bf16", "checkpoint=blocks", "batch=8", "accumulate=2", "optimizer=adamw", "freeze=stem",
      "half=on", "zero-grad=zeros"}},
    {"encoder",
     {"amp=fp16", "checkpoint=blocks", "batch=4", "accumulate=2", "optimizer=sgd", "freeze=embed",
      "inplace=on", "foreach=off", "empty-cache=step"}},
    {"autoencoder",
     {"amp=bf16", "amp=fp16", "inplace=on", "optimizer=sgd", "foreach=off", "zero-grad=zeros",
      "freeze=encoder", "empty-cache=step"}},
    {"gan",
     {"amp=bf16", "amp=fp16", "optimizer=adamw", "foreach=off", "zero-grad=zeros", "freeze=0",
      "inplace=on", "empty-cache=step"}},
    {"siamese",
     {"amp=bf16", "checkpoint=blocks", "batch=16", "accumulate=2", "optimizer=adam", "foreach=off",
      "inplace=on", "empty-cache=step"}},
    {"schedule",
     {"amp=bf16", "amp=fp16", "checkpoint=blocks", "inplace=on", "optimizer=adam", "foreach=off",
      "zero-grad=zeros", "freeze=embed", "empty-cache=step"}},
    {"unet",
     {"amp=bf16", "checkpoint=blocks", "batch=2", "inplace=on", "optimizer=momentum", "foreach=off",
      "freeze=down", "zero-grad=zeros"}},
    {"regression",
     {"amp=bf16", "amp=fp16", "inplace=on", "optimizer=adam", "foreach=off", "zero-grad=zeros",
      "freeze=layers.0", "empty-cache=step"}},
    {"recurrent",
     {"amp=bf16", "inplace=on", "optimizer=sgd", "foreach=off", "zero-grad=zeros", "freeze=embed",
      "empty-cache=step", "optimizer=adamw"}},
};
#define SCRIPT_COUNT (sizeof(SCRIPTS) / sizeof(SCRIPTS[0]))

/* One toggle of each script, another one each time, unless all are asked for (`make test-programs`). */
static bool is_wanted(size_t script, size_t toggle)
{
    return toggle == script % 8 || getenv("VRAMSCOPE_ALL_TOGGLES");
}

static void toggle_check(const char *name, const char *toggle)
{
    char command[160];
    struct program p;

    remove(program_path("whatif.db"));
    p = program_run("whatif", program_path("plain.db"), "--rerun", "--set", toggle, "-o",
                    program_path("whatif.db"), NULL);
    if (p.status != 0)
        fail_msg("%s, %s: status %d: %s%s", name, toggle, p.status, p.out, p.err);
    if (strstr(p.out, "not applied"))
        fail_msg("%s, %s: %s", name, toggle, p.out);
    program_release(&p);
    snprintf(command, sizeof(command), "toggles/%s %s", name, toggle);
    p = corpus_record(command, 0, CORPUS_GPU);
    program_release(&p);
    corpus_events_compare(command, program_path("whatif.db"), program_path("trace.db"));
}

static void script_check(size_t i)
{
    const struct script *script = &SCRIPTS[i];
    char command[80];
    struct program p;

    snprintf(command, sizeof(command), "toggles/%s", script->name);
    p = corpus_record(command, 0, CORPUS_GPU);
    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("plain.db")), 0);
    for (size_t k = 0; k < TOGGLES_MAX && script->toggles[k]; k++)
        if (is_wanted(i, k))
            toggle_check(script->name, script->toggles[k]);
}

static void a_what_if_of_a_program_is_the_script_with_the_toggle_written_in(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        script_check(i);
}

/* What has no place in a script is named. */
static void a_toggle_without_a_place_in_the_script_says_why(void **state)
{
    struct program p = corpus_record("toggles/mlp", 0, CORPUS_GPU);

    (void)state;
    program_release(&p);
    p = program_run("whatif", program_path("trace.db"), "--rerun", "--set", "batch=4", "--set",
                    "freeze=nowhere", "--json", NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    if (!strstr(p.out,
                "batch 4: the script makes no torch.utils.data.DataLoader with a batch size") ||
        !strstr(p.out, "freeze nowhere: the model has no module 'nowhere' (0, 1, 2, 3, 4)"))
        fail_msg("%s", p.out);
    assert_int_equal(json_int(p.out, "$.delta_allocated"), 0);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_what_if_of_a_program_is_the_script_with_the_toggle_written_in),
        cmocka_unit_test(a_toggle_without_a_place_in_the_script_says_why),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
