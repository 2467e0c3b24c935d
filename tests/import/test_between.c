/*
 * tests/import/test_between.c - what was observed between the events of a recording becomes events of the trace, and
 * categories follow it as they follow the engine's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "base/text.h"
#include "import/derive.h"
#include "tests/import/recording.h"

/* A recording with one context for each phase, and what follows from it. */
struct observed {
    struct recording r;
    struct imp_import import;
    struct vs_text text;
};

static void begin(struct observed *o)
{
    memset(o, 0, sizeof(*o));
    o->r.list.has_saves = true;
}

/* The last event of the recording was observed: the phase, the kind and name of the tensor, or "". */
static void observe(struct observed *o, enum vs_phase phase, const char *name)
{
    struct vs_memlist *list = &o->r.list;
    struct vs_mem_facts facts = {.phase = (uint8_t)(phase + 1),
                                 .name = vs_memlist_string(list, name, SIZE_MAX)};
    struct vs_mem_event *event = &list->events[list->event_count - 1];

    event->facts = vs_memlist_add_facts(list, &facts);
    event->category = *name ? VS_CAT_GRADIENT + 1 : 0;
}

/* Something was done after the last event of the recording, with the block that its event `block` allocated. */
static struct vs_mem_did *did(struct observed *o, enum vs_mem_did_kind kind, enum vs_phase phase,
                              size_t block)
{
    struct vs_memlist *list = &o->r.list;

    list->contexts =
        vs_grow(list->contexts, list->context_count, &list->context_cap, sizeof(*list->contexts));
    list->contexts[list->context_count] =
        (struct vs_mem_context){.op = vs_memlist_string(list, "relu", SIZE_MAX),
                                .module = vs_memlist_string(list, "fc", SIZE_MAX),
                                .has_module = true,
                                .event = 1,
                                .phase = (uint8_t)(phase + 1)};
    list->did = vs_grow(list->did, list->did_count, &list->did_cap, sizeof(*list->did));
    list->did[list->did_count] = (struct vs_mem_did){.kind = (uint8_t)kind,
                                                     .before = (uint32_t)list->event_count,
                                                     .context = (uint32_t)list->context_count++,
                                                     .block = (uint32_t)block};
    return &list->did[list->did_count++];
}

static const char *word(const struct observed *o, uint64_t id)
{
    return id ? o->import.strings[id - 1] : "-";
}

static void event_text(struct observed *o, const struct vs_event *event)
{
    vs_text_addf(&o->text, "%s", vs_event_kind_name((enum vs_event_kind)event->kind));
    if (vs_event_has_block(event))
        vs_text_addf(&o->text, " %d", (int)vs_event_block(event));
    if (event->kind == VS_EV_ALLOC || event->kind == VS_EV_CATEGORY)
        vs_text_addf(&o->text, " %s", vs_category_name((enum vs_category)event->raw.aux));
    else if (event->kind == VS_EV_HOLD || event->kind == VS_EV_DROP)
        vs_text_addf(&o->text, " %s %s", vs_holder_name((enum vs_holder)event->hold.holder),
                     word(o, event->hold.name));
    else if (event->kind == VS_EV_OP_BEGIN || event->kind == VS_EV_OP_END)
        vs_text_addf(&o->text, " %s %d %d", word(o, event->op.name), (int)event->op.node,
                     event->op.role);
    else if (event->kind == VS_EV_SAVE || event->kind == VS_EV_UNSAVE)
        vs_text_addf(&o->text, " %d%s", (int)event->save.node,
                     event->save.is_checkpoint_input ? " input" : "");
    else if (event->kind == VS_EV_PHASE)
        vs_text_addf(&o->text, " %s", vs_phase_name((enum vs_phase)event->phase.phase));
    else if (event->kind == VS_EV_CAST)
        vs_text_addf(&o->text, " from %d %s %s", (int)event->cast.from_block,
                     vs_dtype_name((enum vs_dtype)event->cast.from_dtype),
                     vs_dtype_name((enum vs_dtype)event->cast.to_dtype));
    else if (event->kind == VS_EV_RECOMPUTE_BEGIN || event->kind == VS_EV_RECOMPUTE_END)
        vs_text_addf(&o->text, " %s", word(o, event->recompute.name));
    vs_text_add_char(&o->text, '\n');
}

