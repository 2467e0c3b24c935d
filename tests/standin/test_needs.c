/*
 * tests/standin/test_needs.c - each needed function is listed once, under the library it is imported from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "standin/needs.h"
#include "tests/standin/shared.h"

static const struct sti_need *library(const struct sti_needs *needs, const char *soname)
{
    for (size_t i = 0; i < needs->count; i++)
        if (strcmp(needs->libraries[i].soname, soname) == 0)
            return &needs->libraries[i];
    return NULL;
}

/* How often a function is in a library, and its last version. */
static int times(const struct sti_need *need, const char *name, const char **version)
{
    int n = 0;

    assert_non_null(need);
    for (size_t i = 0; i < need->count; i++)
        if (strcmp(need->symbols[i].name, name) == 0) {
            *version = need->symbols[i].version;
            n++;
        }
    return n;
}

static void the_cuda_symbols_a_library_imports_are_collected(void **state)
{
    struct sti_needs needs = {.strings = NULL};
    struct vs_error err = VS_ERROR_INIT;
    const char *version = NULL;

    (void)state;
    if (sti_needs_file(&needs, shared_fake_torch(), &err) ||
        sti_needs_file(&needs, shared_fake_torch(), &err)) /* twice is as once */
        fail_msg("%s", err.text);
    sti_needs_settle(&needs);
    assert_int_equal(needs.count, 2);
    assert_int_equal(times(library(&needs, "libcudart.so.13"), "cudaMalloc", &version), 1);
    assert_string_equal(version, "libcudart.so.13");
    assert_int_equal(times(library(&needs, "libnccl.so.2"), "ncclGetVersion", &version), 1);
    assert_null(version);
    assert_null(library(&needs, "libplain.so.1"));
    sti_needs_release(&needs);
}

static void a_function_looked_up_by_name_gets_the_version_of_its_library(void **state)
{
    struct sti_needs needs = {.strings = NULL};
    const char *version = NULL;

    (void)state;
    sti_needs_symbol(&needs, "libcudart.so.12", "cudaFree", "libcudart.so.12");
    sti_needs_function(&needs, "cudaMalloc");
    sti_needs_function(&needs, "cudaFree");
    sti_needs_function(&needs, "nvmlInit_v2"); /* no library in the list has it */
    sti_needs_settle(&needs);
    assert_int_equal(times(library(&needs, "libcudart.so.12"), "cudaMalloc", &version), 1);
    assert_string_equal(version, "libcudart.so.12");
    assert_int_equal(times(library(&needs, "libcudart.so.12"), "cudaFree", &version), 1);
    assert_int_equal(needs.count, 1);
    sti_needs_release(&needs);
}

static void a_function_with_two_versions_is_listed_twice(void **state)
{
    struct sti_needs needs = {.strings = NULL};
    const char *version = NULL;

    (void)state;
    sti_needs_symbol(&needs, "libx.so", "f", "V1");
    sti_needs_symbol(&needs, "libx.so", "f", NULL);
    sti_needs_symbol(&needs, "libx.so", "f", "V2");
    sti_needs_symbol(&needs, "libx.so", "f", "V1");
    sti_needs_settle(&needs);
    assert_int_equal(times(library(&needs, "libx.so"), "f", &version), 2);
    sti_needs_release(&needs);
}

/* As texts of a library's data: only whole ones, and only of the driver and of NVML. */
static void functions_looked_up_by_name_are_found_in_the_data_section(void **state)
{
    static const char DATA[] =
        "x\0cuMemCreate\0nvmlInit_v2\0cudaMalloc\0 cuInit\0cu\0cuBad-name\0cuCut";
    struct sti_needs needs = {.strings = NULL};
    struct vs_error err = VS_ERROR_INIT;
    const char *version = NULL;

    (void)state;
    sti_needs_library(&needs, "libcuda.so.1");
    sti_needs_library(&needs, "libnvidia-ml.so.1");
    sti_needs_library(&needs, "libcudart.so.13");
    assert_int_equal(sti_needs_names(&needs, shared_file("data", DATA, sizeof(DATA) - 1), &err),
                     VS_OK);
    assert_int_equal(sti_needs_names(&needs, shared_path("none"), &err), VS_E_IO);
    sti_needs_settle(&needs);
    assert_int_equal(library(&needs, "libcuda.so.1")->count, 1);
    assert_int_equal(times(library(&needs, "libcuda.so.1"), "cuMemCreate", &version), 1);
    assert_int_equal(times(library(&needs, "libnvidia-ml.so.1"), "nvmlInit_v2", &version), 1);
    assert_int_equal(library(&needs, "libcudart.so.13")->count, 0);
    sti_needs_release(&needs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cuda_symbols_a_library_imports_are_collected),
        cmocka_unit_test(a_function_looked_up_by_name_gets_the_version_of_its_library),
        cmocka_unit_test(a_function_with_two_versions_is_listed_twice),
        cmocka_unit_test(functions_looked_up_by_name_are_found_in_the_data_section),
    };

    return cmocka_run_group_tests(tests, NULL, shared_cleanup);
}
