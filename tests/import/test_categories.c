/*
 * tests/import/test_categories.c - categories of blocks: one test for each rule of docs/formats/import.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "import/derive.h"
#include "tests/import/recording.h"

#define PARALLEL "/p/site-packages/torch/nn/parallel/distributed.py "

/*
 * The category of each block in the order of allocation, those older than the recording first; words with a space
 * between.
 */
static void check(struct recording *r, const char *expected)
{
    struct vs_text text = {NULL, 0, 0};
    struct imp_import import;
    uint64_t bytes = 0;

    recording_import(r, &import);
    imp_derive(&import, &r->list);
    for (size_t i = 0; i < import.event_count; i++) {
        const struct vs_event *event = &import.events[i];

        if (event->kind == VS_EV_ALLOC)
            vs_text_addf(&text, "%s%s", text.len ? " " : "",
                         vs_category_name((enum vs_category)event->alloc.category));
        bytes += event->kind == VS_EV_ALLOC ? event->alloc.requested_bytes : 0;
    }
    if (strcmp(vs_text_get(&text), expected) != 0)
        fail_msg("%s\nshould be\n%s", vs_text_get(&text), expected);
    for (size_t i = 0; i < r->list.event_count; i++)
        bytes -= r->list.events[i].kind == VS_MEM_ALLOC ? r->list.events[i].bytes : 0;
    assert_int_equal(import.start_events ? 0 : bytes, 0); /* nothing was added or lost */
    imp_release(&import);
    recording_release(r);
    vs_text_release(&text);
}

static void the_category_of_a_modules_tensor_follows_from_the_line(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, MOVE("966"));
    recording_alloc(&r, 2, 512, MOVE("1010"));
    recording_alloc(&r, 3, 512, MOVE("1036"));
    recording_alloc(&r, 4, 512,
                    "net.py __init__ 5|train.py main 1"); /* a parameter made on the device */
    recording_alloc(&r, 5, 512, "net.py __init__ 6|train.py main 1"); /* freed at once */
    recording_free(&r, 5, 512, "net.py __init__ 7|train.py main 1");
    recording_alloc(&r, 6, 512, NET);
    check(&r, "parameter gradient buffer parameter temporary activation");
}

static void categories_of_the_forward_follow_from_what_frees_the_block(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, DATA);
    recording_alloc(&r, 2, 512, NET);         /* freed by a node */
    recording_alloc(&r, 3, 512, NET);         /* by Python */
    recording_alloc(&r, 4, 512, "!cpp|" NET); /* by the op that made it */
    recording_free(&r, 4, 512, "!cpp|!op|" NET);
    recording_alloc(&r, 5, 512, "!cpp|!cast|" NET);
    recording_alloc(&r, 6, 512, "!cpp|!workspace|" NET);
    recording_alloc(&r, 7, 512, LOSS);
    recording_free(&r, 3, 512, "train.py main 6");
    recording_alloc(&r, 8, 512, NODE);
    recording_free(&r, 2, 512, "!cpp|!release|!engine");
    recording_free(&r, 7, 512, "!cpp|!engine");
    recording_free(&r, 5, 512, "!cpp|!release|!engine");
    recording_free(&r, 8, 512, NODE);
    recording_alloc(&r, 9, 512, STEP);
    check(&r, "input saved activation temporary cast workspace saved temporary optimizer");
}

/* The backward thread has no frames then; scratch memory of a library is freed at once. */
static void
without_cpp_frames_categories_of_the_forward_follow_from_the_time_of_the_free(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, NET);
    recording_free(&r, 2, 512, NET);
    recording_alloc(&r, 4, 8519680, NET);
    recording_alloc(&r, 3, 4, "/p/site-packages/torch/_tensor.py backward 5|train.py main 7");
    recording_alloc(&r, 5, 512, "");
    recording_free(&r, 1, 512, "");
    recording_free(&r, 3, 4, "/p/site-packages/torch/_tensor.py backward 5|train.py main 7");
    recording_alloc(&r, 6, 512, STEP);
    recording_free(&r, 6, 512, "train.py main 9");
    check(&r, "saved temporary workspace temporary gradient temporary");
}

/* 32 MiB is also what a tensor of 8192 * 1024 floats has. */
static void tensors_with_the_size_of_cublas_workspace_are_no_workspaces(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    const struct vs_mem_facts shape = {.has_tensor = true};

    (void)state;
    recording_alloc(&r, 1, 33554432, DATA); /* its shape was observed */
    recording_alloc(&r, 2, 33554432, LINEAR);
    recording_alloc(&r, 3, 33554432, NET); /* one line keeps two */
    recording_alloc(&r, 4, 33554432, NET);
    r.list.events[0].facts = vs_memlist_add_facts(&r.list, &shape);
    check(&r, "input workspace activation activation");
}

