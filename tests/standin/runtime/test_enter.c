/*
 * tests/standin/runtime/test_enter.c - a library that is linked with CUDA runs over the stand-in, and a function that
 * is not simulated reports its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin/torch.h"
#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

/* The fake of PyTorch, loaded after the stubs; libplain.so.1, which is not CUDA's, is found as usual. */
static void *torch_load(void)
{
    static void *torch;
    char path[640];

    if (torch)
        return torch;
    snprintf(path, sizeof(path), "%s/fake/standin/cuda/libplain.so.1", shared_build());
    if (!dlopen(path, RTLD_NOW))
        fail_msg("%s", dlerror());
    torch = dlopen(shared_fake_torch(), RTLD_NOW);
    if (!torch)
        fail_msg("%s", dlerror());
    return torch;
}

static void *function(const char *name)
{
    void *address = dlsym(torch_load(), name);

    assert_non_null(address);
    return address;
}

static void a_library_finds_cuda_s_functions_by_name_and_version(void **state)
{
    void *memory = NULL;
    int version = 0;

    (void)state;
    assert_int_equal(((int (*)(void))(uintptr_t)function("fake_devices"))(), 2);
    assert_int_equal(
        ((int (*)(void **, unsigned long))(uintptr_t)function("fake_malloc"))(&memory, 1000), 0);
    assert_non_null(memory);
    assert_int_equal(((int (*)(int *))(uintptr_t)function("fake_nccl"))(&version), 0);
    assert_true(version > 20000);
    assert_int_equal(((int (*)(void))(uintptr_t)function("fake_plain"))(), 1);
}

static void a_function_without_a_simulation_fails_and_is_named_once(void **state)
{
    int (*unforeseen)(int) = (int (*)(int))(uintptr_t)function("fake_unforeseen");
    const char *line;

    (void)state;
    assert_int_equal(unforeseen(5), 801); /* cudaErrorNotSupported */
    assert_int_equal(unforeseen(5), 801);
    line = strstr(simulated_log(), "unknown libcudart.so.13 cudaFoo\n");
    assert_non_null(line);
    assert_null(strstr(strchr(line, '\n'), "cudaFoo"));
}

static void simulated_libraries_are_recognized_by_name(void **state)
{
    (void)state;
    assert_true(simulated_open()->simulates("libcudart.so.13"));
    assert_true(simulated_open()->simulates("libcuda.so.1"));
    assert_true(simulated_open()->simulates("libnvidia-ml.so.1"));
    assert_false(simulated_open()->simulates("libplain.so.1"));
    assert_non_null(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
}

static void the_stub_libraries_are_in_a_folder_for_compilers(void **state)
{
    char path[700];
    size_t len;

    (void)state;
    simulated_open()->stub_folder(path, sizeof(path) - 20);
    len = strlen(path);
    assert_int_equal(strncmp(path, shared_path("cache"), strlen(shared_path("cache"))), 0);
    snprintf(path + len, sizeof(path) - len, "/libcuda.so.1");
    assert_int_equal(access(path, R_OK), 0);
}

/* It needs a function of a library that is loaded without it, and a library that PyTorch does not need at all. */
static void further_symbols_of_an_extension_are_resolved(void **state)
{
    char text[1024];
    void *extension;
    char path[640];

    (void)state;
    snprintf(path, sizeof(path), "%s/fake/standin/extension.so", shared_build());
    assert_null(dlopen(path, RTLD_NOW));
    if (simulated_open()->admit(path, text, sizeof(text)))
        fail_msg("%s", text);
    extension = dlopen(path, RTLD_NOW);
    if (!extension)
        fail_msg("%s", dlerror());
    assert_int_equal(((int (*)(void))(uintptr_t)dlsym(extension, "fake_extension"))(), 801 + 1);
    assert_non_null(strstr(simulated_log(), "cudaMore"));
    assert_non_null(strstr(simulated_log(), "unknown libnvfake.so.1 nvfakeStart"));
    assert_true(simulated_open()->simulates("libnvfake.so.1"));
    assert_int_equal(simulated_open()->admit(path, text, sizeof(text)),
                     0); /* again: nothing to do */
}

static void a_machine_without_pytorch_s_libraries_is_refused(void **state)
{
    /* in a process that simulates nothing yet */
    char command[2048];

    (void)state;
    snprintf(command, sizeof(command), "'%s/tests/standin/runtime/test_enter' --refused",
             shared_build());
    assert_int_equal(system(command), 0);
}

/* Run by the test above. */
static int refused(void)
{
    const struct simulated *simulated = simulated_open();
    struct sti_request request = {.torch = shared_folder(), .gpu = "t4", .cuda = 13020};
    char text[1024];
    char torch_lib[640];

    snprintf(torch_lib, sizeof(torch_lib), "%s/fake/standin/torch/lib", shared_build());
    if (simulated->enter(&request, text, sizeof(text)) != STI_FAILED ||
        !strstr(text, "no libraries of PyTorch"))
        return 1;
    shared_file("libtorch_cpu.so", "", 0);
    if (simulated->enter(&request, text, sizeof(text)) != STI_NO_CUDA ||
        !strstr(text, "for the CPU alone"))
        return 2;
    request.torch = torch_lib;
    request.cuda = 11080;
    if (simulated->enter(&request, text, sizeof(text)) != STI_NO_CUDA ||
        !strstr(text, "built for CUDA 11.8"))
        return 5;
    request.gpu = "a gpu that is not";
    if (simulated->enter(&request, text, sizeof(text)) != STI_FAILED)
        return 3;
    request.gpu = "";
    if (sti_driver_path("") && simulated->enter(&request, text, sizeof(text)) != STI_HAS_DRIVER)
        return 4;
    shared_cleanup(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_finds_cuda_s_functions_by_name_and_version),
        cmocka_unit_test(a_function_without_a_simulation_fails_and_is_named_once),
        cmocka_unit_test(simulated_libraries_are_recognized_by_name),
        cmocka_unit_test(further_symbols_of_an_extension_are_resolved),
        cmocka_unit_test(the_stub_libraries_are_in_a_folder_for_compilers),
        cmocka_unit_test(a_machine_without_pytorch_s_libraries_is_refused),
    };

    if (argc > 1 && strcmp(argv[1], "--refused") == 0)
        return refused();
    return cmocka_run_group_tests(tests, simulated_setup, shared_cleanup);
}
