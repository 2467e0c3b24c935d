/*
 * tests/import/test_modules.c - module paths derived from files and lines, and the numbering of calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "import/modules.h"
#include "tests/import/recording.h"

#define MODULE "/p/site-packages/torch/nn/modules/"
#define TRAIN "train.py main 5"

/* The paths of one allocation a stack, in order, with a space between; "-" none. */
static void check(const char *expected, const char *const *stacks, size_t count)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_roles roles = {.list = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct imp_modules modules;
    struct imp_import import;

    for (size_t i = 0; i < count; i++)
        recording_alloc(&r, i + 1, 512, stacks[i]);
    recording_import(&r, &import);
    imp_roles_fill(&roles, &r.list);
    imp_modules_fill(&modules, &import, &r.list, &roles, true);
    for (size_t i = 0; i < count; i++) {
        vs_text_add(&text, i ? " " : "");
        vs_text_add(&text, modules.paths[i] ? import.strings[modules.paths[i] - 1] : "-");
    }
    if (strcmp(vs_text_get(&text), expected) != 0)
        fail_msg("%s\nshould be\n%s", vs_text_get(&text), expected);
    imp_modules_release(&modules);
    imp_roles_release(&roles);
    imp_release(&import);
    recording_release(&r);
    vs_text_release(&text);
}

#define CHECK(expected, ...)                                                                       \
    check(expected, (const char *const[]){__VA_ARGS__},                                            \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_module_path_consists_of_files_and_calling_lines(void **state)
{
    (void)state;
    CHECK("net:5 net:5.linear:10 - -", NET, LINEAR, "train.py main 6", NODE);
    /* a wrapper of PyTorch's between the caller and the call says nothing */
    CHECK("net:5", "net.py forward 9|" CALL
                   "|/p/site-packages/torch/_dynamo/eval_frame.py _fn 574|" CALL "|" TRAIN);
    /* a module without a forward of its own that is known by name */
    CHECK("block:5", "block.py __call__ 9|" CALL "|" TRAIN);
}

#define LAYER(line) "layer.py forward " line "|" CALL "|net.py forward 20|" CALL "|" TRAIN

/* One line of the net calls three layers; each is back at its first line. */
static void the_calls_of_a_loop_are_numbered(void **state)
{
    (void)state;
    CHECK("net:5.layer:20.0 net:5.layer:20.0 net:5.layer:20.1 net:5.layer:20.1 net:5.layer:20.2",
          LAYER("3"), LAYER("4"), LAYER("3"), LAYER("4"), LAYER("3"));
    /* a loop inside of one layer is no new call */
    CHECK("net:5.layer:20 net:5.layer:20 net:5.layer:20 net:5.layer:20", LAYER("3"), LAYER("5"),
          LAYER("4"), LAYER("5"));
}

#define CHILD(file)                                                                                \
    MODULE file " forward 9|" CALL "|" MODULE "container.py forward 250|" CALL                     \
                "|net.py forward 7|" CALL "|" TRAIN

static void the_modules_of_a_sequential_are_numbered(void **state)
{
    (void)state;
    CHECK("net:5.container:7.conv:250.0 net:5.container:7.batchnorm:250.1 "
          "net:5.container:7.conv:250.2",
          CHILD("conv.py"), CHILD("batchnorm.py"), CHILD("conv.py"));
}

/* The caller itself made something in between, so the first call was over. */
static void two_calls_from_one_line_are_distinguished_by_work_between_them(void **state)
{
    (void)state;
    CHECK("net:5.linear:10.0 net:5 net:5.linear:10.1", LINEAR, NET, LINEAR);
    CHECK("net:5.linear:10 net:5.linear:10", LINEAR, LINEAR);
}

/* The model is called again: its layers count from 0 again. What ran in between ended it. */
static void call_numbers_restart_with_each_call_of_the_caller(void **state)
{
    (void)state;
    CHECK("net:5.layer:20.0 net:5.layer:20.0 net:5.layer:20.1 - net:5.layer:20.0 net:5.layer:20.0 "
          "net:5.layer:20.1",
          LAYER("3"), LAYER("4"), LAYER("3"), NODE, LAYER("3"), LAYER("4"), LAYER("3"));
}

/* A checkpoint hands the call on: the innermost forward is the module's, one of a Function is none. */
static void a_forwarding_wrapper_is_not_the_module(void **state)
{
    (void)state;
    CHECK("block:5", "block.py forward 9|/p/site-packages/torch/utils/checkpoint.py checkpoint 500|"
                     "wrap.py forward 8|" CALL "|" TRAIN);
    CHECK("block:5", "fn.py forward 3|/p/site-packages/torch/autograd/function.py apply 575|"
                     "block.py forward 9|" CALL "|" TRAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_path_consists_of_files_and_calling_lines),
        cmocka_unit_test(the_calls_of_a_loop_are_numbered),
        cmocka_unit_test(the_modules_of_a_sequential_are_numbered),
        cmocka_unit_test(two_calls_from_one_line_are_distinguished_by_work_between_them),
        cmocka_unit_test(call_numbers_restart_with_each_call_of_the_caller),
        cmocka_unit_test(a_forwarding_wrapper_is_not_the_module),
    };

    return cmocka_run_group_tests_name("import/modules", tests, NULL, NULL);
}
