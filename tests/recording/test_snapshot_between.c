/*
 * tests/recording/test_snapshot_between.c - reads what the observer of a program found between the events of its
 * snapshot.
 *
 * The snapshot was written by CPython's pickle, protocol 4: two events and eleven rows. Of the rows one has an unknown
 * dtype, one an unknown kind, one a block that is not an allocation, one an unknown context and one an unknown event;
 * one comes earlier than the row before it.
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
    "\200\004\225\023\004\000\000\000\000\000\000}\224(\214\010segments\224]\224\214\015device_"
    "traces\224]\224]\224(}\224(\214\006action\224\214\015segment_alloc\224\214\004addr\224M"
    "\000\020\214\004size\224J\000\000 \000\214\006stream\224K\000u}\224(h\007\214\005alloc\224"
    "h\011M\000\020h\012K\030h\013K\000uea\214\007between\224(\214\010op_begin\224\214\006op_en"
    "d\224\214\003use\224\214\004save\224\214\006unsave\224\214\010gradient\224\214\012ungradie"
    "nt\224\214\004cast\224\214\005cache\224\214\007uncache\224\214\013rerun_begin\224\214\011r"
    "erun_end\224\214\005later\224t\224\210]\224(\214\004relu\224\214\002fc\224\214\007forward"
    "\224K\001\210t\224(\214\002mm\224NNJ\377\377\377\377\211t\224\206\224\214\007float32\224"
    "\214\010bfloat16\224\214\005block\224\207\224Bl\002\000\000\000\000\000\000\000\000\000"
    "\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\005\000\000\000\000"
    "\000\000\000\001\000\000\000\000\000\000\000\350\003\000\000\000\000\000\000\000\002\000"
    "\000\000\000\000\000\003\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\006\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377\004\000\000\000\000"
    "\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\001\000\000"
    "\000\000\000\000\000\006\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\001"
    "\000\000\000\000\000\000\000\007\000\000\000\000\000\000\000\002\000\000\000\000\000\000"
    "\000\001\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\001\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\007\000\000"
    "\000\000\000\000\000\002\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\001"
    "\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\002\000\000\000\000\000\000\000\012\000\000\000\000\000\000\000\001\000\000\000\000"
    "\000\000\000\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\377\377\377"
    "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\001"
    "\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\005\000\000\000\000\000\000\000\001\000\000\000\000\000\000\000\004\000\000\000\000"
    "\000\000\000\347\003\000\000\000\000\000\000\014\000\000\000\000\000\000\000\002\000\000"
    "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\002\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377\377\377\377"
    "\377\377\377\377\377\377\377\377\377\377\377\377\377\002\000\000\000\000\000\000\000\002"
    "\000\000\000\000\000\000\000\011\000\000\000\000\000\000\000\001\000\000\000\000\000\000"
    "\000\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377"
    "\377\377\377\002\000\000\000\000\000\000\000c\000\000\000\000\000\000\000\000\000\000\000"
    "\000\000\000\000\001\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377\377\377"
    "\377\377\377\377\377\377\377\377\377\377\377\377\377\377rest\224\207\224a\207\224\214\012a"
    "rithmetic\224K\007K\002\214\022_cudnn_rnn, my::op\224\207\224\214\015saves_unknown\224\214"
    "\005hooks\224u.";
/* clang-format on */

static int set_up(void **state)
{
    static struct vs_memlist list;
    struct vs_error err = VS_ERROR_INIT;

    memset(&list, 0, sizeof(list));
    *state = &list;
    return rec_snapshot_read(SNAPSHOT, sizeof(SNAPSHOT) - 1, REC_SNAPSHOT_FIRST, &list, &err)
               ? (fprintf(stderr, "%s\n", err.text), 1)
               : 0;
}

static int tear_down(void **state)
{
    vs_memlist_release(*state);
    return 0;
}

static void rows_that_are_not_understood_are_left_out(void **state)
{
    const struct vs_memlist *list = *state;

    assert_true(list->has_saves);
    assert_int_equal(list->did_count, 6);
    assert_int_equal(list->context_count, 2);
}

static void each_kind_has_its_fields(void **state)
{
    const struct vs_memlist *list = *state;
    const struct vs_mem_did *did = list->did;

    assert_int_equal(did[0].kind, VS_MEM_DID_OP_BEGIN);
    assert_int_equal(did[0].before, 1);
    assert_int_equal(did[0].node, 5);
    assert_int_equal(did[0].role, VS_OP_BACKWARD);
    assert_int_equal(did[0].flops, 1000);
    assert_int_equal(did[0].overwritten_bytes, 512);
    assert_int_equal(did[1].kind, VS_MEM_DID_SAVE);
    assert_int_equal(did[1].block, 1);
    assert_int_equal(did[1].node, 6);
    assert_false(did[1].is_input);
    assert_int_equal(did[2].kind, VS_MEM_DID_UNSAVE);
    assert_true(did[2].stays);
    assert_int_equal(did[3].kind, VS_MEM_DID_CAST);
    assert_int_equal(did[3].from, 2);
    assert_int_equal(did[3].from_dtype, VS_F32);
    assert_int_equal(did[3].to_dtype, VS_BF16);
    assert_int_equal(did[4].kind, VS_MEM_DID_RERUN_BEGIN);
    assert_string_equal(vs_memlist_text(list, did[4].name), "block");
    assert_int_equal(did[5].kind, VS_MEM_DID_OP_END);
    assert_int_equal(did[5].ops, 4);
    assert_int_equal(did[5].flops, 999);
}

static void the_order_of_events_never_decreases(void **state)
{
    const struct vs_memlist *list = *state;

    assert_int_equal(list->did[3].before, 2);
    assert_int_equal(list->did[4].before, 2);
}

static void a_context_has_op_module_phase_and_the_event_with_its_stack(void **state)
{
    const struct vs_memlist *list = *state;

    assert_string_equal(vs_memlist_text(list, list->contexts[0].op), "relu");
    assert_string_equal(vs_memlist_text(list, list->contexts[0].module), "fc");
    assert_true(list->contexts[0].has_module);
    assert_int_equal(list->contexts[0].phase, VS_PHASE_FORWARD + 1);
    assert_int_equal(list->contexts[0].event, 2);
    assert_true(list->contexts[0].is_own);
    assert_false(list->contexts[1].has_module);
    assert_int_equal(list->contexts[1].phase, 0);
    assert_int_equal(list->contexts[1].event, 0);
}

static void what_is_not_known_is_said(void **state)
{
    const struct vs_memlist *list = *state;

    assert_true(list->arithmetic.is_there);
    assert_int_equal(list->arithmetic.ops, 7);
    assert_int_equal(list->arithmetic.unknown, 2);
    assert_string_equal(vs_memlist_text(list, list->arithmetic.names), "_cudnn_rnn, my::op");
    assert_string_equal(vs_memlist_text(list, list->saves_unknown), "hooks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_not_understood_are_left_out),
        cmocka_unit_test(each_kind_has_its_fields),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(the_order_of_events_never_decreases),
        cmocka_unit_test(a_context_has_op_module_phase_and_the_event_with_its_stack),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
