/*
 * tests/golden_check/test_golden_events.c - whole runs of small nets, and of nets written from PyTorch models, compared
 * with PyTorch event by event.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

static bool events_are_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events");
    const struct json *toggles = json_get(line, "toggles");
    struct golden_run run;
    bool equal;

    golden_run_net(json_str(json_get(line, "net")), toggles, 0, false, &run);
    if (!events || !events->count) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        equal = golden_events_equal(&run, events,
                                    json_get(toggles, "amp") != NULL ||
                                        strstr(json_str(json_get(line, "net")), "amp") != NULL,
                                    why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static bool saved_is_equal(const struct lang_result *ours, const struct json *line, char *why,
                           size_t why_size)
{
    const struct json *saved = json_get(line, "saved");

    if (ours->saved_known && ours->saved_tensors == json_u64(json_get(saved, "tensors")) &&
        ours->saved_bytes == json_u64(json_get(saved, "bytes")) &&
        ours->saved_bytes_all == json_u64(json_get(saved, "bytes_all")))
        return true;
    snprintf(why, why_size,
             "saved: ours %" PRIu64 " tensors, %" PRIu64 " B (%" PRIu64
             " B in all), theirs %" PRIu64 ", %" PRIu64 " (%" PRIu64 ")",
             ours->saved_tensors, ours->saved_bytes, ours->saved_bytes_all,
             json_u64(json_get(saved, "tensors")), json_u64(json_get(saved, "bytes")),
             json_u64(json_get(saved, "bytes_all")));
    return false;
}

static bool recomputed_is_equal(const struct lang_result *ours, const struct json *line, char *why,
                                size_t why_size)
{
    size_t i = 0;

    for (const struct json *n = json_get(line, "recomputed_ops")->first; n; n = n->next, i++) {
        uint64_t mine = i < ours->step_count ? ours->steps[i].recomputed_ops : 0;

        if (mine == json_u64(n))
            continue;
        snprintf(why, why_size, "step %zu runs %" PRIu64 " ops again, PyTorch %" PRIu64, i, mine,
                 json_u64(n));
        return false;
    }
    return true;
}

/* Events, the step and phase of each, what autograd saves, and how many ops run again. */
static bool own_steps_are_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events");
    const struct json *toggles = json_get(line, "toggles");
    struct golden_run run;
    bool equal = events_are_equal(line, why, why_size);

    if (!equal || !events || !events->count)
        return equal;
    golden_run_net(json_str(json_get(line, "net")), toggles, 0, false, &run);
    equal = golden_phases_equal(&run, events, why, why_size) &&
            saved_is_equal(&run.result, line, why, why_size) &&
            recomputed_is_equal(&run.result, line, why, why_size);
    golden_run_release(&run);
    return equal;
}

/* The net file has as many parameters as the model it was written from, and the same events. */
static bool model_is_equal(const struct json *line, char *why, size_t why_size)
{
    uint64_t theirs = json_u64(json_get(line, "parameters")), ours;
    struct golden_run run;

    golden_run_net(json_str(json_get(line, "net")), json_get(line, "toggles"), 0, false, &run);
    ours = run.result.parameters;
    golden_run_release(&run);
    if (ours != theirs) {
        snprintf(why, why_size, "%" PRIu64 " parameters in PyTorch, here %" PRIu64, theirs, ours);
        return false;
    }
    return events_are_equal(line, why, why_size);
}

static void nets_written_from_models_are_equal_to_the_models(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/from_pytorch.jsonl.gz", model_is_equal, NULL));
}

static void one_process_of_several_is_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/shard.jsonl.gz", events_are_equal, NULL));
}

static void fully_sharded_nets_are_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/fsdp.jsonl.gz", events_are_equal, NULL));
}

/* How often each of NCCL's collectives is called, and the bytes that this process gives to them. */
static bool traffic_is_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *theirs = json_get(line, "collectives");
    const struct json *row = theirs ? theirs->first : NULL;
    struct golden_run run;
    size_t i = 0;
    bool equal;

    golden_run_net(json_str(json_get(line, "net")), json_get(line, "toggles"), 0, false, &run);
    equal = theirs && !run.status;
    snprintf(why, why_size, "%.400s",
             run.status ? run.error.text : "PyTorch refuses it, ours runs");
    for (; equal && (row || i < run.result.collective_count); i++, row = row ? row->next : NULL) {
        const struct lang_collective *ours =
            i < run.result.collective_count ? &run.result.collectives[i] : NULL;
        const char *name = row ? json_str(json_at(row, 0)) : "nothing";
        const uint64_t count = row ? json_u64(json_at(row, 1)) : 0;
        const uint64_t bytes = row ? json_u64(json_at(row, 2)) : 0;

        equal = ours && row && !strcmp(ours->name, name) && ours->count == count &&
                ours->bytes == bytes;
        snprintf(why, why_size,
                 "%s: %" PRIu64 " calls with %" PRIu64 " bytes, ours %s: %" PRIu64 " with %" PRIu64,
                 name, count, bytes, ours ? ours->name : "nothing", ours ? ours->count : 0,
                 ours ? ours->bytes : 0);
    }
    golden_run_release(&run);
    return equal;
}

