/*
 * tests/programs/test_programs.c - programs that use PyTorch, recorded over a simulated GPU: the three peaks of the
 * trace are those that PyTorch says of itself at the end, to the byte.
 *
 * They need PyTorch alone (corpus.h), and none of the nvidia packages; frameworks/ has programs that need more.
 * observed/test_observed.c runs all of them, without the observer and with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/programs/corpus.h"
#include "tests/skip.h"

static void program_check(const char *name, const char *gpu)
{
    struct program p = corpus_record(name, 0, gpu);

    corpus_peaks_check(&p, program_path("trace.db"), 0);
    program_release(&p);
}

static void a_plain_loop_has_its_known_peaks_and_the_line_of_its_first_host_read(void **state)
{
    struct program p = corpus_record("plain_loop", 0, CORPUS_GPU);
    char *json = corpus_report(program_path("trace.db"));
    char *first = json_text(json, "$.played.first_read");

    (void)state;
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    assert_int_equal(json_int(json, "$.played.host_reads"), 3);
    if (!first || !strstr(first, "tests/programs/plain_loop.py:16 step"))
        fail_msg("the first read is at %s", first ? first : "an unknown place");
    free(first);
    free(json);
    program_release(&p);
}

static void mixed_precision_with_workers_has_its_known_peaks(void **state)
{
    (void)state;
    program_check("conv_amp", CORPUS_GPU);
}

static void expandable_segments_have_their_known_peaks(void **state)
{
    (void)state;
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    program_check("conv_amp", CORPUS_GPU);
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
}

static void recurrent_networks_have_their_known_peaks_and_report_unknown_sizes(void **state)
{
    struct program p = corpus_record("lstm", 0, "rtx3090");
    char *json = corpus_report(program_path("trace.db"));

    (void)state;
    assert_non_null(strstr(json, "cuDNN (workspace and reserve of recurrent networks)"));
    free(json);
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    assert_non_null(strstr(p.err, "simulated GPU: cuDNN (workspace and reserve"));
    program_release(&p);
}

/* PyTorch's profiler, by which allocations are observed, warns of memory that it does not know. */
static void of_warnings_the_user_sees_the_programs_own_alone(void **state)
{
    struct program p = corpus_record("host_blocks", 0, CORPUS_GPU);

    (void)state;
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    if (!strstr(p.err, "the program's own warning") ||
        !strstr(p.err, "given buffer is not writable") || strstr(p.err, "Memory block") ||
        strstr(p.err, "FakeTensor"))
        fail_msg("stderr is: %s", p.err);
    program_release(&p);
}

static void memory_runs_out_at_the_capacity_of_the_gpu(void **state)
{
    struct program p = corpus_record("out_of_memory", 0, "rtx3060");
    const char *line = strstr(p.out, "BLOCKS ");

    (void)state;
    assert_non_null(line);
    /* 11,938 MiB hold 11 blocks of 1 GiB */
    assert_int_equal(strncmp(line, "BLOCKS 11 12517900288\n", 22), 0);
    program_release(&p);
}

/* The op that failed is named, and what it had allocated by then is no workspace. */
static void results_of_an_op_that_runs_out_of_memory_are_temporaries(void **state)
{
    struct program p = corpus_record("observed/out_of_memory_optimizer", 0, "rtx3060");
    const char *trace = program_path("trace.db");
    char *op;

    (void)state;
    assert_non_null(strstr(p.out, "OUT OF MEMORY\n"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    op = json_text(p.out, "$.oom.op");
    assert_string_equal(op, "_foreach_sqrt");
    free(op);
    program_release(&p);
    /* 11,938 MiB hold 114 blocks of 104 MiB, of which 100 are parameters, gradients and states */
    assert_int_equal(sql_int(trace, "select count(*) from block where op = '_foreach_sqrt' and "
                                    "category = 'temporary'"),
                     14);
    assert_int_equal(sql_int(trace, "select count(*) from block where category = 'workspace'"), 0);
}

/* Where nothing was allocated before in the op that failed, it is named all the same. */
static void where_memory_runs_out_is_known(void **state)
{
    struct program p = corpus_record("observed/out_of_memory_places", 0, "rtx3060");
    const char *trace = program_path("trace.db");

    (void)state;
    assert_non_null(strstr(p.out, "FORWARD\nBACKWARD\n"));
    program_release(&p);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'oom'"), 2);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'oom' and op = "
                                    "'linear' and module = '0.0' and line = 10 and phase = "
                                    "'forward'"),
                     1);
    assert_int_equal(sql_int(trace, "select count(*) from event where kind = 'oom' and op = "
                                    "'PowBackward0' and line = 15 and phase = 'backward'"),
                     1);
}