static void a_gradient_outlives_the_backward_that_made_it(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, NODE);
    recording_alloc(&r, 3, 512, NODE);
    recording_free(&r, 3, 512, NODE);
    recording_alloc(&r, 4, 512, GRAD);
    recording_alloc(&r, 5, 4, "/p/site-packages/torch/amp/grad_scaler.py scale 9|train.py main 7");
    recording_alloc(&r, 6, 512, STEP);
    recording_free(&r, 2, 512, ZERO);
    recording_free(&r, 4, 512, ZERO);
    check(&r, "activation gradient temporary gradient other optimizer");
}

/* Out of memory in the second backward: what is still there is what the first made of it. */
static void a_block_that_is_never_freed_gets_the_category_of_its_stack(void **state)
{
    static const char other[] = "!cpp|!engine|!op";
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, NODE);
    recording_free(&r, 1, 512, "!cpp|!release|!engine");
    recording_alloc(&r, 3, 512, other);
    recording_free(&r, 3, 512, other);
    recording_alloc(&r, 4, 512, STEP);
    recording_free(&r, 2, 512, ZERO);
    recording_alloc(&r, 5, 512, NET);
    recording_alloc(&r, 6, 512, NODE);
    recording_alloc(&r, 7, 512, other);
    check(&r, "saved gradient temporary optimizer saved gradient temporary");
}

static void blocks_allocated_in_the_step_and_kept_are_optimizer_state(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, STATE);
    recording_alloc(&r, 3, 512, STEP);
    recording_free(&r, 3, 512, STEP);
    recording_alloc(&r, 4, 512, STEP);
    recording_alloc(&r, 5, 512, ZERO);
    recording_free(&r, 4, 512, "train.py main 9");
    recording_alloc(&r, 6, 512, NET);
    check(&r, "activation optimizer temporary optimizer gradient activation");
}

/* `p.data = p - …`: the old tensor is freed at the line that allocates the new one. */
static void tensors_that_replace_parameters_are_parameters(void **state)
{
    static const char line64[] =
        "mine.py step 64|/p/site-packages/torch/optim/optimizer.py wrapper 9|train.py main 8";
    static const char line51[] =
        "mine.py step 51|/p/site-packages/torch/optim/optimizer.py wrapper 9|train.py main 8";
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, MOVE("966"));
    recording_alloc(&r, 2, 512, "mine.py __init__ 27|train.py main 2");
    for (uint64_t step = 0; step < 2; step++) {
        recording_alloc(&r, 3, 512, "!cpp|" NET);
        recording_free(&r, 3, 512, "!cpp|train.py main 5");
        recording_alloc(&r, 10 + step, 512, line51);
        recording_alloc(&r, 20 + step, 512, line64);
        recording_free(&r, step ? 19 + step : 1, 512,
                       "!cpp|!set_data|mine.py step 64|/p/site-packages/torch/optim/optimizer.py "
                       "wrapper 9|train.py main 8");
    }
    check(&r, "parameter optimizer activation optimizer parameter activation optimizer parameter");
}

static void pre_existing_blocks_are_classified_by_their_free(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_free(&r, 1, 512, ZERO);
    recording_alloc(&r, 10, 512, DATA);
    recording_free(&r, 2, 512, DATA); /* the batch before */
    recording_alloc(&r, 11, 512, NET);
    recording_free(&r, 3, 512, NET);
    recording_alloc(&r, 12, 512, NODE);
    recording_free(&r, 4, 512, "!cpp|!release|!engine");
    recording_alloc(&r, 13, 512, STEP);
    recording_alloc(&r, 14, 512, STEP);
    recording_free(&r, 14, 512, "!cpp|" STEP);
    recording_free(&r, 5, 512, STEP);
    recording_free(&r, 6, 512, "!cpp|!set_data|mine.py step 64|" STEP);
    check(&r, "gradient input activation saved optimizer parameter input activation gradient "
              "optimizer temporary");
}

/* Names that are neither phases nor steps, where the first range of each begins: events 3 and 5 of the trace. */
static void user_annotations_become_marks(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    recording_note(&r, "forward", false);
    recording_alloc(&r, 1, 512, NET);
    recording_note(&r, "attention", false);
    recording_alloc(&r, 2, 512, NET);
    recording_note(&r, "attention", true);
    recording_note(&r, "ProfilerStep#1", false);
    recording_note(&r, "attention", false);
    recording_note(&r, "mlp", false);
    recording_alloc(&r, 3, 512, NET);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    assert_int_equal(import.mark_count, 2);
    assert_string_equal(import.strings[import.marks[0].name - 1], "attention");
    assert_string_equal(import.strings[import.marks[1].name - 1], "mlp");
    assert_int_equal(import.events[import.marks[0].event - 1].alloc.address, 2);
    assert_int_equal(import.events[import.marks[1].event - 1].alloc.address, 3);
    imp_release(&import);
    recording_release(&r);
}

