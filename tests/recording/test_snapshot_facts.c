/*
 * tests/recording/test_snapshot_facts.c - reads what the observer of a program added to the events of its snapshot.
 *
 * The snapshot was written by CPython's pickle, protocol 0: seven events; the facts of the second allocation have an
 * unknown dtype, those of the last one are of no known form, and two allocations share theirs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "recording/snapshot.h"

/* clang-format off */
static const char SNAPSHOT[] =
    "(dp0\nVsegments\np1\n(lp2\n(dp3\nVdevice\np4\nI0\nsVaddress\np5\nI4096\nsVtotal_size\n"
    "p6\nI2097152\nsVstream\np7\nI0\nsVsegment_type\np8\nVsmall\np9\nsVblocks\np10\n(lp11\n"
    "(dp12\nVsize\np13\nI512\nsVrequested_size\np14\nI24\nsVstate\np15\nVactive_allocated\n"
    "p16\nsa(dp17\ng13\nI512\nsg14\nI16\nsg15\ng16\nsa(dp18\ng13\nI512\nsg14\nI24\nsg15\n"
    "g16\nsa(dp19\ng13\nI2095616\nsg14\nI0\nsg15\nVinactive\np20\nsasasVdevice_traces\np21\n"
    "(lp22\n(lp23\n(dp24\nVaction\np25\nVsegment_alloc\np26\nsVaddr\np27\nI4096\nsg13\n"
    "I2097152\nsg7\nI0\nsa(dp28\ng25\nValloc\np29\nsg27\nI4096\nsg13\nI24\nsg7\nI0\nsVfacts\n"
    "p30\n(Vaddmm\np31\nVblocks.0.fc\np32\nVforward\np33\nNNVfloat32\np34\n(I2\nI3\ntp35\n"
    "(I3\nI1\ntp36\ntp37\nsa(dp38\ng25\ng29\nsg27\nI4608\nsg13\nI16\nsg7\nI0\nsg30\n(NV\n"
    "p39\nNVgradient\np40\nVgrad of fc.weight\np41\nVint7\np42\n(I4\ntp43\n(I1\ntp44\ntp45\n"
    "sa(dp46\ng25\nVfree_requested\np47\nsg27\nI4096\nsg13\nI24\nsg7\nI0\nsg30\n"
    "(VAddmmBackward0\np48\ng32\nVbackward\np49\nNNN(t(ttp50\nsVforward_frames\np51\n(lp52\n"
    "(dp53\nVname\np54\nVstep\np55\nsVfilename\np56\nVtrain.py\np57\nsVline\np58\nI7\n"
    "sasa(dp59\ng25\nVfree_completed\np60\nsg27\nI4096\nsg13\nI24\nsg7\nI0\nsa(dp61\ng25\n"
    "g29\nsg27\nI4096\nsg13\nI24\nsg7\nI0\nsg30\ng37\nsa(dp62\ng25\ng29\nsg27\nI5120\nsg13\n"
    "I24\nsg7\nI0\nsg30\n(I1\nI2\ntp63\nsaasVobserved\np64\n(I2\nI3\nI0\nI1\n"
    "Vthe program called torch.compile\np65\ntp66\ns.";
/* clang-format on */

static int set_up(void **state)
{
    static struct vs_memlist list;
    struct vs_error err = VS_ERROR_INIT;

    memset(&list, 0, sizeof(list));
    *state = &list;
    return rec_snapshot_read(SNAPSHOT, strlen(SNAPSHOT), REC_SNAPSHOT_FIRST, &list, &err)
               ? (fprintf(stderr, "%s\n", err.text), 1)
               : 0;
}

static int tear_down(void **state)
{
    vs_memlist_release(*state);
    return 0;
}

static void an_allocation_has_its_op_module_phase_shape_and_dtype(void **state)
{
    const struct vs_memlist *list = *state;
    const struct vs_mem_facts *facts = vs_memlist_facts(list, &list->events[1]);

    assert_non_null(facts);
    assert_string_equal(vs_memlist_text(list, facts->op), "addmm");
    assert_string_equal(vs_memlist_text(list, list->events[1].op), "addmm");
    assert_true(facts->has_module);
    assert_string_equal(vs_memlist_text(list, facts->module), "blocks.0.fc");
    assert_int_equal(facts->phase, VS_PHASE_FORWARD + 1);
    assert_true(facts->has_tensor);
    assert_int_equal(facts->tensor.dtype, VS_F32);
    assert_int_equal(facts->tensor.ndim, 2);
    assert_int_equal(facts->tensor.sizes[0], 2);
    assert_int_equal(facts->tensor.sizes[1], 3);
    assert_int_equal(facts->tensor.strides[0], 3);
    assert_int_equal(facts->tensor.strides[1], 1);
    assert_int_equal(list->events[1].category, 0);
}

static void equal_facts_are_kept_once(void **state)
{
    const struct vs_memlist *list = *state;

    assert_int_equal(list->events[5].facts, list->events[1].facts);
    assert_int_equal(list->facts_count, 3);
}

static void an_unknown_dtype_leaves_name_category_and_the_path_of_the_model(void **state)
{
    const struct vs_memlist *list = *state;
    const struct vs_mem_facts *facts = vs_memlist_facts(list, &list->events[2]);

    assert_non_null(facts);
    assert_false(facts->has_tensor);
    assert_true(facts->has_module);
    assert_int_equal(facts->module, 0); /* "", the model itself */
    assert_int_equal(facts->op, 0);
    assert_string_equal(vs_memlist_text(list, facts->name), "grad of fc.weight");
    assert_int_equal(list->events[2].category, VS_CAT_GRADIENT + 1);
}

static void the_line_of_a_backward_node_is_that_of_its_forward_op(void **state)
{
    const struct vs_memlist *list = *state;
    const struct vs_mem_event *event = &list->events[3];

    assert_int_equal(event->kind, VS_MEM_FREE_REQUESTED);
    assert_string_equal(vs_memlist_text(list, event->op), "AddmmBackward0");
    assert_string_equal(vs_memlist_text(list, event->file), "train.py");
    assert_string_equal(vs_memlist_text(list, event->func), "step");
    assert_int_equal(event->line, 7);
    assert_int_equal(event->stack, 0);
}

static void facts_of_an_unknown_form_are_left_out(void **state)
{
    const struct vs_memlist *list = *state;

    assert_null(vs_memlist_facts(list, &list->events[4]));
    assert_null(vs_memlist_facts(list, &list->events[6]));
}

static void how_the_program_was_observed_is_read(void **state)
{
    const struct vs_mem_observed *observed = &((const struct vs_memlist *)*state)->observed;

    assert_true(observed->is_there);
    assert_int_equal(observed->matched, 2);
    assert_int_equal(observed->total, 3);
    assert_int_equal(observed->own, 0);
    assert_int_equal(observed->collected, 1);
    assert_string_equal(vs_memlist_text(*state, observed->ended),
                        "the program called torch.compile");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_has_its_op_module_phase_shape_and_dtype),
        cmocka_unit_test(equal_facts_are_kept_once),
        cmocka_unit_test(an_unknown_dtype_leaves_name_category_and_the_path_of_the_model),
        cmocka_unit_test(the_line_of_a_backward_node_is_that_of_its_forward_op),
        cmocka_unit_test(facts_of_an_unknown_form_are_left_out),
        cmocka_unit_test(how_the_program_was_observed_is_read),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