static void each_host_read_of_a_device_value_is_counted(void **state)
{
    struct program p = corpus_record("values", 0, "t4");
    char *json = corpus_report(program_path("trace.db"));

    (void)state;
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    assert_true(json_int(json, "$.played.host_reads") >= 6);
    assert_true(json_int(json, "$.played.host_read_bytes") >= 2 * 64 * 64 * 4);
    if (!strstr(json, "\"nonzero\"") || !strstr(json, "\"index_Tensor\"") ||
        !strstr(json, "tests/programs/values.py:7 <module>"))
        fail_msg("a kind of reads is not named: %.2000s", json);
    free(json);
    program_release(&p);
}

/* With one more option and its value. */
static struct program record_with(const char *option, const char *value, const char *script)
{
    struct program p =
        program_run("record", "--gpu", CORPUS_GPU, option, value, "-f", "-o",
                    program_path("trace.db"), "--", corpus_python(NULL), script, NULL);

    if (p.status != 0)
        fail_msg("%s: status %d: %s%s", script, p.status, p.out, p.err);
    return p;
}

static void a_package_that_is_run_is_the_program_and_not_what_starts_it(void **state)
{
    struct program p;
    char *json;
    char *text;

    (void)state;
    (void)corpus_python(NULL);
    assert_int_equal(mkdir(program_path("site-packages"), 0700), 0);
    assert_int_equal(mkdir(program_path("site-packages/runs"), 0700), 0);
    program_file("site-packages/runs/__init__.py", "");
    program_file("site-packages/runs/step.py", "import torch\n\n\n"
                                               "def step():\n"
                                               "    x = torch.ones(1000, device='cuda')\n"
                                               "    print(x.sum().item())\n");
    program_file("site-packages/runs/train.py", "from runs import step\n\nstep.step()\n");
    p = record_with("--values", "zeros",
                    program_file("start.py",
                                 "import os, runpy, sys\n"
                                 "folder = os.path.dirname(os.path.abspath(__file__))\n"
                                 "sys.path.insert(0, os.path.join(folder, 'site-packages'))\n"
                                 "runpy.run_module('runs.train', run_name='__main__')\n"));
    json = corpus_report(program_path("trace.db"));
    text = json_text(json, "$.peak.function");
    assert_string_equal(text, "step.py:step");
    assert_int_equal(json_int(json, "$.peak.line"), 6);
    free(text);
    text = json_text(json, "$.played.first_read");
    if (!text || !strstr(text, "/site-packages/runs/step.py:6 step"))
        fail_msg("the first read is at %s", text ? text : "an unknown place");
    free(text);
    free(json);
    program_release(&p);
}

static void nothing_is_noted_of_a_thread_that_is_not_observed(void **state)
{
    struct program p = corpus_record("observed/threads", 0, CORPUS_GPU); /* the program checks it */

    (void)state;
    program_release(&p);
}