/* Import it and compare all events as text; releases it. */
static void end(struct observed *o, const char *expected)
{
    recording_import(&o->r, &o->import);
    imp_derive(&o->import, &o->r.list);
    for (size_t i = 0; i < o->import.event_count; i++)
        event_text(o, &o->import.events[i]);
    assert_string_equal(vs_text_get(&o->text), expected);
}

static void release(struct observed *o)
{
    vs_text_release(&o->text);
    imp_release(&o->import);
    recording_release(&o->r);
}

static void what_autograd_saves_changes_the_category_until_it_is_released(void **state)
{
    struct observed o;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    did(&o, VS_MEM_DID_OP_BEGIN, VS_PHASE_FORWARD, 0);
    did(&o, VS_MEM_DID_USE, VS_PHASE_FORWARD, 0);
    did(&o, VS_MEM_DID_SAVE, VS_PHASE_FORWARD, 0)->node = 7;
    did(&o, VS_MEM_DID_SAVE, VS_PHASE_FORWARD, 0)->node = 8;
    did(&o, VS_MEM_DID_OP_END, VS_PHASE_FORWARD, 0);
    did(&o, VS_MEM_DID_UNSAVE, VS_PHASE_FORWARD, 0)->node = 7;
    did(&o, VS_MEM_DID_UNSAVE, VS_PHASE_FORWARD, 0)->node = 8;
    o.r.list.did[o.r.list.did_count - 1].stays = true;
    end(&o, "step\nphase forward\nalloc 1 activation\nop_begin relu 0 0\nuse 1\ncategory 1 saved\n"
            "save 1 7\nsave 1 8\nop_end relu 0 0\nunsave 1 7\nunsave 1 8\ncategory 1 activation\n");
    assert_string_equal(word(&o, o.import.locations[o.import.events[3].location - 1].module), "fc");
    assert_int_equal(o.import.locations[o.import.events[3].location - 1].line, 10);
    release(&o);
}

static void the_argument_of_a_checkpoint_is_one_until_a_node_needs_it(void **state)
{
    struct observed o;
    struct vs_mem_did *input;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    did(&o, VS_MEM_DID_SAVE, VS_PHASE_FORWARD, 0)->is_input = true;
    did(&o, VS_MEM_DID_SAVE, VS_PHASE_FORWARD, 0)->node = 3;
    did(&o, VS_MEM_DID_UNSAVE, VS_PHASE_FORWARD, 0)->node = 3;
    input = did(&o, VS_MEM_DID_UNSAVE, VS_PHASE_FORWARD, 0);
    input->is_input = true;
    recording_free(&o.r, 1, 512, NULL);
    end(&o, "step\nphase forward\nalloc 1 activation\ncategory 1 checkpoint\nsave 1 0 input\n"
            "category 1 saved\nsave 1 3\nunsave 1 3\ncategory 1 checkpoint\nunsave 1 0 input\n"
            "free 1\n");
    release(&o);
}

static void a_gradient_becomes_one_when_it_is_accumulated(void **state)
{
    struct observed o;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    did(&o, VS_MEM_DID_OP_BEGIN, VS_PHASE_BACKWARD, 0)->role = VS_OP_BACKWARD;
    recording_alloc(&o.r, 2, 512, NODE);
    observe(&o, VS_PHASE_BACKWARD, "grad of fc.weight");
    did(&o, VS_MEM_DID_GRADIENT, VS_PHASE_BACKWARD, 1)->name =
        vs_memlist_string(&o.r.list, "fc.weight", SIZE_MAX);
    did(&o, VS_MEM_DID_UNGRADIENT, VS_PHASE_BACKWARD, 1)->name =
        vs_memlist_string(&o.r.list, "fc.weight", SIZE_MAX);
    recording_free(&o.r, 2, 512, NULL);
    did(&o, VS_MEM_DID_USE, VS_PHASE_BACKWARD, 1); /* gone: nothing is said of it */
    end(&o, "step\nphase forward\nalloc 1 activation\nphase backward\nop_begin relu 0 1\n"
            "alloc 2 temporary\ncategory 2 gradient\nhold 2 grad fc.weight\n"
            "drop 2 grad fc.weight\nfree 2\n");
    release(&o);
}

