/*
 * standin/runtime/memory.c - see runtime.h: the memory of the devices, as addresses and sizes.
 *
 * Device addresses ascend from a fixed one and are never reused, so every run has the same addresses; each device has
 * its own range. No memory is mapped there.
 *
 * Invariant:      a device's used bytes are the sum of its blocks and of what was created without an address.
 */
#include "standin/runtime/runtime.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

#define UNIT (UINT64_C(2) << 20)
#define BASE UINT64_C(0x700000000000)
#define END UINT64_C(0x7e0000000000)

/* is_mapped: it was mapped here, and not by the program */
struct block {
    struct sti_memory memory;
    bool is_mapped;
};

/*
 * blocks  by address
 * next    the next free address of each device, and of reserved addresses
 */
static struct {
    pthread_mutex_t lock;
    struct block *blocks;
    size_t count, cap;
    uint64_t used[STI_DEVICES_MAX];
    uint64_t next[STI_DEVICES_MAX + 1];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t units(uint64_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* The first block behind `address`. */
static size_t block_after(uintptr_t address)
{
    size_t low = 0;
    size_t high = memory.count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (memory.blocks[middle].memory.base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void block_add(struct block block)
{
    const size_t at = block_after(block.memory.base);

    memory.blocks = vs_grow(memory.blocks, memory.count, &memory.cap, sizeof(*memory.blocks));
    memmove(memory.blocks + at + 1, memory.blocks + at, (memory.count - at) * sizeof(block));
    memory.blocks[at] = block;
    memory.count++;
}

/* Removes the block that begins at an address; false: there is none. */
static bool block_take(const void *address, struct block *out)
{
    const size_t after = block_after((uintptr_t)address);

    if (!after || memory.blocks[after - 1].memory.base != (uintptr_t)address)
        return false;
    *out = memory.blocks[after - 1];
    memory.count--;
    memmove(memory.blocks + after - 1, memory.blocks + after,
            (memory.count - (after - 1)) * sizeof(*out));
    return true;
}

/* Takes `bytes` addresses of a range, which are never reused; 0: the range is exhausted. */
static uint64_t addresses_take(int range, uint64_t bytes)
{
    const uint64_t ranges = (uint64_t)sti_gpu()->count + 1;
    const uint64_t size = (END - BASE) / ranges / UNIT * UNIT;
    const uint64_t begin = BASE + (uint64_t)range * size;
    uint64_t *next = &memory.next[range];
    const uint64_t at = *next ? *next : begin;

    if (bytes > begin + size - at)
        return 0;
    *next = at + bytes;
    return at;
}

static bool used_add(int device, uint64_t bytes)
{
    if (bytes > sti_gpu()->capacity_bytes - memory.used[device])
        return false;
    memory.used[device] += bytes;
    return true;
}

int sti_memory_take(int device, uint64_t bytes, void **out)
{
    const uint64_t taken = units(bytes);
    uint64_t at = 0;

    *out = NULL;
    if (!bytes)
        return STI_SUCCESS;
    if (taken < bytes)
        return STI_OUT_OF_MEMORY;
    pthread_mutex_lock(&memory.lock);
    if (used_add(device, taken)) {
        at = addresses_take(device, taken);
        if (at)
            block_add((struct block){{STI_MEMORY_DEVICE, device, (uintptr_t)at, bytes}, false});
        else
            memory.used[device] -= taken;
    }
    pthread_mutex_unlock(&memory.lock);
    *out = (void *)(uintptr_t)at;
    return at ? STI_SUCCESS : STI_OUT_OF_MEMORY;
}

int sti_memory_give(void *address)
{
    struct block block;
    bool is_found;

    if (!address)
        return STI_SUCCESS;
    pthread_mutex_lock(&memory.lock);
    is_found = block_take(address, &block);
    if (is_found && block.memory.kind == STI_MEMORY_DEVICE)
        memory.used[block.memory.device] -= units(block.memory.bytes);
    pthread_mutex_unlock(&memory.lock);
    if (is_found && block.is_mapped)
        munmap(address, (size_t)block.memory.bytes);
    return is_found ? STI_SUCCESS : STI_INVALID_VALUE;
}

int sti_memory_host(uint64_t bytes, enum sti_memory_kind kind, void **out)
{
    void *address;

    *out = NULL;
    if (!bytes)
        return STI_SUCCESS;
    address = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED)
        return STI_OUT_OF_MEMORY;
    pthread_mutex_lock(&memory.lock);
    block_add((struct block){{kind, sti_device(), (uintptr_t)address, bytes}, true});
    pthread_mutex_unlock(&memory.lock);
    *out = address;
    return STI_SUCCESS;
}

int sti_memory_register(void *address, uint64_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    block_add((struct block){{STI_MEMORY_HOST, sti_device(), (uintptr_t)address, bytes}, false});
    pthread_mutex_unlock(&memory.lock);
    return STI_SUCCESS;
}

int sti_memory_unregister(void *address)
{
    return sti_memory_give(address);
}

int sti_memory_reserve(uint64_t bytes, void **out)
{
    uint64_t at;

    pthread_mutex_lock(&memory.lock);
    at = addresses_take(sti_gpu()->count, units(bytes));
    pthread_mutex_unlock(&memory.lock);
    *out = (void *)(uintptr_t)at;
    return at ? STI_SUCCESS : STI_OUT_OF_MEMORY;
}

int sti_memory_unreserve(void *address)
{
    return sti_memory_is_device(address) ? STI_SUCCESS : STI_INVALID_VALUE;
}

int sti_memory_create(int device, uint64_t bytes)
{
    bool is_there;

    pthread_mutex_lock(&memory.lock);
    is_there = used_add(device, units(bytes));
    pthread_mutex_unlock(&memory.lock);
    return is_there ? STI_SUCCESS : STI_OUT_OF_MEMORY;
}

void sti_memory_release(int device, uint64_t bytes)
{
    pthread_mutex_lock(&memory.lock);
    memory.used[device] -= units(bytes);
    pthread_mutex_unlock(&memory.lock);
}

struct sti_memory sti_memory_of(const void *address)
{
    struct sti_memory found = {.kind = STI_MEMORY_NONE};
    size_t after;

    pthread_mutex_lock(&memory.lock);
    after = block_after((uintptr_t)address);
    if (after) {
        found = memory.blocks[after - 1].memory;
        if ((uintptr_t)address - found.base >= found.bytes)
            found = (struct sti_memory){.kind = STI_MEMORY_NONE};
    }
    pthread_mutex_unlock(&memory.lock);
    if (!found.kind && sti_memory_is_device(address)) /* reserved, mapped or freed */
        found = (struct sti_memory){STI_MEMORY_DEVICE, 0, (uintptr_t)address, 0};
    return found;
}

bool sti_memory_is_device(const void *address)
{
    return (uintptr_t)address >= BASE && (uintptr_t)address < END;
}

uint64_t sti_memory_used(int device)
{
    uint64_t used;

    pthread_mutex_lock(&memory.lock);
    used = memory.used[device];
    pthread_mutex_unlock(&memory.lock);
    return used;
}
