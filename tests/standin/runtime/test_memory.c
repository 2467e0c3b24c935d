/*
 * tests/standin/runtime/test_memory.c - the memory of the simulated device: capacity, kinds of addresses, virtual
 * memory, pools; and the values that the host reads.
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

#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

#define MIB ((size_t)1 << 20)
#define T4_BYTES (15095 * MIB)

typedef int malloc_fn(void **out, size_t size);
typedef int free_fn(void *address);
typedef int info_fn(size_t *available, size_t *total);
typedef int copy_fn(void *to, const void *from, size_t size, int kind);

static size_t available(void)
{
    size_t free_bytes = 0;
    size_t total = 0;

    assert_int_equal(SIMULATED(info_fn *, "cudaMemGetInfo")(&free_bytes, &total), 0);
    assert_int_equal(total, T4_BYTES);
    return free_bytes;
}

static void *take(size_t size)
{
    void *out = NULL;

    assert_int_equal(SIMULATED(malloc_fn *, "cudaMalloc")(&out, size), 0);
    return out;
}

static void give(void *address)
{
    assert_int_equal(SIMULATED(free_fn *, "cudaFree")(address), 0);
}

static void memory_is_allocated_in_units_of_two_mib_until_the_device_is_full(void **state)
{
    const size_t before = available();
    void *small = take(1);
    void *none = &none;
    void *big;

    (void)state;
    assert_int_equal(available(), before - 2 * MIB);
    big = take(available() / (2 * MIB) * (2 * MIB));
    assert_true(available() < 2 * MIB);
    assert_int_equal(SIMULATED(malloc_fn *, "cudaMalloc")(&none, 1), 2);
    assert_null(none);
    assert_int_equal(SIMULATED(int (*)(void), "cudaGetLastError")(), 2);
    assert_int_equal(SIMULATED(int (*)(void), "cudaGetLastError")(), 0);
    give(big);
    give(small);
    give(NULL);
    assert_int_equal(available(), before);
    assert_int_equal(SIMULATED(free_fn *, "cudaFree")(small), 1);
}

static void addresses_are_unique(void **state)
{
    void *first = take(5 * MIB);
    void *second;

    (void)state;
    give(first);
    second = take(5 * MIB);
    assert_true((uintptr_t)second >= (uintptr_t)first + 6 * MIB);
    give(second);
}

/* Type of an address (0 unknown, 1 host, 2 device, 3 managed), and its device. */
static int kind_of(const void *address, int *device)
{
    struct {
        int type, device;
        const void *pointers[2];
        long reserved[8];
    } a;

    assert_int_equal(
        SIMULATED(int (*)(void *, const void *), "cudaPointerGetAttributes")(&a, address), 0);
    *device = a.device;
    return a.type;
}

static void pointer_attributes_distinguish_device_pinned_and_managed_memory(void **state)
{
    char *memory = take(MIB);
    char *pinned = NULL;
    char *managed = NULL;
    char ordinary[16];
    int device = -1;

    (void)state;
    assert_int_equal(SIMULATED(malloc_fn *, "cudaMallocHost")((void **)&pinned, 100), 0);
    assert_int_equal(SIMULATED(int (*)(void **, size_t, unsigned),
                               "cudaMallocManaged")((void **)&managed, 100, 1),
                     0);
    assert_int_equal(kind_of(memory + MIB - 1, &device), 2);
    assert_int_equal(device, 0);
    assert_int_equal(kind_of(pinned + 99, &device), 1);
    assert_int_equal(kind_of(managed, &device), 3);
    assert_int_equal(kind_of(ordinary, &device), 0);
    managed[99] = 'x'; /* the host can use it */
    pinned[99] = 'x';
    assert_int_equal(SIMULATED(free_fn *, "cudaFreeHost")(pinned), 0);
    give(managed);
    give(memory);
    assert_int_equal(
        SIMULATED(int (*)(void *, size_t, unsigned), "cudaHostRegister")(ordinary, 16, 0), 0);
    assert_int_equal(kind_of(ordinary + 15, &device), 1);
    assert_int_equal(SIMULATED(free_fn *, "cudaHostUnregister")(ordinary), 0);
    assert_int_equal(kind_of(ordinary, &device), 0);
}

static void each_device_has_its_own_memory(void **state)
{
    const size_t before = available();
    int device = -1;
    void *memory;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(int), "cudaSetDevice")(1), 0);
    memory = take(MIB);
    assert_int_equal(kind_of(memory, &device), 2);
    assert_int_equal(device, 1);
    assert_int_equal(SIMULATED(int (*)(int), "cudaSetDevice")(0), 0);
    assert_int_equal(available(), before);
    give(memory);
    assert_int_equal(SIMULATED(int (*)(int), "cudaSetDevice")(2), 101);
}

