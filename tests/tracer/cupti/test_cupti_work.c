/*
 * tests/tracer/cupti/test_cupti_work.c - CUPTI records in any order, and their sums for each op; compared with a plain
 * model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/cupti/cupti_work.h"

#define MOST 4096

struct sums {
    uint64_t count[MOST];
    uint64_t ns[MOST];
    uint64_t bytes[MOST];
    struct cupti_record memory[MOST];
    size_t memory_count;
    char names[MOST][32];
    size_t task_count;
};

static void on_memory(void *user, const struct cupti_record *record)
{
    struct sums *sums = user;

    sums->memory[sums->memory_count++] = *record;
}

static struct cupti_record kernel(uint32_t correlation, const char *name, uint64_t ns)
{
    return (struct cupti_record){.what = CUPTI_KERNEL,
                                 .correlation = correlation,
                                 .name = name,
                                 .start_ns = 1000,
                                 .end_ns = 1000 + ns};
}

static struct cupti_record tie(uint32_t correlation, uint64_t op_seq)
{
    return (struct cupti_record){.what = CUPTI_TIE, .correlation = correlation, .op_seq = op_seq};
}

static struct cupti_record call(uint32_t correlation, uint32_t number, bool is_driver)
{
    return (struct cupti_record){
        .what = CUPTI_CALL, .correlation = correlation, .call = number, .is_driver = is_driver};
}

static void take(struct cupti_work *w, struct cupti_record record)
{
    cupti_work_take(w, &record);
}

/* Adds what came since the last time. */
static void drain(struct cupti_work *w, struct sums *sums)
{
    struct sto_task *tasks;
    struct sto_work *work;
    size_t task_count;
    size_t work_count;

    cupti_work_drain(w, &tasks, &task_count, &work, &work_count);
    for (size_t i = 0; i < task_count; i++) {
        assert_int_equal(tasks[i].id, sums->task_count + 1);
        snprintf(sums->names[sums->task_count++], sizeof(sums->names[0]), "%s", tasks[i].name);
    }
    for (size_t i = 0; i < work_count; i++) {
        assert_true(work[i].op_seq < MOST);
        assert_true(work[i].task >= 1 && work[i].task <= sums->task_count);
        sums->count[work[i].op_seq] += work[i].count;
        sums->ns[work[i].op_seq] += work[i].ns;
        sums->bytes[work[i].op_seq] += work[i].bytes;
    }
    vs_free(tasks);
    vs_free(work);
}

static struct sums *sums_new(void)
{
    return vs_calloc(1, sizeof(struct sums));
}

static void a_kernel_belongs_to_the_op_of_its_launch_in_any_order(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);

    (void)state;
    take(w, tie(5, 17));
    take(w, call(5, 211, false));
    take(w, kernel(5, "first", 30));
    cupti_work_settle(w, false);
    take(w, kernel(6, "second", 40));
    cupti_work_settle(w, false);
    drain(w, sums);
    assert_int_equal(sums->ns[17], 30);
    assert_int_equal(sums->ns[18], 0); /* its call is not known yet */
    take(w, call(6, 211, false));
    cupti_work_settle(w, false);
    take(w, tie(6, 18)); /* in another buffer than the record of the call */
    cupti_work_settle(w, false);
    drain(w, sums);
    assert_int_equal(sums->ns[18], 40);
    assert_string_equal(sums->names[1], "second");
    assert_int_equal(cupti_work_counts(w)->untied, 0);
    cupti_work_free(w);
    vs_free(sums);
}

static void a_launch_outside_ops_is_counted_without_an_op(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);

    (void)state;
    take(w, call(9, 41, false));
    take(w, (struct cupti_record){.what = CUPTI_COPY,
                                  .correlation = 9,
                                  .name = "to the device",
                                  .bytes = 4096,
                                  .start_ns = 5,
                                  .end_ns = 12});
    cupti_work_settle(w, true);
    drain(w, sums);
    assert_int_equal(sums->ns[0], 7);
    assert_int_equal(sums->bytes[0], 4096);
    assert_int_equal(cupti_work_counts(w)->copies, 1);
    assert_int_equal(cupti_work_counts(w)->untied, 0);
    cupti_work_free(w);
    vs_free(sums);
}