static void a_gradient_that_was_not_seen_to_become_one_is_one_from_the_start(void **state)
{
    struct observed o;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, NODE);
    observe(&o, VS_PHASE_BACKWARD, "grad of fc.weight");
    end(&o, "step\nphase backward\nalloc 1 gradient\n");
    release(&o);
}

static void a_copy_of_autocast_is_one_whoever_saves_it(void **state)
{
    struct observed o;
    struct vs_mem_did *cast;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 1024, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    recording_alloc(&o.r, 2, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    cast = did(&o, VS_MEM_DID_CAST, VS_PHASE_FORWARD, 1);
    cast->from = 1;
    cast->from_dtype = VS_F32;
    cast->to_dtype = VS_BF16;
    did(&o, VS_MEM_DID_CACHE, VS_PHASE_FORWARD, 1);
    did(&o, VS_MEM_DID_SAVE, VS_PHASE_FORWARD, 1)->node = 1;
    did(&o, VS_MEM_DID_UNCACHE, VS_PHASE_FORWARD, 1);
    end(&o, "step\nphase forward\nalloc 1 activation\nalloc 2 cast\n"
            "cast 2 from 1 float32 bfloat16\nhold 2 cache -\nsave 2 1\ndrop 2 cache -\n");
    release(&o);
}

static void ops_that_a_checkpoint_runs_again_are_counted_by_step(void **state)
{
    struct observed o;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, STATE);
    recording_alloc(&o.r, 2, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    did(&o, VS_MEM_DID_RERUN_BEGIN, VS_PHASE_BACKWARD, 0)->name =
        vs_memlist_string(&o.r.list, "block", SIZE_MAX);
    did(&o, VS_MEM_DID_OP_BEGIN, VS_PHASE_BACKWARD, 0)->role = VS_OP_RECOMPUTE;
    did(&o, VS_MEM_DID_OP_END, VS_PHASE_BACKWARD, 0)->ops = 3;
    did(&o, VS_MEM_DID_RERUN_END, VS_PHASE_BACKWARD, 0)->name =
        vs_memlist_string(&o.r.list, "block", SIZE_MAX);
    recording_alloc(&o.r, 3, 512, STEP);
    recording_free(&o.r, 3, 512, STEP);
    recording_alloc(&o.r, 4, 512, NET);
    recording_alloc(&o.r, 5, 512, STEP);
    recording_import(&o.r, &o.import);
    imp_derive(&o.import, &o.r.list);
    assert_true(o.import.recomputed_count >= 1);
    assert_int_equal(o.import.recomputed[o.import.recomputed_count - 1], 3);
    release(&o);
}

static void the_arithmetic_of_an_op_and_what_it_overwrites_are_in_its_events(void **state)
{
    struct observed o;
    struct vs_mem_did *op;
    const struct vs_event *event;

    (void)state;
    begin(&o);
    recording_alloc(&o.r, 1, 512, NET);
    observe(&o, VS_PHASE_FORWARD, "");
    op = did(&o, VS_MEM_DID_OP_BEGIN, VS_PHASE_FORWARD, 0);
    op->flops = 4096;
    op->overwritten_bytes = 512;
    did(&o, VS_MEM_DID_OP_END, VS_PHASE_FORWARD, 0)->flops = 4095;
    end(&o, "step\nphase forward\nalloc 1 activation\nop_begin relu 0 0\nop_end relu 0 0\n");
    event = &o.import.events[3];
    assert_int_equal(event[0].op.flops, 4096);
    assert_int_equal(event[0].op.overwritten_bytes, 512);
    assert_int_equal(event[1].op.flops, 4095);
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_autograd_saves_changes_the_category_until_it_is_released),
        cmocka_unit_test(the_argument_of_a_checkpoint_is_one_until_a_node_needs_it),
        cmocka_unit_test(the_arithmetic_of_an_op_and_what_it_overwrites_are_in_its_events),
        cmocka_unit_test(a_gradient_becomes_one_when_it_is_accumulated),
        cmocka_unit_test(a_gradient_that_was_not_seen_to_become_one_is_one_from_the_start),
        cmocka_unit_test(a_copy_of_autocast_is_one_whoever_saves_it),
        cmocka_unit_test(ops_that_a_checkpoint_runs_again_are_counted_by_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
