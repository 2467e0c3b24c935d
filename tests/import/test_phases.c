/*
 * tests/import/test_phases.c - phases derived from the code that runs, before and after; steps derived from phases,
 * annotations, calls and repetition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/modules.h"
#include "import/phases.h"
#include "import/steps.h"
#include "tests/import/recording.h"

/* The first letter of each phase (`z` zero_grad, `o` optimizer), and the steps as digits, `-` the setup. */
static void derive(struct recording *r, struct vs_text *phases, struct vs_text *steps,
                   struct imp_steps *about)
{
    static const char LETTERS[] = "sdflboz";
    struct imp_roles roles = {.list = NULL};
    struct imp_phases found;
    struct imp_modules modules;
    struct imp_import import;
    struct imp_steps copy;

    vs_text_clear(phases);
    vs_text_clear(steps);
    recording_import(r, &import);
    imp_roles_fill(&roles, &r->list);
    imp_phases_fill(&found, &r->list, &roles);
    imp_modules_fill(&modules, &import, &r->list, &roles, found.has_free_stacks);
    imp_steps_fill(about, &r->list, &found, modules.calls);
    for (size_t i = 0; i < r->list.event_count; i++) {
        if (r->list.events[i].kind == VS_MEM_FREE_COMPLETED)
            continue;
        vs_text_add_char(phases, LETTERS[found.phases[i]]);
        vs_text_add_char(steps, about->steps[i] < 0 ? '-' : (char)('0' + about->steps[i]));
    }
    copy = *about;
    imp_steps_release(about);
    copy.steps = NULL;
    *about = copy;
    imp_modules_release(&modules);
    imp_phases_release(&found);
    imp_roles_release(&roles);
    imp_release(&import);
}

/* What follows is a program: each word an allocation that is never freed, but for `f…`, a free of one of these. */
static void check(struct recording *r, const char *phases, const char *steps, enum imp_steps_by by)
{
    struct vs_text p = {NULL, 0, 0};
    struct vs_text s = {NULL, 0, 0};
    struct imp_steps about;

    derive(r, &p, &s, &about);
    if (strcmp(vs_text_get(&p), phases) != 0 || strcmp(vs_text_get(&s), steps) != 0 ||
        about.by != by)
        fail_msg("phases %s, steps %s by %s; should be %s, %s by %s", vs_text_get(&p),
                 vs_text_get(&s), imp_steps_by_name(about.by), phases, steps,
                 imp_steps_by_name(by));
    vs_text_release(&p);
    vs_text_release(&s);
    recording_release(r);
}

static void made(struct recording *r, const char *const *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t address = (r->list.event_count + 1) * 512;

        recording_alloc(r, address, 512, stacks[i]);
    }
}

#define MADE(r, ...)                                                                               \
    made(r, (const char *const[]){__VA_ARGS__},                                                    \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_training_run_has_its_phases_and_steps(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, MOVE("966"),
         "train.py main 2"); /* a tensor of the user's, before an optimizer is made */
    MADE(&r, "/p/site-packages/torch/optim/adagrad.py __init__ 5|train.py main 3");
    for (int step = 0; step < 3; step++)
        MADE(&r, DATA, NET, LINEAR, "train.py main 6", LOSS, NODE, NODE, "train.py main 7", STEP,
             ZERO);
    check(&r, "sssdffllbboozdffllbboozdffllbbooz", "---000000000011111111112222222222",
          IMP_STEPS_OPTIMIZER);
}

static void zero_grad_first_belongs_to_the_step_that_it_begins(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    for (int step = 0; step < 2; step++)
        MADE(&r, DATA, ZERO, NET, NODE, STEP);
    check(&r, "dzfbodzfbo", "0000011111", IMP_STEPS_OPTIMIZER);
}

static void what_follows_forward_is_loss_if_zero_grad_comes_before_backward(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    for (int step = 0; step < 2; step++)
        MADE(&r, DATA, NET, "train.py main 6", ZERO, NODE, STEP);
    check(&r, "dflzbodflzbo", "000000111111", IMP_STEPS_OPTIMIZER);
}

static void an_event_without_a_stack_belongs_to_what_ran_before(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, NULL, NET, "/p/site-packages/torch/_tensor.py backward 5|train.py main 7", NULL, NULL,
         STEP, NULL);
    check(&r, "sfbbboo", "-000000", IMP_STEPS_OPTIMIZER);
}

static void frees_that_repeat_the_allocations_stack_do_not_count(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 512, 512, NET);
    recording_alloc(&r, 1024, 512, NODE);
    recording_free(&r, 512, 512, NET); /* its own stack would be backward's */
    recording_alloc(&r, 512, 512, NODE);
    check(&r, "fbbb", "0000", IMP_STEPS_BACKWARD);
    recording_alloc(&r, 512, 512, NET);
    recording_alloc(&r, 1024, 512, NODE);
    recording_free(&r, 512, 512, ZERO);
    check(&r, "fbz", "000", IMP_STEPS_BACKWARD);
}

/* What a destructor frees says only where the user's code stood. */
static void a_free_in_user_code_begins_no_phase(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 512, 512, NET);
    recording_free(&r, 512, 512, "train.py main 9");
    recording_alloc(&r, 512, 512, NET);
    check(&r, "fff", "001", IMP_STEPS_CALLS);
}

