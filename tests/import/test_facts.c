/*
 * tests/import/test_facts.c - what was observed of a program's allocations becomes tensors, places and phases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/dtype.h"
#include "import/derive.h"
#include "tests/import/recording.h"

/* The last event of the recording has these. */
static void observe(struct recording *r, const char *op, const char *module, uint8_t phase,
                    const char *name, int64_t rows)
{
    struct vs_memlist *list = &r->list;
    struct vs_mem_facts facts = {
        .op = vs_memlist_string(list, op, SIZE_MAX),
        .module = module ? vs_memlist_string(list, module, SIZE_MAX) : 0,
        .has_module = module != NULL,
        .name = vs_memlist_string(list, name, SIZE_MAX),
        .phase = phase,
        .has_tensor = rows > 0,
        .tensor = {.dtype = VS_F32, .ndim = 2, .sizes = {rows, 4}, .strides = {4, 1}},
    };
    struct vs_mem_event *event = &list->events[list->event_count - 1];

    event->facts = vs_memlist_add_facts(list, &facts);
    event->op = facts.op;
}

static const char *text_of(const struct imp_import *import, uint32_t id)
{
    return id ? import->strings[id - 1] : "(none)";
}

/* The allocation of a block. */
static const struct vs_event *alloc_of(const struct imp_import *import, uint64_t block)
{
    for (size_t i = 0; i < import->event_count; i++)
        if (import->events[i].kind == VS_EV_ALLOC && import->events[i].alloc.block == block)
            return &import->events[i];
    fail_msg("block %d has no allocation", (int)block);
    return NULL;
}

static const struct vs_location *location_of(const struct imp_import *import, uint64_t block)
{
    return &import->locations[alloc_of(import, block)->location - 1];
}

static void a_block_gets_shape_name_module_op_and_phase(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;
    const struct vs_tensor_desc *tensor;

    (void)state;
    recording_alloc(&r, 1, 512, DATA);
    observe(&r, "to", NULL, 0, "fc.weight", 8);
    r.list.events[0].category = VS_CAT_PARAMETER + 1;
    recording_alloc(&r, 2, 512, NET);
    observe(&r, "linear", "fc", VS_PHASE_FORWARD + 1, "", 2);
    recording_alloc(&r, 3, 512, NET);
    observe(&r, "relu", "", VS_PHASE_FORWARD + 1, "", 0);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    assert_int_equal(import.tensor_count, 2);
    assert_int_equal(alloc_of(&import, 1)->alloc.tensor, 1);
    assert_int_equal(alloc_of(&import, 1)->alloc.category, VS_CAT_PARAMETER);
    assert_int_equal(alloc_of(&import, 2)->alloc.tensor, 2);
    assert_int_equal(alloc_of(&import, 3)->alloc.tensor, 0);
    tensor = &import.tensors[0];
    assert_int_equal(tensor->block, 1);
    assert_string_equal(text_of(&import, tensor->name), "fc.weight");
    assert_int_equal(tensor->sizes[0], 8);
    assert_int_equal(import.tensors[1].name, 0);
    assert_string_equal(text_of(&import, location_of(&import, 2)->module), "fc");
    assert_string_equal(text_of(&import, location_of(&import, 2)->op), "linear");
    assert_int_equal(location_of(&import, 2)->phase, VS_PHASE_FORWARD);
    assert_int_equal(location_of(&import, 1)->module, 0);                       /* no module */
    assert_string_equal(text_of(&import, location_of(&import, 3)->module), ""); /* the model */
    assert_true(import.derived.has_modules);
    imp_release(&import);
    recording_release(&r);
}

/* The stack would say: loss, a function of the user's between forward and backward. */
static void an_observed_phase_goes_before_what_the_stack_says(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, LOSS);
    observe(&r, "AddmmBackward0", "fc", VS_PHASE_BACKWARD + 1, "", 0);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    assert_int_equal(location_of(&import, 1)->phase, VS_PHASE_FORWARD);
    assert_int_equal(location_of(&import, 2)->phase, VS_PHASE_BACKWARD);
    imp_release(&import);
    recording_release(&r);
}

/* No module: x and the scale by which w is made are alike, until the first op that is in a graph. */
static void
what_makes_a_graph_is_forward_and_what_makes_parameters_before_it_is_set_up(void **state)
{
    static const uint8_t PHASES[] = {VS_PHASE_SETUP, VS_PHASE_SETUP, VS_PHASE_DATA,
                                     VS_PHASE_FORWARD, VS_PHASE_LOSS};
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    recording_alloc(&r, 1, 512, DATA);
    observe(&r, "randn", NULL, 0, "", 0);
    recording_alloc(&r, 2, 512, DATA);
    observe(&r, "div", NULL, 0, "w", 8);
    r.list.events[1].category = VS_CAT_PARAMETER + 1;
    recording_alloc(&r, 3, 512, DATA);
    observe(&r, "randn", NULL, 0, "", 0);
    recording_alloc(&r, 4, 512, DATA);
    observe(&r, "matmul", NULL, 0, "", 0);
    r.list.facts[r.list.events[3].facts - 1].makes_graph = true;
    recording_alloc(&r, 5, 512, LOSS);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    for (uint64_t block = 1; block <= 5; block++)
        assert_int_equal(location_of(&import, block)->phase, PHASES[block - 1]);
    imp_release(&import);
    recording_release(&r);
}

/* Before the module is called it is forward; zero_grad is between loss and backward. */
static void what_makes_a_graph_after_forward_is_loss(void **state)
{
    static const uint8_t PHASES[] = {VS_PHASE_DATA,    VS_PHASE_FORWARD, VS_PHASE_FORWARD,
                                     VS_PHASE_FORWARD, VS_PHASE_LOSS,    VS_PHASE_ZERO_GRAD,
                                     VS_PHASE_BACKWARD};
    static const char *const STACKS[] = {DATA, DATA, NET, NET, "train.py main 6", ZERO, NODE};
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    for (uint64_t i = 0; i < 7; i++) {
        recording_alloc(&r, i + 1, 512, STACKS[i]);
        observe(&r, "mul", NULL, 0, "", 0);
        r.list.facts[r.list.events[i].facts - 1].makes_graph = i == 1 || i == 4;
    }
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    for (uint64_t block = 1; block <= 7; block++)
        assert_int_equal(location_of(&import, block)->phase, PHASES[block - 1]);
    imp_release(&import);
    recording_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_gets_shape_name_module_op_and_phase),
        cmocka_unit_test(an_observed_phase_goes_before_what_the_stack_says),
        cmocka_unit_test(
            what_makes_a_graph_is_forward_and_what_makes_parameters_before_it_is_set_up),
        cmocka_unit_test(what_makes_a_graph_after_forward_is_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