static void kernels_without_times_or_op_are_counted(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);
    struct cupti_record untimed = kernel(11, "k", 0);

    (void)state;
    untimed.start_ns = untimed.end_ns = 0;
    take(w, tie(11, 3));
    take(w, untimed);
    take(w, kernel(12, "k", 50));
    cupti_work_settle(w, true);
    drain(w, sums);
    assert_int_equal(sums->count[3], 1);
    assert_int_equal(sums->ns[3], 0);
    assert_int_equal(sums->count[0], 1);
    assert_int_equal(cupti_work_counts(w)->untimed, 1);
    assert_int_equal(cupti_work_counts(w)->untied, 1);
    assert_int_equal(cupti_work_counts(w)->kernels, 2);
    assert_int_equal(cupti_work_counts(w)->device_ns, 50);
    assert_int_equal(sums->task_count, 1);
    cupti_work_free(w);
    vs_free(sums);
}

static void an_unmatched_launch_is_dropped_after_the_window(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);

    (void)state;
    take(w, kernel(100, "lost", 5));
    take(w, call(101, 41, false));
    take(w, kernel(101, "of no op", 6));
    for (uint32_t i = 102; i < 165; i++)
        take(w, tie(i, 1));
    cupti_work_settle(w, false);
    drain(w, sums);
    assert_int_equal(sums->count[0], 1); /* 100 is 64 calls behind 164 */
    assert_int_equal(cupti_work_counts(w)->untied, 1);
    take(w, tie(165, 1));
    cupti_work_settle(w, false);
    drain(w, sums);
    assert_int_equal(sums->count[0],
                     2); /* what was known of 101 was not forgotten with its place */
    assert_int_equal(cupti_work_counts(w)->untied, 1);
    cupti_work_free(w);
    vs_free(sums);
}

static void correlation_ids_wrap_around(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t correlation = UINT32_MAX - 100 + i;

        take(w, tie(correlation, 1 + i));
        take(w, kernel(correlation, "k", 1 + i));
        cupti_work_settle(w, false);
    }
    drain(w, sums);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(sums->ns[1 + i], 1 + i);
    assert_int_equal(cupti_work_counts(w)->untied, 0);
    cupti_work_free(w);
    vs_free(sums);
}

static void memory_is_attributed_to_the_runtime_call_before_the_driver_call(void **state)
{
    struct sums *sums = sums_new();
    struct cupti_work *w = cupti_work_new(64, on_memory, sums);
    char library[] = "libfoo.so";

    (void)state;
    take(w, tie(7, 21));
    take(
        w,
        (struct cupti_record){
            .what = CUPTI_TAKEN, .correlation = 7, .address = 4096, .bytes = 512, .name = library});
    memset(library, 'x', sizeof(library) - 1); /* it is lent for the call alone */
    cupti_work_settle(w, false);
    assert_int_equal(sums->memory_count, 0); /* which function it was is wanted, too */
    take(w, call(7, 20, false));
    take(w, call(7, 243, true));
    cupti_work_settle(w, false);
    assert_int_equal(sums->memory_count, 1);
    assert_int_equal(sums->memory[0].op_seq, 21);
    assert_int_equal(sums->memory[0].call, 20);
    assert_false(sums->memory[0].is_driver);
    assert_string_equal(sums->memory[0].name, "libfoo.so");
    cupti_work_free(w);
    vs_free(sums);
}