static bool events_and_traffic_are_equal(const struct json *line, char *why, size_t why_size)
{
    return events_are_equal(line, why, why_size) &&
           (!json_get(line, "collectives") || traffic_is_equal(line, why, why_size));
}

static void deepspeed_zero_is_equal_event_by_event_and_sends_the_same(void **state)
{
    (void)state;
    assert_true(
        golden_file("tests/golden/oracle/deepspeed.jsonl.gz", events_and_traffic_are_equal, NULL));
}

static void deepspeed_zero3_is_equal_event_by_event_and_sends_the_same(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/deepspeed_zero3.jsonl.gz",
                            events_and_traffic_are_equal, NULL));
}

static void tensor_parallel_nets_are_equal_event_by_event_and_send_the_same(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/tensor_parallel.jsonl.gz",
                            events_and_traffic_are_equal, NULL));
}

static void parts_of_sequences_are_equal_event_by_event_and_send_the_same(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/context_parallel.jsonl.gz",
                            events_and_traffic_are_equal, NULL));
}

static void processes_of_a_mesh_are_equal_event_by_event_and_send_the_same(void **state)
{
    (void)state;
    assert_true(
        golden_file("tests/golden/oracle/mesh.jsonl.gz", events_and_traffic_are_equal, NULL));
}

static void stages_of_pipelines_are_equal_event_by_event_and_send_the_same(void **state)
{
    (void)state;
    assert_true(
        golden_file("tests/golden/oracle/pipeline.jsonl.gz", events_and_traffic_are_equal, NULL));
}

static void a_process_sends_what_pytorch_gives_to_nccl(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/traffic.jsonl", traffic_is_equal, NULL));
}

static void train_step_nets_are_equal_event_by_event_with_phases(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/own_step.jsonl.gz", own_steps_are_equal, NULL));
}

static void runs_are_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/events.jsonl.gz", events_are_equal, NULL));
}

/* The same; and where PyTorch refuses the net, ours does so for what the net does, not for want of a name. */
static bool article_is_equal(const struct json *line, char *why, size_t why_size)
{
    struct golden_run run;
    enum vs_status st;

    if (json_get(line, "events"))
        return events_are_equal(line, why, why_size);
    golden_run_net(json_str(json_get(line, "net")), json_get(line, "toggles"), 0, false, &run);
    st = run.status;
    snprintf(why, why_size, "PyTorch: %s; ours: %.400s", json_str(json_get(line, "error")),
             st ? run.error.text : "runs");
    for (char *p = why; *p; p++)
        *p = *p == '\n' ? '|' : *p;
    golden_run_release(&run);
    return st != VS_OK && st != VS_E_NAME && st != VS_E_NOT_FOUND && st != VS_E_UNSUPPORTED &&
           st != VS_E_SYNTAX;
}

static void nets_as_articles_write_them_are_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/articles.jsonl", article_is_equal, NULL));
}

/* Apex cannot be installed beside this PyTorch: tests/oracle/apex_by_hand.py has its code written out in PyTorch. */
static void apex_by_hand_is_equal_to_amp_as_a_level(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/apex.jsonl.gz", events_are_equal, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_equal_event_by_event),
        cmocka_unit_test(train_step_nets_are_equal_event_by_event_with_phases),
        cmocka_unit_test(one_process_of_several_is_equal_event_by_event),
        cmocka_unit_test(fully_sharded_nets_are_equal_event_by_event),
        cmocka_unit_test(a_process_sends_what_pytorch_gives_to_nccl),
        cmocka_unit_test(deepspeed_zero_is_equal_event_by_event_and_sends_the_same),
        cmocka_unit_test(deepspeed_zero3_is_equal_event_by_event_and_sends_the_same),
        cmocka_unit_test(tensor_parallel_nets_are_equal_event_by_event_and_send_the_same),
        cmocka_unit_test(parts_of_sequences_are_equal_event_by_event_and_send_the_same),
        cmocka_unit_test(processes_of_a_mesh_are_equal_event_by_event_and_send_the_same),
        cmocka_unit_test(stages_of_pipelines_are_equal_event_by_event_and_send_the_same),
        cmocka_unit_test(nets_written_from_models_are_equal_to_the_models),
        cmocka_unit_test(nets_as_articles_write_them_are_equal_event_by_event),
        cmocka_unit_test(apex_by_hand_is_equal_to_amp_as_a_level),
    };

    return cmocka_run_group_tests_name("golden_check/events", tests, NULL, NULL);
}