/* Or the trace says why not: before PyTorch 2.11, where the program packs it by hooks. */
static void what_autograd_saves_is_known(void **state)
{
    static const char *const PROGRAMS[] = {"plain_loop", "save_on_cpu"};

    (void)state;
    for (size_t i = 0; i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++) {
        struct program p = corpus_record(PROGRAMS[i], 0, CORPUS_GPU);
        char *json = corpus_report(program_path("trace.db"));
        char *saved = json_text(json, "$.saved.tensors");
        char *why = json_text(json, "$.observed.saves_unknown");

        if (saved ? why || strcmp(saved, "0") == 0 : !why || strcmp(PROGRAMS[i], "plain_loop") == 0)
            fail_msg("%s: saved are %s tensors, not known because: %s", PROGRAMS[i], saved, why);
        free(why);
        free(saved);
        free(json);
        program_release(&p);
    }
}

/* Though a node of it, which is in Python, refuses to be asked once a backward has released what it saved. */
static void of_a_graph_that_is_released_in_part_the_rest_is_known(void **state)
{
    struct program p = corpus_record("observed/freed", 0, CORPUS_GPU);

    (void)state;
    assert_int_equal(sql_int(program_path("trace.db"), "select count(*) from event where kind = "
                                                       "'save' and op = 'cos'"),
                     1);
    assert_int_equal(sql_int(program_path("trace.db"), "select count(*) from event where kind = "
                                                       "'op_begin' and op = 'Square'"),
                     1);
    program_release(&p);
}

/*
 * The second run of a checkpoint ends in the op that packs the last tensor. What PyTorch 2.15 dispatches until then
 * (TorchDispatchMode, without detach) is counted: convolution and relu; t, addmm, relu and t; t, addmm, relu and tanh.
 */
static void of_a_second_run_the_op_that_it_ends_in_is_not_counted(void **state)
{
    static const struct {
        const char *command;
        int ops, flops;
    } BLOCKS[] = {
        {"observed/stopped conv", 2, 2 * 2 * 4 * 4 * 9 * 16 * 16},
        {"observed/stopped linear", 4, 2 * 2 * 64 * 64},
        {"observed/stopped tanh", 4, 2 * 2 * 64 * 64},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(BLOCKS) / sizeof(BLOCKS[0]); i++) {
        struct program p = corpus_record(BLOCKS[i].command, 0, CORPUS_GPU);
        char *json = corpus_report(program_path("trace.db"));

        assert_int_equal(json_int(json, "$.recomputed_ops[0]"), BLOCKS[i].ops);
        assert_int_equal(json_int(json, "$.recompute_flops"), BLOCKS[i].flops);
        assert_int_equal(json_int(json, "$.arithmetic.unknown"), 0);
        free(json);
        program_release(&p);
    }
}

static void of_ops_without_a_formula_the_names_are_said(void **state)
{
    struct program p = corpus_record("lstm", 0, CORPUS_GPU);
    char *json = corpus_report(program_path("trace.db"));
    char *names = json_text(json, "$.arithmetic.unknown_ops");

    (void)state;
    assert_int_equal(json_int(json, "$.arithmetic.unknown"), 8);
    assert_string_equal(names, "_cudnn_rnn, _cudnn_rnn_backward");
    free(names);
    free(json);
    program_release(&p);
}

/* The second run of a checkpoint is not taken for that of one which is gone. */
static void an_object_that_takes_the_place_of_another_is_not_taken_for_it(void **state)
{
    struct program p = corpus_record("observed/reused", 0, CORPUS_GPU);
    const char *count = strstr(p.out, "REUSED ");

    (void)state;
    if (!count || strtol(count + 7, NULL, 10) == 0)
        tests_skip("no object has taken the place of another");
    assert_int_equal(sql_int(program_path("trace.db"),
                             "select count(*) from event where kind = 'save' and role = 'node' and "
                             "seq > (select max(seq) from event where op = 'zeros')"),
                     0);
    program_release(&p);
}

