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

#include "base/mem.h"
#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/programs/corpus.h"
#include "tests/skip.h"

#define TOGGLES_MAX 14

/* A script, and the toggles that it has a place for, NULL-ended. */
struct script {
    const char *name;
    const char *toggles[TOGGLES_MAX];
};

static const struct script SCRIPTS[] = {
    {"mlp",
     {"amp=bf16", "amp=fp16", "half=on", "inplace=on", "optimizer=momentum", "foreach=off",
      "zero-grad=zeros", "freeze=0", "empty-cache=step", "offload=activations"}},
    {"convnet",
     {"amp=bf16", "checkpoint=blocks", "batch=8", "accumulate=2", "optimizer=adamw", "freeze=stem",
      "half=on", "zero-grad=zeros", "offload=activations", "checkpoint=selective"}},
    {"encoder",
     {"amp=fp16", "checkpoint=blocks", "offload=activations", "accumulate=2", "optimizer=sgd",
      "freeze=embed", "inplace=on", "foreach=off", "empty-cache=step", "batch=4",
      "checkpoint=selective"}},
    {"autoencoder",
     {"amp=bf16", "amp=fp16", "inplace=on", "optimizer=sgd", "foreach=off", "zero-grad=zeros",
      "freeze=encoder", "empty-cache=step", "offload=activations"}},
    {"gan",
     {"amp=bf16", "amp=fp16", "optimizer=adamw", "foreach=off", "zero-grad=zeros", "freeze=0",
      "inplace=on", "empty-cache=step", "offload=activations"}},
    {"siamese",
     {"amp=bf16", "checkpoint=blocks", "batch=16", "accumulate=2", "optimizer=adam", "foreach=off",
      "inplace=on", "empty-cache=step", "offload=activations"}},
    {"schedule",
     {"amp=bf16", "amp=fp16", "checkpoint=blocks", "inplace=on", "optimizer=adam", "foreach=off",
      "checkpoint=selective", "freeze=embed", "empty-cache=step", "zero-grad=zeros",
      "offload=activations"}},
    {"unet",
     {"amp=bf16", "checkpoint=blocks", "batch=2", "inplace=on", "optimizer=momentum", "foreach=off",
      "freeze=down", "zero-grad=zeros", "offload=activations"}},
    {"regression",
     {"amp=bf16", "amp=fp16", "inplace=on", "optimizer=adam", "foreach=off", "zero-grad=zeros",
      "freeze=layers.0", "empty-cache=step", "offload=activations"}},
    {"recurrent",
     {"amp=bf16", "inplace=on", "optimizer=sgd", "foreach=off", "zero-grad=zeros", "freeze=embed",
      "empty-cache=step", "optimizer=adamw", "offload=activations"}},
};
#define SCRIPT_COUNT (sizeof(SCRIPTS) / sizeof(SCRIPTS[0]))

/*
 * One toggle of each script, another one each time. VRAMSCOPE_ALL_TOGGLES=1: all of them (`make test-programs`);
 * another value is the one to compare, such as amp=bf16, or the script of which to compare all, such as unet.
 */
static bool is_wanted(size_t script, size_t toggle)
{
    const char *all = getenv("VRAMSCOPE_ALL_TOGGLES");
    const char *name = SCRIPTS[script].toggles[toggle];

    return all ? !strcmp(all, "1") || !strcmp(all, name) || !strcmp(all, SCRIPTS[script].name)
               : toggle == script % 8;
}

/* What whatif.db and trace.db differ in is added to `out`. */
static void difference_add(const char *name, struct vs_text *out)
{
    char *difference =
        corpus_events_difference(program_path("whatif.db"), program_path("trace.db"));

    print_message("%s: %s\n", name, difference ? difference : "equal");
    if (difference)
        vs_text_addf(out, "%s: %s\n", name, difference);
    vs_free(difference);
}

/* Each of these variables names a folder of its own for `whose` runs. */
static void caches_set(const char *whose, const char *const *variables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[80];

        snprintf(name, sizeof(name), "%s.%s", whose, variables[i]);
        setenv(variables[i], program_path(name), 1);
    }
}

