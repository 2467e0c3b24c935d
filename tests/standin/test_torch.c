/*
 * tests/standin/test_torch.c - the installed PyTorch, its cache key, and whether there is a driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin/torch.h"
#include "tests/standin/shared.h"

static const char *const FUNCTIONS[] = {"cudaFree", "cuInit", "nvmlInit_v2", NULL};

/* An installation in the test's folder: the fake, and empty files of these names. */
static const char *installation(const char *const *names, bool with_cuda)
{
    char command[1600];
    const char *folder = shared_path("lib");

    snprintf(command, sizeof(command), "rm -rf '%s' && mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    if (with_cuda) {
        snprintf(command, sizeof(command), "cp '%s' '%s'", shared_fake_torch(), folder);
        assert_int_equal(system(command), 0);
    }
    for (; *names; names++) {
        char name[64];

        snprintf(name, sizeof(name), "lib/%s", *names);
        shared_file(name, "", 0);
    }
    return shared_path("lib");
}

static void check(const char *const *names, enum vs_status status, const char *word)
{
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(sti_torch_check(installation(names, false), &err), status);
    if (!strstr(err.text, word))
        fail_msg("%s: without the word `%s`", err.text, word);
}

static void builds_that_have_no_cuda_are_refused_with_what_to_install(void **state)
{
    static const char *const CPU[] = {"libtorch_cpu.so", NULL};
    static const char *const ROCM[] = {"libtorch_cpu.so", "libtorch_hip.so", NULL};
    static const char *const NONE[] = {NULL};
    static const char *const OTHER[] = {"libtorch_cpu.so", "libtorch_cuda.so", NULL};

    (void)state;
    check(CPU, VS_E_UNSUPPORTED, "for the CPU alone");
    check(CPU, VS_E_UNSUPPORTED, "install PyTorch's build for CUDA");
    check(ROCM, VS_E_UNSUPPORTED, "ROCm");
    check(NONE, VS_E_NOT_FOUND, "no libraries of PyTorch");
    check(OTHER, VS_E_UNSUPPORTED, "no ELF file");
}

static uint64_t key_of(const char *folder, const char *const *functions)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t key = 0;

    if (sti_torch_key(folder, functions, &key, &err))
        fail_msg("%s", err.text);
    return key;
}

static void the_key_changes_with_a_library_and_with_the_functions(void **state)
{
    static const char *const FEWER[] = {"cudaFree", NULL};
    static const char *const NAMES[] = {"libc10_cuda.so", NULL};
    const char *folder = installation(NAMES, true);
    const uint64_t key = key_of(folder, FUNCTIONS);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[600];

    (void)state;
    assert_true(key_of(folder, FUNCTIONS) == key);
    assert_true(key_of(folder, FEWER) != key);
    snprintf(path, sizeof(path), "%s/libc10_cuda.so", folder);
    assert_int_equal(utimensat(-1, path, times, 0), 0);
    assert_true(key_of(folder, FUNCTIONS) != key);
}

static bool has(const struct sti_needs *needs, const char *soname, const char *function)
{
    for (size_t i = 0; i < needs->count; i++)
        for (size_t k = 0; k < needs->libraries[i].count; k++)
            if (strcmp(needs->libraries[i].soname, soname) == 0 &&
                strcmp(needs->libraries[i].symbols[k].name, function) == 0)
                return true;
    return false;
}

static void imported_and_looked_up_functions_are_needed(void **state)
{
    static const char *const NAMES[] = {NULL};
    struct sti_needs needs;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    if (sti_torch_needs(installation(NAMES, true), FUNCTIONS, &needs, &err))
        fail_msg("%s", err.text);
    assert_true(has(&needs, "libcudart.so.13", "cudaFoo"));
    assert_true(has(&needs, "libcudart.so.13", "cudaFree"));
    assert_true(has(&needs, "libcuda.so.1", "cuInit"));
    assert_true(has(&needs, "libnvidia-ml.so.1", "nvmlInit_v2"));
    sti_needs_release(&needs);
}

static void a_driver_is_recognized_by_its_device_files(void **state)
{
    char command[600];

    (void)state;
    assert_null(sti_driver_path(shared_folder()));
    snprintf(command, sizeof(command), "mkdir '%s/dev' && touch '%s/dev/nvidiactl'",
             shared_folder(), shared_folder());
    assert_int_equal(system(command), 0);
    assert_string_equal(sti_driver_path(shared_folder()), "/dev/nvidiactl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_that_have_no_cuda_are_refused_with_what_to_install),
        cmocka_unit_test(the_key_changes_with_a_library_and_with_the_functions),
        cmocka_unit_test(imported_and_looked_up_functions_are_needed),
        cmocka_unit_test(a_driver_is_recognized_by_its_device_files),
    };

    return cmocka_run_group_tests(tests, NULL, shared_cleanup);
}