/* Kernels beyond the last number of a task are one. */
static void kernels_beyond_the_limit_of_tasks_are_counted_as_others(void **state)
{
    struct cupti_work *w = cupti_work_new(64, on_memory, NULL);
    struct sto_task *tasks;
    struct sto_work *work;
    size_t task_count;
    size_t work_count;
    uint64_t sum = 0;

    (void)state;
    for (uint32_t i = 0; i < STO_TASKS_MAX + 10; i++) {
        char name[16];

        snprintf(name, sizeof(name), "k%u", i);
        take(w, tie(i, 1));
        take(w, kernel(i, name, 1));
        cupti_work_settle(w, false);
    }
    cupti_work_drain(w, &tasks, &task_count, &work, &work_count);
    assert_int_equal(task_count, STO_TASKS_MAX - 1);
    assert_int_equal(tasks[task_count - 1].id, STO_TASKS_MAX - 1);
    assert_string_equal(tasks[task_count - 1].name, "others");
    assert_int_equal(work_count, STO_TASKS_MAX - 1);
    for (size_t i = 0; i < work_count; i++)
        sum += work[i].count;
    assert_int_equal(sum, STO_TASKS_MAX + 10);
    assert_int_equal(work[work_count - 1].count, 12);
    vs_free(tasks);
    vs_free(work);
    cupti_work_free(w);
}

/* The model: every record is kept, and looked up at the end. */
struct model {
    uint64_t op_of[MOST];
    bool has_op[MOST];
    uint64_t count[MOST];
    uint64_t ns[MOST];
};

static void shuffled(struct cupti_record *records, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)rand() % i;
        struct cupti_record swap = records[i - 1];

        records[i - 1] = records[k];
        records[k] = swap;
    }
}

static void records_in_any_order_agree_with_a_plain_model(void **state)
{
    static const char *const NAMES[] = {"gemm", "relu", "copy_kernel"};
    struct cupti_record records[3 * 400];

    (void)state;
    srand(4711);
    for (int run = 0; run < 50; run++) {
        struct sums *sums = sums_new();
        struct model *model = vs_calloc(1, sizeof(*model));
        struct cupti_work *w = cupti_work_new(1024, on_memory, sums);
        size_t count = 0;

        for (uint32_t c = 0; c < 400; c++) {
            uint64_t op = (uint64_t)rand() % 60;
            uint64_t ns = 1 + (uint64_t)rand() % 1000;

            if (op) /* 0: outside of ops */
                records[count++] = tie(1000 + c, op);
            records[count++] = call(1000 + c, 211, false);
            if (rand() % 4 == 0)
                continue; /* a call that gives the device nothing to do */
            records[count++] = kernel(1000 + c, NAMES[rand() % 3], ns);
            model->count[op]++;
            model->ns[op] += ns;
        }
        shuffled(records, count);
        for (size_t i = 0; i < count; i++) {
            take(w, records[i]);
            if (rand() % 20 == 0)
                cupti_work_settle(w, false);
            if (rand() % 50 == 0)
                drain(w, sums);
        }
        cupti_work_settle(w, true);
        drain(w, sums);
        for (size_t op = 0; op < 60; op++) {
            assert_int_equal(sums->count[op], model->count[op]);
            assert_int_equal(sums->ns[op], model->ns[op]);
        }
        assert_int_equal(cupti_work_counts(w)->untied, 0);
        cupti_work_free(w);
        vs_free(model);
        vs_free(sums);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_belongs_to_the_op_of_its_launch_in_any_order),
        cmocka_unit_test(a_launch_outside_ops_is_counted_without_an_op),
        cmocka_unit_test(kernels_without_times_or_op_are_counted),
        cmocka_unit_test(an_unmatched_launch_is_dropped_after_the_window),
        cmocka_unit_test(correlation_ids_wrap_around),
        cmocka_unit_test(memory_is_attributed_to_the_runtime_call_before_the_driver_call),
        cmocka_unit_test(kernels_beyond_the_limit_of_tasks_are_counted_as_others),
        cmocka_unit_test(records_in_any_order_agree_with_a_plain_model),
    };

    return cmocka_run_group_tests_name("tracer/cupti_work", tests, NULL, NULL);
}
