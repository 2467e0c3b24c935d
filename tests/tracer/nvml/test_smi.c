/*
 * tests/tracer/nvml/test_smi.c - the data of the driver's library NVML, and the messages when it fails; the library is
 * the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tracer/nvml/smi.h"

#define MIB (UINT64_C(1) << 20)

static const char *const NAMES[] = {
#define NVML_API(name, args, is_needed) #name,
#include "tracer/nvml/nvml_api.def"
#undef NVML_API
};
#define NAME_COUNT (sizeof(NAMES) / sizeof(NAMES[0]))

/* Beside the program under test. */
static void use_fake(void)
{
    const char *program = getenv("VRAMSCOPE");
    char path[4096];
    char *slash;

    snprintf(path, sizeof(path), "%s", program ? program : "build/vramscope");
    slash = strrchr(path, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/fake/libnvidia-ml.so.1");
    setenv("VRAMSCOPE_NVML", path, 1);
}

static int setup(void **state)
{
    (void)state;
    use_fake();
    unsetenv("FAKE_NVML_FAILS");
    unsetenv("FAKE_NVML_GPUS");
    unsetenv("FAKE_NVML_PROCESSES");
    setenv("FAKE_NVML_LOG", program_path("nvml.log"), 1);
    unlink(program_path("nvml.log"));
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static unsigned lines_of_log(const char *line)
{
    char text[256];
    unsigned count = 0;
    FILE *f = fopen(program_path("nvml.log"), "r");

    while (f && fgets(text, sizeof(text), f))
        count += !strncmp(text, line, strlen(line));
    if (f)
        fclose(f);
    return count;
}

static enum vs_status read_all(struct smi *out, struct vs_error *err)
{
    struct nvml_api api;

    memset(out, 0, sizeof(*out));
    if (nvml_api_load(&api, err))
        fail_msg("%s", err->text);
    return smi_read(&api, out, err);
}

static void every_gpu_has_its_memory_and_its_processes(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct smi smi;
    const struct smi_gpu *gpu;

    (void)state;
    setenv("FAKE_NVML_GPUS", "3", 1);
    assert_int_equal(read_all(&smi, &err), VS_OK);
    assert_int_equal(smi.count, 3);
    assert_string_equal(smi.driver, "580.0");
    gpu = &smi.gpus[0];
    assert_string_equal(gpu->name, "GPU of a test 1");
    assert_string_equal(gpu->why, "");
    assert_int_equal(gpu->total, 143771 * MIB);
    assert_int_equal(gpu->reserved, 629 * MIB);
    assert_int_equal(gpu->total, gpu->reserved + gpu->used + gpu->free);
    assert_true(gpu->has_processes);
    assert_int_equal(gpu->process_count, 2); /* in both lists, and once here */
    assert_int_equal(smi_process_bytes(gpu, (unsigned)getpid()), 100 * MIB);
    assert_int_equal(smi_process_bytes(gpu, 101), SMI_UNKNOWN); /* not reported */
    assert_int_equal(smi_process_bytes(gpu, 4000000), SMI_UNKNOWN);
    assert_string_equal(gpu->processes[1].name, "program-101");
    assert_ptr_equal(smi_find(&smi, 2, 0x65, 1), &smi.gpus[1]);
    assert_null(smi_find(&smi, 2, 0x66, 0));
    assert_null(smi_find(&smi, -1, -1, -1)); /* which of three? */
    smi_release(&smi);
    assert_int_equal(lines_of_log("nvmlInit"), 1);
    assert_int_equal(lines_of_log("nvmlShutdown"), 1);
}

static void the_process_list_grows_until_it_fits(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct smi smi;

    (void)state;
    setenv("FAKE_NVML_PROCESSES", "700", 1);
    assert_int_equal(read_all(&smi, &err), VS_OK);
    assert_true(smi.gpus[0].has_processes);
    assert_true(smi.gpus[0].process_count >= 700);
    assert_int_equal(smi_process_bytes(&smi.gpus[0], 100 + SMI_PROCESSES_MAX - 1),
                     SMI_PROCESSES_MAX * 100 * MIB);
    smi_release(&smi);
}

/* Every call in turn: no crash, no invented figure, and the library is shut down again. */
static void every_nvml_call_may_fail(void **state)
{
    static const int RESULTS[] = {1,         NVML_NO_PERMISSION, NVML_NO_DRIVER,
                                  NVML_LOST, NVML_MISMATCH,      999};

    (void)state;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        for (size_t k = 0; k < sizeof(RESULTS) / sizeof(RESULTS[0]); k++) {
            struct vs_error err = VS_ERROR_INIT;
            struct smi smi;
            char fails[128];
            bool is_fatal =
                !strcmp(NAMES[i], "nvmlInit_v2") || !strcmp(NAMES[i], "nvmlDeviceGetCount_v2");
            enum vs_status st;

            unlink(program_path("nvml.log"));
            snprintf(fails, sizeof(fails), "%s:%d", NAMES[i], RESULTS[k]);
            setenv("FAKE_NVML_FAILS", fails, 1);
            setenv("FAKE_NVML_GPUS", "2", 1);
            st = read_all(&smi, &err);
            assert_int_equal(st, is_fatal ? VS_E_UNSUPPORTED : VS_OK);
            if (is_fatal) {
                if (!strstr(err.text, nvml_result_text(RESULTS[k])))
                    fail_msg("%s: \"%s\" does not say why", NAMES[i], err.text);
            } else {
                assert_int_equal(smi.count, 2);
                assert_string_equal(smi.gpus[1].why, ""); /* the other GPU is still seen */
            }
            if (!strcmp(NAMES[i], "nvmlDeviceGetHandleByIndex_v2")) {
                assert_non_null(strstr(smi.gpus[0].why, nvml_result_text(RESULTS[k])));
                assert_int_equal(smi.gpus[0].used, SMI_UNKNOWN);
            }
            if (!strcmp(NAMES[i], "nvmlDeviceGetMemoryInfo_v2")) {
                assert_int_equal(smi.gpus[0].reserved, SMI_UNKNOWN);
                assert_int_equal(smi.gpus[0].total, smi.gpus[0].used + smi.gpus[0].free);
            }
            if (!strcmp(NAMES[i], "nvmlDeviceGetComputeRunningProcesses_v3"))
                assert_false(smi.gpus[0].has_processes);
            if (!strcmp(NAMES[i], "nvmlDeviceGetPciInfo_v3"))
                assert_int_equal(smi.gpus[0].bus, -1);
            smi_release(&smi);
            assert_int_equal(lines_of_log("nvmlInit"), 1);
            assert_int_equal(lines_of_log("nvmlShutdown"), strcmp(NAMES[i], "nvmlInit_v2") != 0);
        }
    }
}

static void a_missing_library_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct nvml_api api;
    struct program p;

    (void)state;
    setenv("VRAMSCOPE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    assert_int_equal(nvml_api_load(&api, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "/nonexistent/libnvidia-ml.so.1 is not found"));
    p = program_run("smi", NULL);
    assert_int_equal(p.status, 1);
    assert_string_equal(p.out, "");
    assert_non_null(strstr(p.err, "comes with NVIDIA's driver"));
    program_release(&p);
    setenv("VRAMSCOPE_NVML", "libz.so.1", 1); /* a library, and another one */
    assert_int_equal(nvml_api_load(&api, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no nvmlInit_v2"));
}

static void smi_prints_text_and_json(void **state)
{
    struct program p;
    char *value;

    (void)state;
    setenv("FAKE_NVML_GPUS", "2", 1);
    p = program_run("smi", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(
        strstr(p.out, "driver 580.0, 2 GPUs\nGPU 0  GPU of a test 1  00000002:65:00\n"));
    assert_non_null(
        strstr(p.out, "1000.0 MiB  used by all processes together, as nvidia-smi prints it"));
    assert_non_null(strstr(p.out, "not known  process 101 program-101"));
    program_release(&p);
    setenv("FAKE_NVML_FAILS", "nvmlDeviceGetHandleByIndex_v2:15", 1);
    p = program_run("smi", "--json", NULL);
    assert_int_equal(p.status, 0);
    json_expect(p.out, "$.gpus", "array");
    value = json_text(p.out, "$.gpus[0].error");
    assert_non_null(strstr(value, "the GPU is lost"));
    free(value);
    assert_null(json_text(p.out, "$.gpus[0].used"));
    assert_int_equal(json_int(p.out, "$.gpus[1].used"), 1000 * (int64_t)MIB);
    assert_int_equal(json_int(p.out, "$.gpus[1].reserved"), 629 * (int64_t)MIB);
    assert_null(json_text(p.out, "$.gpus[1].processes[1].bytes"));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_gpu_has_its_memory_and_its_processes, setup),
        cmocka_unit_test_setup(the_process_list_grows_until_it_fits, setup),
        cmocka_unit_test_setup(every_nvml_call_may_fail, setup),
        cmocka_unit_test_setup(a_missing_library_is_named, setup),
        cmocka_unit_test_setup(smi_prints_text_and_json, setup),
    };

    return cmocka_run_group_tests_name("tracer/smi", tests, NULL, cleanup);
}