/* The state at the end has a stack for what is there. */
static void pre_existing_blocks_never_freed_are_classified_by_the_state_at_the_end(void **state)
{
    static const char *const STACKS[] = {MOVE("966"), STATE, NET, NODE, "train.py main 2", NULL};
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;
    struct vs_mem_segment *segment;

    (void)state;
    segment = vs_memlist_add_segment(&r.list);
    segment->address = 4096;
    for (size_t i = 0; i < 6; i++) {
        struct vs_mem_block block = {.bytes = 512, .requested = 512, .state = VS_MEM_ALLOCATED};

        recording_alloc(&r, 1, 1, STACKS[i]);
        block.stack = r.list.events[0].stack;
        r.list.event_count = 0;
        vs_memlist_add_block(&r.list, block);
    }
    recording_alloc(&r, 8192, 512, NET);
    recording_import(&r, &import);
    recording_old(&import, 4096, 512, 6);
    imp_derive(&import, &r.list);
    assert_int_equal(import.events[0].alloc.category, VS_CAT_PARAMETER);
    assert_int_equal(import.events[1].alloc.category, VS_CAT_OPTIMIZER);
    assert_int_equal(import.events[2].alloc.category, VS_CAT_ACTIVATION);
    assert_int_equal(import.events[3].alloc.category, VS_CAT_GRADIENT);
    imp_release(&import);
    recording_release(&r);
}

/* A list without stacks has no information on categories. */
static void without_stacks_everything_is_other(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, NULL);
    recording_free(&r, 1, 512, NULL);
    recording_alloc(&r, 2, 512, NULL);
    recording_free(&r, 3, 512, NULL);
    check(&r, "other other other");
}

/* What DistributedDataParallel's own functions in Python allocate is none; nor are numbers that ranks exchange. */
static void buckets_of_distributed_data_parallel_are_gradients(void **state)
{
    struct recording r = {.list = {.events = NULL}};

    (void)state;
    recording_alloc(&r, 1, 512, MOVE("966"));
    recording_alloc(&r, 2, 4096,
                    PARALLEL "_ddp_init_helper 1450|" PARALLEL "__init__ 1091|train.py main 2");
    recording_alloc(&r, 3, 512,
                    PARALLEL "_pre_forward 1797|" PARALLEL "forward 1908|" CALL "|train.py main 5");
    recording_free(&r, 3, 512, NULL);
    recording_alloc(&r, 4, 4096,
                    PARALLEL "_pre_forward 1797|" PARALLEL "forward 1908|" CALL "|train.py main 5");
    recording_free(&r, 2, 4096,
                   PARALLEL "_pre_forward 1797|" PARALLEL "forward 1908|" CALL "|train.py main 5");
    recording_alloc(&r, 5, 512,
                    PARALLEL "_to_kwargs 9|" PARALLEL "_pre_forward 1797|" CALL "|train.py main 5");
    recording_alloc(&r, 6, 512, NODE);
    check(&r, "parameter gradient temporary gradient activation temporary");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_category_of_a_modules_tensor_follows_from_the_line),
        cmocka_unit_test(categories_of_the_forward_follow_from_what_frees_the_block),
        cmocka_unit_test(
            without_cpp_frames_categories_of_the_forward_follow_from_the_time_of_the_free),
        cmocka_unit_test(buckets_of_distributed_data_parallel_are_gradients),
        cmocka_unit_test(tensors_with_the_size_of_cublas_workspace_are_no_workspaces),
        cmocka_unit_test(a_gradient_outlives_the_backward_that_made_it),
        cmocka_unit_test(a_block_that_is_never_freed_gets_the_category_of_its_stack),
        cmocka_unit_test(blocks_allocated_in_the_step_and_kept_are_optimizer_state),
        cmocka_unit_test(tensors_that_replace_parameters_are_parameters),
        cmocka_unit_test(pre_existing_blocks_are_classified_by_their_free),
        cmocka_unit_test(user_annotations_become_marks),
        cmocka_unit_test(pre_existing_blocks_never_freed_are_classified_by_the_state_at_the_end),
        cmocka_unit_test(without_stacks_everything_is_other),
    };

    return cmocka_run_group_tests_name("import/categories", tests, NULL, NULL);
}