/* A plain loop has the same events with an option as without. */
static void unchanged_check(const char *option, const char *value)
{
    struct program p = corpus_record("plain_loop", 0, CORPUS_GPU);
    struct program diff;

    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("first.db")), 0);
    p = record_with(option, value, "tests/programs/plain_loop.py");
    program_release(&p);
    diff = program_run("diff", "--by", "tensor", program_path("first.db"), program_path("trace.db"),
                       NULL);
    if (diff.status != 0)
        fail_msg("status %d: %s%s", diff.status, diff.out, diff.err);
    program_release(&diff);
}

/* A batch's memory is used again when a stream has done with it: the same bytes are allocated, more are reserved. */
static void late_streams_reserve_more_for_a_batch_that_is_prefetched(void **state)
{
    struct program p = corpus_record("prefetch", 0, CORPUS_GPU);
    char *early = corpus_report(program_path("trace.db"));
    char *late;

    (void)state;
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    program_release(&p);
    p = record_with("--async", "late", "tests/programs/prefetch.py");
    program_release(&p);
    late = corpus_report(program_path("trace.db"));
    assert_int_equal(json_int(late, "$.peak.allocated"), json_int(early, "$.peak.allocated"));
    if (json_int(late, "$.peak.reserved") < json_int(early, "$.peak.reserved") + (8 << 22))
        fail_msg("reserved %" PRId64 ", and %" PRId64 " late", json_int(early, "$.peak.reserved"),
                 json_int(late, "$.peak.reserved"));
    free(early);
    free(late);
}

static void late_streams_do_not_change_a_plain_loop(void **state)
{
    (void)state;
    unchanged_check("--async", "late");
}

/* The program asserts what it reads. */
static void with_uniform_values_integers_are_true_and_choices_are_even(void **state)
{
    struct program p;
    char *json;
    char *first;

    (void)state;
    (void)corpus_python(NULL);
    p = record_with("--values", "uniform", "tests/programs/uniform.py");
    json = corpus_report(program_path("trace.db"));
    first = json_text(json, "$.played.first_read");
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    if (!first || !strstr(first, "tests/programs/uniform.py:7 <module>"))
        fail_msg("the first read is at %s", first ? first : "an unknown place");
    free(first);
    free(json);
    program_release(&p);
}

static void uniform_values_do_not_change_a_plain_loop(void **state)
{
    (void)state;
    unchanged_check("--values", "uniform");
}

/* The program asserts that nothing is left. */
static void what_compiled_functions_hold_is_freed_with_them(void **state)
{
    (void)state;
    program_check("observed/dropped", CORPUS_GPU);
}

/* Triton is installed with PyTorch, and compiles a module with the C compiler. */
static void a_compiled_network_has_its_known_peaks(void **state)
{
    (void)state;
    corpus_python("triton");
    if (system("command -v gcc >/dev/null || command -v clang >/dev/null") != 0)
        tests_skip("torch.compile needs a C compiler");
    program_check("compiled", CORPUS_GPU);
}

static void counts_printed_by_a_tensor_counter_equal_the_trace(void **state)
{
    struct program p = corpus_record("mem_track", 0, CORPUS_GPU);
    const char *line = p.out;
    int count = 0;

    (void)state;
    corpus_peaks_check(&p, program_path("trace.db"), 0);
    for (; (line = strstr(line, "TRACK ")) != NULL; line++, count++) {
        int64_t allocs;
        int64_t frees;
        int64_t bytes;
        int64_t counted;
        char sql[256];

        assert_int_equal(sscanf(line, "TRACK %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &allocs,
                                &frees, &bytes, &counted),
                         4);
        snprintf(sql, sizeof(sql),
                 "select sum(iif(kind = 'alloc', block_size, -block_size)) from (select kind, "
                 "block_size from event where kind in ('alloc', 'free') order by seq limit "
                 "%" PRId64 ")",
                 allocs + frees);
        assert_int_equal(sql_int(program_path("trace.db"), sql), bytes);
        assert_int_equal(counted, bytes);
    }
    assert_int_equal(count, 9);
    program_release(&p);
}