/* Physical memory is used from its creation until its last handle and its last mapping are released. */
static void virtual_memory_is_used_while_it_is_held_or_mapped(void **state)
{
    const size_t before = available();
    const int properties[8] = {1, 1, 1, 0}; /* pinned, of device 0 */
    uint64_t handle = 0;
    char *at = NULL;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void **, size_t, size_t, void *, unsigned long long),
                               "cuMemAddressReserve")((void **)&at, 64 * MIB, 0, NULL, 0),
                     0);
    assert_int_equal(available(), before);
    assert_int_equal(SIMULATED(int (*)(uint64_t *, size_t, const int *, unsigned long long),
                               "cuMemCreate")(&handle, 20 * MIB, properties, 0),
                     0);
    assert_int_equal(available(), before - 20 * MIB);
    assert_int_equal(SIMULATED(int (*)(char *, size_t, size_t, uint64_t, unsigned long long),
                               "cuMemMap")(at, 20 * MIB, 0, handle, 0),
                     0);
    assert_int_equal(SIMULATED(int (*)(uint64_t), "cuMemRelease")(handle), 0);
    assert_int_equal(available(), before - 20 * MIB);
    assert_int_equal(SIMULATED(int (*)(char *, size_t), "cuMemUnmap")(at, 64 * MIB), 0);
    assert_int_equal(available(), before);
    assert_int_equal(SIMULATED(int (*)(char *, size_t), "cuMemUnmap")(at, 64 * MIB), 1);
    assert_int_equal(SIMULATED(int (*)(uint64_t *, size_t, const int *, unsigned long long),
                               "cuMemCreate")(&handle, T4_BYTES / (2 * MIB) * (2 * MIB) + 2 * MIB,
                                              properties, 0),
                     2);
}

static void a_memory_pool_reports_its_used_bytes(void **state)
{
    void *pool = NULL;
    void *memory = NULL;
    uint64_t used = 1;
    uint64_t high = 0;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void **, int), "cudaDeviceGetDefaultMemPool")(&pool, 0), 0);
    assert_int_equal(
        SIMULATED(int (*)(void **, size_t, void *), "cudaMallocAsync")(&memory, 1000, NULL), 0);
    assert_int_equal(SIMULATED(int (*)(void *, void *), "cudaFreeAsync")(memory, NULL), 0);
    assert_int_equal(
        SIMULATED(int (*)(void *, int, void *), "cudaMemPoolGetAttribute")(pool, 7, &used), 0);
    assert_int_equal(
        SIMULATED(int (*)(void *, int, void *), "cudaMemPoolGetAttribute")(pool, 8, &high), 0);
    assert_int_equal(used, 0);
    assert_int_equal(high, 1000);
}

/* ---- values ---- */

static uint64_t watched;

static void on_read(uint64_t bytes, const char *kind)
{
    assert_string_equal(kind, "copy");
    watched += bytes;
}

static void *read_from;

static int read_four(void)
{
    char bytes[4];

    return SIMULATED(copy_fn *, "cudaMemcpy")(bytes, read_from, sizeof(bytes), 2);
}

/* How often values were read by an operator of this name. */
static uint64_t kind_count(const char *kind)
{
    char name[64];
    uint64_t count;

    for (size_t i = 0; (count = simulated_open()->count_kind(i, name, sizeof(name))) != 0; i++)
        if (strcmp(name, kind) == 0)
            return count;
    return 0;
}

static void a_host_read_is_attributed_to_its_operator(void **state)
{
    char path[640];
    void *torch;
    int (*item)(int (*)(void));

    (void)state;
    snprintf(path, sizeof(path), "%s/fake/standin/cuda/libplain.so.1", shared_build());
    assert_non_null(dlopen(path, RTLD_NOW)); /* which it needs, and which is not CUDA's */
    torch = dlopen(shared_fake_torch(), RTLD_NOW);
    if (!torch)
        fail_msg("%s", dlerror());
    item = (int (*)(int (*)(void)))(uintptr_t)dlsym(torch, "_ZN2at4_ops4item4callERKNS_6TensorE");
    read_from = take(64);
    assert_int_equal(item(read_four), 1);
    assert_int_equal(item(read_four), 1);
    assert_int_equal(kind_count("item"), 2);
    assert_int_equal(kind_count("nonzero"), 0);
    give(read_from);
    dlclose(torch);
}

