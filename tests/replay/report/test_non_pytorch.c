/*
 * tests/replay/report/test_non_pytorch.c - memory not from PyTorch, to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/non_pytorch.h"
#include "tests/replay/make_trace.h"

#define MIB (UINT64_C(1) << 20)
#define PHYSICAL (UINT64_C(1) << 56)

static void segment(struct make *m, enum vs_event_kind kind, uint64_t address, uint64_t bytes)
{
    make_event(m,
               (struct vs_event){
                   .kind = (uint8_t)kind,
                   .segment = {.bytes = bytes, .address = address, .size_pool = VS_SEGMENT_LARGE}});
}

/* A block of the driver, in a segment of its own, allocated in `func`. */
static uint64_t given(struct make *m, const char *func, uint64_t address, uint64_t bytes)
{
    m->func = func;
    segment(m, VS_EV_SEGMENT_ALLOC, address, bytes);
    make_event(m, (struct vs_event){.kind = VS_EV_ALLOC,
                                    .alloc = {.block = ++m->blocks,
                                              .requested_bytes = bytes,
                                              .block_bytes = bytes,
                                              .address = address}});
    return m->blocks;
}

static void taken(struct make *m, uint64_t block, uint64_t address, uint64_t bytes)
{
    make_event(m, (struct vs_event){.kind = VS_EV_FREE,
                                    .free = {.block = block,
                                             .requested_bytes = bytes,
                                             .block_bytes = bytes,
                                             .address = address}});
    segment(m, VS_EV_SEGMENT_FREE, address, bytes);
}

static void expect(struct make *pytorch, struct make *driver, uint64_t peak, uint64_t of_pytorch,
                   const char *who, uint64_t bytes)
{
    struct rpl_non_pytorch memory = {.at = 0};
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(rpl_non_pytorch_fill(&memory, pytorch->trace, driver->trace, &err), VS_OK);
    assert_int_equal(memory.peak, peak);
    assert_int_equal(memory.pytorch, of_pytorch);
    assert_int_equal(memory.rest, peak - of_pytorch);
    assert_int_equal(memory.sites.count, who ? 1 : 0);
    if (who) {
        assert_string_equal(memory.sites.items[0].key, who);
        assert_int_equal(memory.sites.items[0].bytes, bytes);
    }
    rpl_non_pytorch_release(&memory);
    rpl_trace_free(pytorch->trace);
    rpl_trace_free(driver->trace);
}

/*
 * Two segments of PyTorch's, 20 and 2 MiB, the second freed before the driver's peak: 20 + 8 + 4 of a library's two
 * blocks, 32 in all, 20 of them PyTorch's. A block of another size at a segment's address is no segment.
 */
static void driver_memory_outside_segments_is_not_from_pytorch(void **state)
{
    struct make pytorch;
    struct make driver;
    uint64_t block;

    (void)state;
    make_init(&pytorch);
    segment(&pytorch, VS_EV_SEGMENT_ALLOC, 0x7000000000, 20 * MIB);
    segment(&pytorch, VS_EV_SEGMENT_ALLOC, 0x7100000000, 2 * MIB);
    segment(&pytorch, VS_EV_SEGMENT_FREE, 0x7100000000, 2 * MIB);
    make_init(&driver);
    given(&driver, "libtorch!segment", 0x7000000000, 20 * MIB);
    block = given(&driver, "libtorch!segment", 0x7100000000, 2 * MIB);
    taken(&driver, block, 0x7100000000, 2 * MIB);
    given(&driver, "libcublas!create", 0x7100000000, 8 * MIB);
    block = given(&driver, "libcublas!create", 0x7200000000, 4 * MIB);
    taken(&driver, block, 0x7200000000, 4 * MIB);
    expect(&pytorch, &driver, 32 * MIB, 20 * MIB, "libcublas!create", 12 * MIB);
}

/* 40 MiB of physical memory, of which PyTorch mapped 38 at most (30, 38, then 18); 1 MiB beside them. */
static void physical_memory_mapped_by_pytorch_is_pytorchs(void **state)
{
    struct make pytorch;
    struct make driver;

    (void)state;
    make_init(&pytorch);
    segment(&pytorch, VS_EV_SEGMENT_MAP, 0x7000000000, 30 * MIB);
    segment(&pytorch, VS_EV_SEGMENT_MAP, 0x7000000000 + 30 * MIB, 8 * MIB);
    segment(&pytorch, VS_EV_SEGMENT_UNMAP, 0x7000000000, 20 * MIB);
    make_init(&driver);
    given(&driver, "libtorch!map", PHYSICAL, 20 * MIB);
    given(&driver, "libtorch!map", PHYSICAL + 20 * MIB, 20 * MIB);
    given(&driver, "main", 0x7000000000, MIB);
    expect(&pytorch, &driver, 41 * MIB, 38 * MIB, "main", MIB);
}

/* If PyTorch maps nothing, physical memory is not PyTorch's. */
static void physical_memory_of_other_libraries_is_not_pytorchs(void **state)
{
    struct make pytorch;
    struct make driver;

    (void)state;
    make_init(&pytorch);
    segment(&pytorch, VS_EV_SEGMENT_ALLOC, 0x7000000000, 20 * MIB);
    make_init(&driver);
    given(&driver, "torch", 0x7000000000, 20 * MIB);
    given(&driver, "libnccl!register", PHYSICAL, 3 * MIB);
    expect(&pytorch, &driver, 23 * MIB, 20 * MIB, "libnccl!register", 3 * MIB);
}

static void without_driver_memory_nothing_is_outside_pytorch(void **state)
{
    struct make pytorch;
    struct make driver;

    (void)state;
    make_init(&pytorch);
    make_init(&driver);
    expect(&pytorch, &driver, 0, 0, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(driver_memory_outside_segments_is_not_from_pytorch),
        cmocka_unit_test(physical_memory_mapped_by_pytorch_is_pytorchs),
        cmocka_unit_test(physical_memory_of_other_libraries_is_not_pytorchs),
        cmocka_unit_test(without_driver_memory_nothing_is_outside_pytorch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
