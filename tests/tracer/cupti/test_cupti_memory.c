/*
 * tests/tracer/cupti/test_cupti_memory.c - requested memory compared with the memory that CUPTI reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/cupti/cupti_memory.h"

static const char *name_of(void *user, uint32_t call, bool is_driver)
{
    (void)user;
    return is_driver ? "cuMemAlloc_v2" : call == 20 ? "cudaMalloc_v3020" : "cudaFree_v3020";
}

static void seen(struct cupti_memory *m, bool is_taken, uint64_t address, uint64_t bytes,
                 uint64_t op_seq, const char *library)
{
    cupti_memory_seen(m, &(struct cupti_record){.what = is_taken ? CUPTI_TAKEN : CUPTI_GIVEN,
                                                .address = address,
                                                .bytes = bytes,
                                                .op_seq = op_seq,
                                                .call = is_taken ? 20 : 22,
                                                .name = library});
}

static void requested_memory_is_not_foreign_in_either_order(void **state)
{
    struct cupti_memory *m = cupti_memory_new();
    struct sto_foreign *rows;
    size_t count;

    (void)state;
    for (int round = 0; round < 3; round++) { /* the same address again and again */
        cupti_memory_asked(m, true, 0x7000, 512);
        seen(m, true, 0x7000, 512, 3, NULL);
        seen(m, false, 0x7000, 512, 3, NULL);
        cupti_memory_asked(m, false, 0x7000, 0);
    }
    cupti_memory_created_asked(m, 2097152);
    cupti_memory_created_seen(m, 5, 2097152);
    cupti_memory_end(m, name_of, NULL, &rows, &count);
    assert_int_equal(count, 0);
    assert_int_equal(cupti_memory_counts(m)->seen, 7);
    assert_int_equal(cupti_memory_counts(m)->foreign, 0);
    assert_int_equal(cupti_memory_counts(m)->unseen, 0);
    vs_free(rows);
    cupti_memory_free(m);
}

static void unrequested_memory_is_listed_by_function_library_and_op(void **state)
{
    struct cupti_memory *m = cupti_memory_new();
    struct sto_foreign *rows;
    size_t count;

    (void)state;
    cupti_memory_asked(m, true, 0x7000, 512);
    seen(m, true, 0x7000, 512, 0, NULL);
    seen(m, true, 0x9000, 100, 8, "libcublas.so.13");
    seen(m, true, 0xa000, 200, 8, "libcublas.so.13");
    seen(m, true, 0xb000, 300, 9, "libcublas.so.13");
    seen(m, false, 0x9000, 100, 8, "libcublas.so.13");
    cupti_memory_created_seen(m, 8, 2097152);
    cupti_memory_end(m, name_of, NULL, &rows, &count);
    assert_int_equal(count, 4);
    assert_string_equal(rows[0].api, "cuMemCreate");
    assert_int_equal(rows[0].alloc_bytes, 2097152);
    assert_string_equal(rows[1].api, "cudaFree_v3020");
    assert_int_equal(rows[1].frees, 1);
    assert_int_equal(rows[1].free_bytes, 100);
    assert_int_equal(rows[1].allocs, 0);
    assert_string_equal(rows[2].api, "cudaMalloc_v3020");
    assert_string_equal(rows[2].library, "libcublas.so.13");
    assert_int_equal(rows[2].op_seq, 8);
    assert_int_equal(rows[2].allocs, 2);
    assert_int_equal(rows[2].alloc_bytes, 300);
    assert_int_equal(rows[3].op_seq, 9);
    assert_int_equal(cupti_memory_counts(m)->foreign, 5);
    vs_free(rows);
    cupti_memory_free(m);
}

static void memory_of_another_size_at_the_same_address_is_foreign(void **state)
{
    struct cupti_memory *m = cupti_memory_new();
    struct sto_foreign *rows;
    size_t count;

    (void)state;
    cupti_memory_asked(m, true, 0x7000, 512);
    seen(m, true, 0x7000, 1024, 0, NULL);
    cupti_memory_created_asked(m, 4096);
    cupti_memory_end(m, name_of, NULL, &rows, &count);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].library, "");
    assert_int_equal(cupti_memory_counts(m)->unseen, 2);
    vs_free(rows);
    cupti_memory_free(m);
}

static void memory_of_pools_is_counted(void **state)
{
    struct cupti_memory *m = cupti_memory_new();

    (void)state;
    cupti_memory_seen(m, &(struct cupti_record){.what = CUPTI_POOL, .bytes = 4096});
    assert_int_equal(cupti_memory_counts(m)->pools, 1);
    assert_int_equal(cupti_memory_counts(m)->seen, 0);
    cupti_memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requested_memory_is_not_foreign_in_either_order),
        cmocka_unit_test(unrequested_memory_is_listed_by_function_library_and_op),
        cmocka_unit_test(memory_of_another_size_at_the_same_address_is_foreign),
        cmocka_unit_test(memory_of_pools_is_counted),
    };

    return cmocka_run_group_tests_name("tracer/cupti_memory", tests, NULL, NULL);
}
