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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_gets_shape_name_module_op_and_phase),
        cmocka_unit_test(an_observed_phase_goes_before_what_the_stack_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
