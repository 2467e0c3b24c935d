/*
 * tests/e2e/test_account.c - the account of nvidia-smi's figure for a run on the host memory device. The driver's
 * library is a fake (tests/tracer/nvml/fake) in which 512 MiB more are in use at each query.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

#define MIB (INT64_C(1) << 20)
#define NET "sample_nets/lenet.py"

/* A file beside the program under test. */
static void name_in(const char *variable, const char *file)
{
    const char *program = getenv("VRAMSCOPE");
    char path[4096];
    char *slash;

    snprintf(path, sizeof(path), "%s", program ? program : "build/vramscope");
    slash = strrchr(path, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/%s", file);
    setenv(variable, path, 1);
}

static int setup(void **state)
{
    (void)state;
    name_in("VRAMSCOPE_PLUGINS", "twin");
    name_in("VRAMSCOPE_NVML", "fake/libnvidia-ml.so.1");
    unsetenv("FAKE_NVML_FAILS");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static struct program report_of(const char *device, const char *capacity, int status)
{
    const char *trace = program_path("run.db");
    struct program p = program_run("record", NET, "--device", device, "-o", trace, "--force",
                                   "--cupti", strcmp(device, "cuda") ? "auto" : "off",
                                   capacity ? "--capacity" : NULL, capacity, NULL);

    if (p.status != status)
        fail_msg("record: status %d: %s", p.status, p.err);
    program_release(&p);
    return program_run("report", trace, "--json", NULL);
}

static int64_t of(const struct program *p, const char *member)
{
    char path[64];

    snprintf(path, sizeof(path), "$.nvidia_smi.%s", member);
    return json_int(p->out, path);
}

static int is_null(const struct program *p, const char *member)
{
    char path[64];
    char *text;

    snprintf(path, sizeof(path), "$.nvidia_smi.%s", member);
    text = json_text(p->out, path);
    free(text);
    return !text;
}

static void the_parts_add_up_to_the_total_of_nvidia_smi(void **state)
{
    struct program p = report_of("cuda", NULL, 0);
    struct program text;

    (void)state;
    assert_int_equal(of(&p, "is_read"), 1);
    assert_int_equal(of(&p, "before"), 1000 * MIB); /* the first answer */
    assert_int_equal(of(&p, "context"), 512 * MIB); /* the second has so much more */
    assert_int_equal(of(&p, "process"), 100 * MIB);
    assert_int_equal(of(&p, "reserved"), 24 * MIB);
    assert_int_equal(of(&p, "beside"), 0); /* the device has nothing but segments */
    assert_int_equal(of(&p, "used"), of(&p, "before") + of(&p, "context") + of(&p, "libraries") +
                                         of(&p, "reserved") + of(&p, "beside") + of(&p, "others"));
    assert_true(is_null(&p, "missing"));
    program_release(&p);
    text = program_run("report", program_path("run.db"), NULL);
    assert_non_null(strstr(text.out, "Why nvidia-smi says "));
    assert_non_null(strstr(text.out, "   512.0 MiB  CUDA context\n"));
    program_release(&text);
    /* the peak page of the TUI says the same */
    text = program_run("tui", program_path("run.db"), "--dump", "--size", "100x70", "--keys", "gkM",
                       NULL);
    assert_non_null(strstr(text.out, "Why nvidia-smi says "));
    assert_non_null(strstr(text.out, "   512.0 MiB  CUDA context"));
    assert_non_null(strstr(text.out, "    24.0 MiB  reserved by the allocator: "));
    program_release(&text);
}

/* Then context and other programs are one figure, and it says so. */
static void without_the_drivers_library_no_figures_are_reported(void **state)
{
    struct program p;

    (void)state;
    setenv("VRAMSCOPE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    p = report_of("cuda", NULL, 0);
    assert_int_equal(of(&p, "is_read"), 0);
    assert_true(is_null(&p, "before") && is_null(&p, "others") && is_null(&p, "process"));
    assert_false(is_null(&p, "missing"));
    assert_int_equal(of(&p, "used"), 24 * MIB);
    program_release(&p);
    p = program_run("report", program_path("run.db"), NULL);
    assert_null(strstr(p.out, "nvidia-smi says"));
    assert_non_null(strstr(p.out, "In use on the GPU by CUDA's account: 24.0 MiB"));
    assert_non_null(strstr(p.out, "/nonexistent/libnvidia-ml.so.1 is not found"));
    program_release(&p);
}

static void the_account_adds_up_although_a_call_of_nvml_fails(void **state)
{
    static const char *const FAILS[] = {
        "nvmlInit_v2:9", "nvmlDeviceGetCount_v2:18", "nvmlDeviceGetHandleByIndex_v2:15",
        "nvmlDeviceGetMemoryInfo_v2:3", "nvmlDeviceGetComputeRunningProcesses_v3:4"};

    (void)state;
    for (size_t i = 0; i < sizeof(FAILS) / sizeof(FAILS[0]); i++) {
        struct program p;
        int64_t before;

        setenv("FAKE_NVML_FAILS", FAILS[i], 1);
        p = report_of("cuda", NULL, 0);
        before = is_null(&p, "before") ? 0 : of(&p, "before");
        assert_int_equal(of(&p, "used"), before + of(&p, "context") + of(&p, "libraries") +
                                             of(&p, "reserved") + of(&p, "beside") +
                                             (is_null(&p, "others") ? 0 : of(&p, "others")));
        program_release(&p);
    }
}

static void an_out_of_memory_report_has_the_account_at_that_event(void **state)
{
    struct program p = report_of("cuda", "2M", 1);

    (void)state;
    assert_int_equal(of(&p, "is_oom"), 1);
    assert_int_equal(of(&p, "is_read"), 0);
    assert_int_equal(of(&p, "event"), json_int(p.out, "$.oom.event"));
    assert_int_equal(of(&p, "reserved"), json_int(p.out, "$.oom.reserved"));
    assert_int_equal(of(&p, "used"), (1000 + 512 + 2) * MIB);
    program_release(&p);
}

static void a_run_without_a_gpu_has_no_account(void **state)
{
    static const char *const DEVICES[] = {"cpu", "meta"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct program p = report_of(DEVICES[i], NULL, 0);

        assert_null(json_text(p.out, "$.nvidia_smi"));
        program_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_parts_add_up_to_the_total_of_nvidia_smi, setup),
        cmocka_unit_test_setup(without_the_drivers_library_no_figures_are_reported, setup),
        cmocka_unit_test_setup(the_account_adds_up_although_a_call_of_nvml_fails, setup),
        cmocka_unit_test_setup(an_out_of_memory_report_has_the_account_at_that_event, setup),
        cmocka_unit_test_setup(a_run_without_a_gpu_has_no_account, setup),
    };

    return cmocka_run_group_tests_name("e2e/account", tests, NULL, cleanup);
}