static void the_next_read_gets_what_is_expected_and_the_one_after_zeros(void **state)
{
    const int64_t value = 0x100000007;
    void *memory = take(64);
    int32_t narrow = -1;
    int64_t wide[2] = {-1, -1};
    copy_fn *copy = SIMULATED(copy_fn *, "cudaMemcpy");

    (void)state;
    simulated_open()->expect(&value, sizeof(value));
    assert_int_equal(copy(&narrow, memory, sizeof(narrow), 2), 0);
    assert_int_equal(narrow, 7);
    assert_int_equal(copy(&narrow, memory, sizeof(narrow), 2), 0);
    assert_int_equal(narrow, 0);
    simulated_open()->expect(&value, sizeof(value));
    assert_int_equal(copy(wide, memory, sizeof(wide), 2), 0);
    assert_true(wide[0] == value && wide[1] == 0);
    simulated_open()->expect(&value, sizeof(value));
    simulated_open()->expect(NULL, 0);
    assert_int_equal(copy(wide, memory, sizeof(wide), 2), 0);
    assert_int_equal(wide[0], 0);
    give(memory);
}

static void the_host_reads_zeros_and_each_read_is_counted(void **state)
{
    const struct simulated *simulated = simulated_open();
    void *memory = take(1000);
    char bytes[1000];
    uint64_t count, count_before, size, size_before;

    (void)state;
    simulated->count_reads(&count_before, &size_before);
    simulated->watch_reads(on_read);
    memset(bytes, 7, sizeof(bytes));
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(memory, bytes, 1000, 1), 0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(bytes, memory, 1000, 2), 0);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[999], 0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(bytes, memory, 4, 2), 0);
    simulated->count_reads(&count, &size);
    assert_int_equal(count - count_before, 2);
    assert_int_equal(size - size_before, 1004);
    assert_int_equal(watched, 1000); /* the first of its kind alone */
    simulated->watch_reads(NULL);
    give(memory);
}

static void copies_from_host_to_host_are_performed(void **state)
{
    char from[8] = "1234567";
    char to[8] = "";
    uint64_t count, before, size;

    (void)state;
    simulated_open()->count_reads(&before, &size);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(to, from, 8, 0), 0);
    assert_string_equal(to, "1234567");
    simulated_open()->count_reads(&count, &size);
    assert_int_equal(count, before);
}

/* Other ranks send what this rank sends; data copied to the device meanwhile can be read back. */
static void collectives_receive_the_data_this_process_sends(void **state)
{
    struct {
        char bytes[128];
    } id = {{0}};
    void *communicator = NULL;
    char *memory = take(1000);
    int64_t mine = 42;
    int64_t seen[2] = {0, 0};

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void **, int, __typeof__(id), int),
                               "ncclCommInitRank")(&communicator, 2, id, 1),
                     0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(memory, &mine, 8, 1), 0);
    /* a gather as a broadcast by each rank, rank 0 first; 4: int64 */
    for (int root = 0; root < 2; root++)
        assert_int_equal(SIMULATED(int (*)(void *, void *, size_t, int, int, void *, void *),
                                   "ncclBroadcast")(root == 1 ? memory : memory + 512,
                                                    memory + 512 + 8 * root, 1, 4, root,
                                                    communicator, NULL),
                         0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(&seen[0], memory + 512, 8, 2), 0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(&seen[1], memory + 520, 8, 2), 0);
    assert_int_equal(seen[0], 42);
    assert_int_equal(seen[1], 42);
    assert_int_equal(SIMULATED(int (*)(void *, void *, size_t, int, void *, void *),
                               "ncclAllGather")(memory, memory + 600, 1, 4, communicator, NULL),
                     0);
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(seen, memory + 600, 16, 2), 0);
    assert_int_equal(seen[1], 42);
    /* kernels may have written since */
    for (int i = 0; i < 100; i++)
        SIMULATED(int (*)(void), "cudaLaunchKernel")();
    assert_int_equal(SIMULATED(copy_fn *, "cudaMemcpy")(&seen[0], memory, 8, 2), 0);
    assert_int_equal(seen[0], 0);
    assert_int_equal(SIMULATED(free_fn *, "ncclCommDestroy")(communicator), 0);
    give(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_allocated_in_units_of_two_mib_until_the_device_is_full),
        cmocka_unit_test(addresses_are_unique),
        cmocka_unit_test(pointer_attributes_distinguish_device_pinned_and_managed_memory),
        cmocka_unit_test(each_device_has_its_own_memory),
        cmocka_unit_test(virtual_memory_is_used_while_it_is_held_or_mapped),
        cmocka_unit_test(a_memory_pool_reports_its_used_bytes),
        cmocka_unit_test(the_host_reads_zeros_and_each_read_is_counted),
        cmocka_unit_test(the_next_read_gets_what_is_expected_and_the_one_after_zeros),
        cmocka_unit_test(a_host_read_is_attributed_to_its_operator),
        cmocka_unit_test(copies_from_host_to_host_are_performed),
        cmocka_unit_test(collectives_receive_the_data_this_process_sends),
    };

    return cmocka_run_group_tests(tests, simulated_setup, shared_cleanup);
}