/*
 * Of the blocks of at least 1 MiB that are there at the peak: how many have neither shape nor dtype, and are no
 * workspace of a library, or no line of the program's.
 */
#define UNKNOWN_AT_PEAK                                                                            \
    "with peak as (select peak_seq as seq from phase_stat order by allocated_peak desc, "          \
    "first_seq "                                                                                   \
    "limit 1) select count(*) from peak join block b on b.alloc_seq <= peak.seq and (b.free_seq "  \
    "is "                                                                                          \
    "null or b.free_seq > peak.seq) where b.block_size >= 1 << 20 and ((b.tensor is null and "     \
    "b.category <> 'workspace') or ifnull(b.line, 0) = 0)"

static void at_the_peak_every_block_has_shape_dtype_and_line(void **state)
{
    static const char *const PROGRAMS[] = {
        "plain_loop", "conv_amp", "lm_lstm", "unet3d", "experts", "graphs", "selective_checkpoint"};

    (void)state;
    for (size_t i = 0; i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++) {
        struct program p = corpus_record(PROGRAMS[i], 0, CORPUS_GPU);
        const int64_t unknown = sql_int(program_path("trace.db"), UNKNOWN_AT_PEAK);

        if (unknown)
            fail_msg("%s: of %" PRId64 " blocks something is not known", PROGRAMS[i], unknown);
        program_release(&p);
    }
}

/* How many tensors have this name and, once, this category. */
static int64_t named(const char *name, const char *category)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "select count(distinct t.id) from tensor t join event e on e.block = t.block where "
             "t.name = '%s' and e.category = '%s'",
             name, category);
    return sql_int(program_path("trace.db"), sql);
}

static void parameters_gradients_and_states_of_the_optimizer_have_names(void **state)
{
    struct program p = corpus_record("plain_loop", 0, CORPUS_GPU);

    (void)state;
    assert_int_equal(named("0.weight", "parameter"), 1);
    assert_int_equal(named("2.bias", "parameter"), 1);
    assert_int_equal(named("grad of 0.weight", "gradient"), 3); /* one a step */
    assert_int_equal(named("exp_avg of 0.weight", "optimizer"), 1);
    assert_int_equal(named("exp_avg_sq of 2.bias", "optimizer"), 1);
    /* AddmmBackward0 of the first layer, and its line */
    assert_int_equal(sql_int(program_path("trace.db"),
                             "select count(*) from event where kind = 'alloc' and step = 1 and op "
                             "= 'AddmmBackward0' and module = '0' and size = 524288 and line = 12"),
                     1);
    program_release(&p);
}

/* Parts of one buffer are named together, and what only an optimizer knows by the program's variables. */
static void parameters_that_are_parts_of_a_buffer_or_in_no_module_have_names(void **state)
{
    static const char *const ALONE[] = {
        "w (param_groups[0][0])", "layers[1][''w''] (param_groups[0][1])",
        "scales.low (param_groups[0][2])", "biases[2] (param_groups[0][5])"};
    struct program p = corpus_record("observed/places", 0, CORPUS_GPU);

    (void)state;
    assert_int_equal(named("4 parameters, 0.weight to 2.bias", "parameter"), 1);
    assert_int_equal(named("param_groups[0][2]", "optimizer"), 1);
    assert_int_equal(named("momentum_buffer of param_groups[0][2]", "optimizer"), 1);
    for (size_t i = 0; i < sizeof(ALONE) / sizeof(ALONE[0]); i++) {
        char state_name[96];

        snprintf(state_name, sizeof(state_name), "exp_avg of %s", ALONE[i]);
        if (named(ALONE[i], "parameter") != 1 || named(state_name, "optimizer") != 1)
            fail_msg("%s is no parameter, or has no state", ALONE[i]);
    }
    assert_int_equal(
        sql_int(program_path("trace.db"),
                "select count(*) from tensor where name like '4 parameters, %' and sizes = "
                "'[1050112]'"),
        1);
    program_release(&p);
}

