/*
 * tests/standin/test_family.c - functions and libraries of CUDA are recognized by their names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "standin/family.h"

static void the_longest_prefix_decides_the_family(void **state)
{
    (void)state;
    assert_int_equal(sti_family_of("cudaMalloc"), STI_RUNTIME);
    assert_int_equal(sti_family_of("__cudaRegisterFatBinary"), STI_RUNTIME_HIDDEN);
    assert_int_equal(sti_family_of("cuMemAlloc_v2"), STI_DRIVER);
    assert_int_equal(sti_family_of("cuFileRead"), STI_CUFILE);
    assert_int_equal(sti_family_of("cublasSgemm_v2"), STI_CUBLAS);
    assert_int_equal(sti_family_of("cublasLtMatmul"), STI_CUBLASLT);
    assert_int_equal(sti_family_of("cusparseLtInit"), STI_CUSPARSELT);
}

static void other_functions_have_no_family(void **state)
{
    (void)state;
    assert_int_equal(sti_family_of("malloc"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of("cup"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of("customer"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of(""), STI_FAMILY_COUNT);
}

static void libraries_are_recognized_with_any_version(void **state)
{
    (void)state;
    assert_int_equal(sti_family_of_library("libcudart.so.13"), STI_RUNTIME);
    assert_int_equal(sti_family_of_library("libcudart.so"), STI_RUNTIME);
    assert_int_equal(sti_family_of_library("libcublasLt.so.12"), STI_CUBLASLT);
    assert_int_equal(sti_family_of_library("libcudart.so13"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of_library("libcusparseLt-f80c68d1.so.0"), STI_CUSPARSELT);
    assert_int_equal(sti_family_of_library("libcusparseLt-f80c.so.0"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of_library("libcusparseLt-"), STI_FAMILY_COUNT);
    assert_int_equal(sti_family_of_library("libc.so.6"), STI_FAMILY_COUNT);
}

static void cuda_s_libraries_are_distinguished_from_others(void **state)
{
    (void)state;
    assert_true(sti_library_is_cuda("libnvjpeg.so.13"));
    assert_true(sti_library_is_cuda("libnppc.so.13"));
    assert_true(sti_library_is_cuda("libcuda.so.1"));
    assert_false(sti_library_is_cuda("libcurl.so.4"));
    assert_false(sti_library_is_cuda("libtorch_cuda.so"));
    assert_false(sti_library_is_cuda("libc10_cuda.so"));
}

static void every_family_fails_with_an_error_code_of_its_library(void **state)
{
    (void)state;
    for (int i = 0; i < STI_FAMILY_COUNT; i++) {
        const struct sti_family_info *info = sti_family_info((enum sti_family)i);

        assert_int_not_equal(info->refusal, 0);
        assert_int_equal(strncmp(info->library, "lib", 3), 0);
        assert_int_not_equal(sti_family_of_library(info->library), STI_FAMILY_COUNT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_prefix_decides_the_family),
        cmocka_unit_test(other_functions_have_no_family),
        cmocka_unit_test(libraries_are_recognized_with_any_version),
        cmocka_unit_test(cuda_s_libraries_are_distinguished_from_others),
        cmocka_unit_test(every_family_fails_with_an_error_code_of_its_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