/* What differs is added to `out`. */
static void toggle_check(const char *name, const char *toggle, struct vs_text *out)
{
    char command[160];
    struct program p;

    snprintf(command, sizeof(command), "toggles/%s %s", name, toggle);
    remove(program_path("whatif.db"));
    p = program_run("whatif", program_path("plain.db"), "--rerun", "--set", toggle, "-o",
                    program_path("whatif.db"), NULL);
    if (p.status != 0 || strstr(p.out, "not applied")) {
        vs_text_addf(out, "%s: status %d: %s%s\n", toggle, p.status, p.out, p.err);
        program_release(&p);
        return;
    }
    program_release(&p);
    p = corpus_record(command, 0, CORPUS_GPU);
    program_release(&p);
    snprintf(command, sizeof(command), "%s %s", name, toggle);
    difference_add(command, out);
}

static bool is_any_wanted(size_t script)
{
    for (size_t k = 0; k < TOGGLES_MAX && SCRIPTS[script].toggles[k]; k++)
        if (is_wanted(script, k))
            return true;
    return false;
}

/* state: the script. All its toggles are tried before it fails. */
static void a_what_if_of_a_program_is_the_script_with_the_toggle_written_in(void **state)
{
    const struct script *script = *state;
    struct vs_text differences = {NULL, 0, 0};
    char command[80];
    struct program p;
    size_t compared = 0;

    if (!is_any_wanted((size_t)(script - SCRIPTS)))
        return;
    snprintf(command, sizeof(command), "toggles/%s", script->name);
    p = corpus_record(command, 0, CORPUS_GPU);
    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("plain.db")), 0);
    for (size_t k = 0; k < TOGGLES_MAX && script->toggles[k]; k++) {
        if (!is_wanted((size_t)(script - SCRIPTS), k))
            continue;
        toggle_check(script->name, script->toggles[k], &differences);
        compared++;
    }
    print_message("%s: toggles compared: %zu\n", script->name, compared);
    if (differences.len)
        fail_msg("%s:\n%s", script->name, vs_text_get(&differences));
    vs_text_release(&differences);
}

/*
 * Inductor measures kernels the first time that it compiles them, and then takes them from its caches: the events of
 * the two are others. So both runs begin with empty caches, and then both run with what is in them.
 */
static void a_compiled_what_if_is_the_compiled_script(void **state)
{
    static const char *const CACHES[] = {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"};
    struct vs_text differences = {NULL, 0, 0};
    struct program p;

    (void)state;
    if (!getenv("VRAMSCOPE_ALL_TOGGLES"))
        tests_skip("it compiles four times: VRAMSCOPE_ALL_TOGGLES is not set");
    corpus_python("triton");
    if (system("command -v gcc >/dev/null || command -v clang >/dev/null") != 0)
        tests_skip("torch.compile needs a C compiler");
    p = corpus_record("toggles/mlp", 0, CORPUS_GPU);
    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("plain.db")), 0);
    for (int is_warm = 0; is_warm < 2; is_warm++) {
        remove(program_path("whatif.db"));
        caches_set("whatif", CACHES, sizeof(CACHES) / sizeof(CACHES[0]));
        p = program_run("whatif", program_path("plain.db"), "--rerun", "--set", "compile=on", "-o",
                        program_path("whatif.db"), NULL);
        if (p.status != 0 || strstr(p.out, "not applied"))
            fail_msg("status %d: %s%s", p.status, p.out, p.err);
        program_release(&p);
        caches_set("hand", CACHES, sizeof(CACHES) / sizeof(CACHES[0]));
        p = corpus_record("toggles/mlp compile=on", 0, CORPUS_GPU);
        program_release(&p);
        difference_add(is_warm ? "mlp compile=on, from the caches" : "mlp compile=on",
                       &differences);
    }
    for (size_t i = 0; i < sizeof(CACHES) / sizeof(CACHES[0]); i++)
        unsetenv(CACHES[i]);
    if (differences.len)
        fail_msg("%s", vs_text_get(&differences));
    vs_text_release(&differences);
}