/* They are known from their second backward on. */
static void leaves_that_a_program_trains_without_a_module_have_names(void **state)
{
    static const char *const NAMES[] = {"w", "layers[0]", "layers[1]"};
    struct program p = corpus_record("observed/leaves", 0, CORPUS_GPU);

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char of[64];

        snprintf(of, sizeof(of), "grad of %s", NAMES[i]);
        if (named(NAMES[i], "parameter") != 1 || named(of, "gradient") != 3)
            fail_msg("%s is no parameter, or has not three gradients", NAMES[i]);
    }
    assert_int_equal(named("x", "parameter"), 0);
    program_release(&p);
}

static void the_same_program_has_the_same_events_twice(void **state)
{
    struct program p = corpus_record("plain_loop", 0, CORPUS_GPU);
    struct program diff;

    (void)state;
    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("first.db")), 0);
    p = corpus_record("plain_loop", 0, CORPUS_GPU);
    diff = program_run("diff", "--by", "tensor", program_path("first.db"), program_path("trace.db"),
                       NULL);
    if (diff.status != 0) /* 1: something differs */
        fail_msg("status %d: %s%s", diff.status, diff.out, diff.err);
    program_release(&diff);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_loop_has_its_known_peaks_and_the_line_of_its_first_host_read),
        cmocka_unit_test(mixed_precision_with_workers_has_its_known_peaks),
        cmocka_unit_test(expandable_segments_have_their_known_peaks),
        cmocka_unit_test(recurrent_networks_have_their_known_peaks_and_report_unknown_sizes),
        cmocka_unit_test(of_warnings_the_user_sees_the_programs_own_alone),
        cmocka_unit_test(memory_runs_out_at_the_capacity_of_the_gpu),
        cmocka_unit_test(a_package_that_is_run_is_the_program_and_not_what_starts_it),
        cmocka_unit_test(nothing_is_noted_of_a_thread_that_is_not_observed),
        cmocka_unit_test(what_autograd_saves_is_known),
        cmocka_unit_test(of_a_graph_that_is_released_in_part_the_rest_is_known),
        cmocka_unit_test(of_a_second_run_the_op_that_it_ends_in_is_not_counted),
        cmocka_unit_test(of_ops_without_a_formula_the_names_are_said),
        cmocka_unit_test(an_object_that_takes_the_place_of_another_is_not_taken_for_it),
        cmocka_unit_test(results_of_an_op_that_runs_out_of_memory_are_temporaries),
        cmocka_unit_test(where_memory_runs_out_is_known),
        cmocka_unit_test(each_host_read_of_a_device_value_is_counted),
        cmocka_unit_test(late_streams_reserve_more_for_a_batch_that_is_prefetched),
        cmocka_unit_test(late_streams_do_not_change_a_plain_loop),
        cmocka_unit_test(with_uniform_values_integers_are_true_and_choices_are_even),
        cmocka_unit_test(uniform_values_do_not_change_a_plain_loop),
        cmocka_unit_test(a_compiled_network_has_its_known_peaks),
        cmocka_unit_test(what_compiled_functions_hold_is_freed_with_them),
        cmocka_unit_test(counts_printed_by_a_tensor_counter_equal_the_trace),
        cmocka_unit_test(the_same_program_has_the_same_events_twice),
        cmocka_unit_test(at_the_peak_every_block_has_shape_dtype_and_line),
        cmocka_unit_test(parameters_gradients_and_states_of_the_optimizer_have_names),
        cmocka_unit_test(parameters_that_are_parts_of_a_buffer_or_in_no_module_have_names),
        cmocka_unit_test(leaves_that_a_program_trains_without_a_module_have_names),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