static void a_program_without_modules_has_a_forward_too(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, "train.py main 2", "train.py f 3|train.py main 4", "train.py f 4|train.py main 4",
         NODE);
    r.list.events[0].op = vs_memlist_string(&r.list, "randn", 5);
    check(&r, "dffb", "0000", IMP_STEPS_BACKWARD);
}

/* Nothing of it is known by name, but a model was loaded; what repeats is a step. */
static void a_program_of_plain_functions_has_forward_phases(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, MOVE("966"));
    for (int step = 0; step < 3; step++)
        MADE(&r, "gen.py attend 3|train.py main 4", "gen.py mlp 4|train.py main 4");
    check(&r, "sffffff", "-001122", IMP_STEPS_REPETITION);
}

static void annotations_decide_phases_where_stacks_do_not(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_note(&r, "backward", true); /* its beginning was lost */
    for (int step = 0; step < 2; step++) {
        recording_note(&r, "data loading", false);
        MADE(&r, "train.py main 4");
        recording_note(&r, "data loading", true);
        recording_note(&r, "Forward", false);
        MADE(&r, "train.py main 5", NULL);
        recording_note(&r, "Forward", true);
        recording_note(&r, "something else", false);
        MADE(&r, NODE);
        recording_note(&r, "Optimizer.step#SGD.step", false);
        recording_note(&r, "Optimizer.step#SGD.step", true);
    }
    check(&r, "dffbdffb", "00001111", IMP_STEPS_OPTIMIZER);
}

static void steps_follow_the_profilers_annotations(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_note(&r, "ProfilerStep#7", false);
    MADE(&r, NET, STEP);
    recording_note(&r, "ProfilerStep#7", true);
    recording_note(&r, "ProfilerStep#8", false);
    MADE(&r, NET, STEP, NET, STEP);
    check(&r, "fofofo", "001111", IMP_STEPS_PROFILER);
}

static void steps_end_with_backward_where_no_optimizer_is_seen(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, NET, NODE, ZERO, NET, NODE);
    check(&r, "fbzfb", "00011", IMP_STEPS_BACKWARD);
}

/* The model's first line runs again. What is called in other ways each time is no step. */
static void steps_are_calls_of_the_model_where_nothing_else_decides(void **state)
{
    static const char second[] = "net.py forward 12|" CALL "|train.py main 5";
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    MADE(&r, DATA, NET, second, DATA, NET, second, NET, second);
    check(&r, "dffdffff", "00011122", IMP_STEPS_CALLS);
    MADE(&r, NET, second, "net.py forward 9|" CALL "|train.py main 5",
         "net.py forward 40|" CALL "|train.py main 5");
    check(&r, "ffff", "0000", IMP_STEPS_NOT_FOUND);
}

/* 1, 2, 3 and their frees again and again, after something else; least is alive before each 1. */
static void steps_follow_repetition_where_there_are_no_stacks(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 512, 77, NULL);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 1; i <= 3; i++)
            recording_alloc(&r, 512 + 512 * i, i, NULL);
        for (uint64_t i = 1; i <= 3; i++)
            recording_free(&r, 512 + 512 * i, i, NULL);
    }
    check(&r, "sssssssssssssssssss", "0111111222222333333", IMP_STEPS_REPETITION);
}

static void without_repetition_no_steps_are_found(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    for (uint64_t i = 1; i < 9; i++)
        recording_alloc(&r, 512 * i, i * i, NULL);
    check(&r, "ssssssss", "00000000", IMP_STEPS_NOT_FOUND);
    check(&r, "", "", IMP_STEPS_NOT_FOUND);
}

/* Two of four allocations of the second step are the first's, from the same stack and of the same size. */
static void the_similarity_of_steps_is_reported(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct vs_text p = {NULL, 0, 0};
    struct vs_text s = {NULL, 0, 0};
    struct imp_steps about;

    (void)state;
    MADE(&r, NET, STEP, NET, LINEAR, NODE, STEP);
    derive(&r, &p, &s, &about);
    assert_true(about.has_alike);
    assert_int_equal(about.alike, 500);
    vs_text_release(&p);
    vs_text_release(&s);
    recording_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_run_has_its_phases_and_steps),
        cmocka_unit_test(zero_grad_first_belongs_to_the_step_that_it_begins),
        cmocka_unit_test(what_follows_forward_is_loss_if_zero_grad_comes_before_backward),
        cmocka_unit_test(an_event_without_a_stack_belongs_to_what_ran_before),
        cmocka_unit_test(frees_that_repeat_the_allocations_stack_do_not_count),
        cmocka_unit_test(a_free_in_user_code_begins_no_phase),
        cmocka_unit_test(a_program_without_modules_has_a_forward_too),
        cmocka_unit_test(a_program_of_plain_functions_has_forward_phases),
        cmocka_unit_test(annotations_decide_phases_where_stacks_do_not),
        cmocka_unit_test(steps_follow_the_profilers_annotations),
        cmocka_unit_test(steps_end_with_backward_where_no_optimizer_is_seen),
        cmocka_unit_test(steps_are_calls_of_the_model_where_nothing_else_decides),
        cmocka_unit_test(steps_follow_repetition_where_there_are_no_stacks),
        cmocka_unit_test(without_repetition_no_steps_are_found),
        cmocka_unit_test(the_similarity_of_steps_is_reported),
    };

    return cmocka_run_group_tests_name("import/phases", tests, NULL, NULL);
}