/* What has no place in a script is named. */
static void a_toggle_without_a_place_in_the_script_says_why(void **state)
{
    struct program p = corpus_record("toggles/mlp", 0, CORPUS_GPU);

    (void)state;
    program_release(&p);
    p = program_run("whatif", program_path("trace.db"), "--rerun", "--set", "batch=4", "--set",
                    "freeze=nowhere", "--set", "checkpoint-impl=reentrant", "--set", "compile=off",
                    "--set", "world=4", "--json", NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    if (!strstr(p.out,
                "batch 4: the script makes no torch.utils.data.DataLoader with a batch size") ||
        !strstr(p.out, "freeze nowhere: the model has no module 'nowhere' (0, 1, 2, 3, 4)") ||
        !strstr(p.out, "checkpoint-impl reentrant: nothing is checkpointed") ||
        !strstr(p.out, "compile off: the script calls no torch.compile") ||
        !strstr(p.out, "world 4: the script makes no group of processes"))
        fail_msg("%s", p.out);
    assert_int_equal(json_int(p.out, "$.delta_allocated"), 0);
    program_release(&p);
}

/* The bytes that the ops of a trace read and write. */
static int64_t bytes_moved(const char *report)
{
    int64_t sum = 0;

    for (size_t i = 0;; i++) {
        char path[64];
        char *op;

        snprintf(path, sizeof(path), "$.traffic[%zu].op", i);
        op = json_text(report, path);
        if (!op)
            return sum;
        free(op);
        snprintf(path, sizeof(path), "$.traffic[%zu].bytes", i);
        sum += json_int(report, path);
    }
}

/* Each change alone that advise lists has the figures of the script with the toggle written in. */
static void advice_has_the_figures_of_the_script_with_the_toggle(void **state)
{
    struct program advise, p;
    size_t alone = 0;
    char *label;

    (void)state;
    if (!getenv("VRAMSCOPE_ALL_TOGGLES"))
        tests_skip("it runs a script some thirty times: VRAMSCOPE_ALL_TOGGLES is not set");
    p = corpus_record("toggles/mlp", 0, CORPUS_GPU);
    program_release(&p);
    setenv("WAIT_S", "1800", 0);
    advise = program_run("advise", program_path("trace.db"), "--rerun", "--json", NULL);
    if (advise.status != 0)
        fail_msg("status %d: %s", advise.status, advise.err);
    for (size_t i = 0;; i++, free(label)) {
        char path[64], command[128];
        char *report;

        snprintf(path, sizeof(path), "$.advice[%zu].label", i);
        label = json_text(advise.out, path);
        if (!label)
            break;
        /* several together, or half of the parameters: hand.py freezes a module */
        if (strchr(label, ' ') || strcmp(label, "freeze=half") == 0)
            continue;
        alone++;
        snprintf(command, sizeof(command), "toggles/mlp %s", label);
        p = corpus_record(command, 0, CORPUS_GPU);
        program_release(&p);
        report = corpus_report(program_path("trace.db"));
        snprintf(path, sizeof(path), "$.advice[%zu].peak", i);
        assert_int_equal(json_int(advise.out, path), json_int(report, "$.peak.allocated"));
        snprintf(path, sizeof(path), "$.advice[%zu].moved", i);
        assert_int_equal(json_int(advise.out, path), bytes_moved(report));
        free(report);
    }
    if (alone < 3)
        fail_msg("advice: %s", advise.out);
    program_release(&advise);
}

int main(void)
{
    struct CMUnitTest tests[SCRIPT_COUNT + 3];
    char names[SCRIPT_COUNT][96];

    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        snprintf(names[i], sizeof(names[i]),
                 "a_what_if_of_%s_is_the_script_with_the_toggle_written_in", SCRIPTS[i].name);
        tests[i] = (struct CMUnitTest){
            names[i], a_what_if_of_a_program_is_the_script_with_the_toggle_written_in, NULL, NULL,
            (void *)(uintptr_t)&SCRIPTS[i]};
    }
    tests[SCRIPT_COUNT] =
        (struct CMUnitTest)cmocka_unit_test(a_toggle_without_a_place_in_the_script_says_why);
    tests[SCRIPT_COUNT + 1] =
        (struct CMUnitTest)cmocka_unit_test(a_compiled_what_if_is_the_compiled_script);
    tests[SCRIPT_COUNT + 2] =
        (struct CMUnitTest)cmocka_unit_test(advice_has_the_figures_of_the_script_with_the_toggle);
    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
