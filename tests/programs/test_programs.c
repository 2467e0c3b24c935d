/*
 * tests/programs/test_programs.c - programs that use PyTorch, recorded over a simulated GPU: the three peaks of
 * the trace are those that PyTorch says of itself at the end, to the byte.
 *
 * PyTorch is that of $VRAMSCOPE_TORCH_PYTHON, or else of python3; without one that is built for CUDA the tests are
 * skipped. It needs none of the nvidia packages.
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
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

/* A Python whose torch/lib has the libraries of CUDA; found without importing torch. */
static const char *python(void)
{
    static char found[512];
    const char *given = getenv("VRAMSCOPE_TORCH_PYTHON");
    char command[1024];

#ifndef __x86_64__
    tests_skip("a GPU is simulated on x86-64 alone");
#endif
    if (*found)
        return found;
    snprintf(found, sizeof(found), "%s", given && *given ? given : "python3");
    snprintf(
        command, sizeof(command),
        "'%s' -c 'import importlib.util as u, os, sys; s = u.find_spec(\"torch\"); sys.exit(not (s "
        "and "
        "os.path.exists(os.path.join(os.path.dirname(s.origin), \"lib\", \"libtorch_cuda.so\"))))' "
        ">'%s' 2>&1",
        found, program_path("python.said"));
    if (system(command) != 0) {
        char name[sizeof(found)];

        snprintf(name, sizeof(name), "%s", found);
        found[0] = '\0';
        tests_skip("%s has no PyTorch for CUDA (VRAMSCOPE_TORCH_PYTHON names one that has)", name);
    }
    return found;
}

static int setup(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", program_path("cache"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("RANK");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Record a program of this folder as trace.db; fails the test where it does not end well. */
static struct program record(const char *name, const char *gpu)
{
    const char *interpreter = python();
    char path[256];
    struct program p;

    snprintf(path, sizeof(path), "tests/programs/%s.py", name);
    p = program_run("record", "--gpu", gpu, "-f", "-o", program_path("trace.db"), "--", interpreter,
                    path, NULL);
    if (p.status != 0)
        fail_msg("%s: status %d: %s%s", name, p.status, p.out, p.err);
    if (!strstr(p.err, "runs over a stand-in that simulates"))
        fail_msg("%s: no line says that a GPU is simulated: %s", name, p.err);
    return p;
}

static char *report(const char *trace)
{
    struct program p = program_run("report", "--json", trace, NULL);
    char *json = p.out;

    if (p.status != 0)
        fail_msg("report: %s", p.err);
    free(p.err);
    return json;
}

/* The peaks of the trace are the figures that the program printed. */
static void peaks_check(const struct program *p, const char *trace)
{
    static const char *const PATHS[] = {"$.peak.allocated", "$.peak.requested", "$.peak.reserved"};
    const char *line = strstr(p->out, "FIGURES ");
    int64_t figures[3];
    char *json = report(trace);

    if (!line || sscanf(line, "FIGURES %" SCNd64 " %" SCNd64 " %" SCNd64, &figures[0], &figures[1],
                        &figures[2]) != 3)
        fail_msg("no figures: %s%s", p->out, p->err);
    for (int i = 0; i < 3; i++)
        if (json_int(json, PATHS[i]) != figures[i])
            fail_msg("%s is %" PRId64 " in the trace, and PyTorch says %" PRId64, PATHS[i],
                     json_int(json, PATHS[i]), figures[i]);
    free(json);
}

static void program_check(const char *name, const char *gpu)
{
    struct program p = record(name, gpu);

    peaks_check(&p, program_path("trace.db"));
    program_release(&p);
}

static void a_plain_loop_has_its_known_peaks_and_the_line_of_its_first_host_read(void **state)
{
    struct program p = record("plain_loop", "a100-80");
    char *json = report(program_path("trace.db"));
    char *first = json_text(json, "$.played.first_read");

    (void)state;
    peaks_check(&p, program_path("trace.db"));
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
    program_check("conv_amp", "a100-80");
}

static void expandable_segments_have_their_known_peaks(void **state)
{
    (void)state;
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    program_check("conv_amp", "a100-80");
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
}

static void recurrent_networks_have_their_known_peaks_and_report_unknown_sizes(void **state)
{
    struct program p = record("lstm", "rtx3090");

    (void)state;
    peaks_check(&p, program_path("trace.db"));
    assert_non_null(strstr(p.err, "not known: cuDNN (workspace and reserve"));
    program_release(&p);
}

static void graphs_and_pools_have_their_known_peaks(void **state)
{
    (void)state;
    program_check("graphs", "a100-80");
}

static void memory_runs_out_at_the_capacity_of_the_gpu(void **state)
{
    struct program p = record("out_of_memory", "rtx3060");
    const char *line = strstr(p.out, "BLOCKS ");

    (void)state;
    assert_non_null(line);
    /* 11,938 MiB hold 11 blocks of 1 GiB */
    assert_int_equal(strncmp(line, "BLOCKS 11 12517900288\n", 22), 0);
    program_release(&p);
}

static void each_host_read_of_a_device_value_is_counted(void **state)
{
    struct program p = record("values", "t4");
    char *json = report(program_path("trace.db"));

    (void)state;
    peaks_check(&p, program_path("trace.db"));
    assert_true(json_int(json, "$.played.host_reads") >= 6);
    assert_true(json_int(json, "$.played.host_read_bytes") >= 2 * 64 * 64 * 4);
    free(json);
    program_release(&p);
}

static void other_libraries_have_their_known_peaks(void **state)
{
    (void)state;
    program_check("libraries", "a100-80");
}

/* Triton lies beside PyTorch, and compiles a module with the C compiler. */
static void a_compiled_network_has_its_known_peaks(void **state)
{
    char command[1024];

    (void)state;
    snprintf(
        command, sizeof(command),
        "'%s' -c 'import importlib.util as u, shutil, sys; sys.exit(not (u.find_spec(\"triton\")"
        " and (shutil.which(\"gcc\") or shutil.which(\"clang\"))))'",
        python());
    if (system(command) != 0)
        tests_skip("torch.compile needs Triton and a C compiler");
    program_check("compiled", "a100-80");
}

static void two_ranks_have_a_trace_each(void **state)
{
    const char *interpreter = python();
    struct program p;

    (void)state;
    p = program_run("record", "--gpu", "h100", "-f", "-o", program_path("trace.db"), "--",
                    interpreter, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
                    "2", "tests/programs/two_ranks.py", NULL);
    if (p.status != 0)
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    peaks_check(&p, program_path("trace.db"));
    peaks_check(&p, program_path("trace.rank1.db"));
    program_release(&p);
}

static void the_same_program_has_the_same_events_twice(void **state)
{
    struct program p = record("plain_loop", "a100-80");
    struct program diff;

    (void)state;
    program_release(&p);
    assert_int_equal(rename(program_path("trace.db"), program_path("first.db")), 0);
    p = record("plain_loop", "a100-80");
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
        cmocka_unit_test(graphs_and_pools_have_their_known_peaks),
        cmocka_unit_test(memory_runs_out_at_the_capacity_of_the_gpu),
        cmocka_unit_test(each_host_read_of_a_device_value_is_counted),
        cmocka_unit_test(other_libraries_have_their_known_peaks),
        cmocka_unit_test(a_compiled_network_has_its_known_peaks),
        cmocka_unit_test(two_ranks_have_a_trace_each),
        cmocka_unit_test(the_same_program_has_the_same_events_twice),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
