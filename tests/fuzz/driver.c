/*
 * tests/fuzz/driver.c - one fuzz target, run on its seeds and a fixed number of inputs made from them.
 *
 * For:            `make test`, with any compiler; linked with one fuzz_*.c each. `make fuzz` goes on from there with
 *                 libFuzzer.
 * Invariant:      the same inputs in every run. A target that aborts is the failure; the input's number has been
 *                 printed then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define SEEDS_MAX 256
#define SIZE_MAX_OF_INPUT ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* About a second each. */
static const struct {
    const char *name;
    size_t runs;
} TARGETS[] = {{"arguments", 100000}, {"chunk", 20000},  {"import", 20000},   {"keys", 20000},
               {"pickle", 200000},    {"report", 10000}, {"snapshot", 20000}, {"trace", 250}};

struct seed {
    uint8_t *bytes;
    size_t size;
};

struct seeds {
    struct seed at[SEEDS_MAX];
    size_t count;
    uint64_t random;
};

static size_t below(struct seeds *s, size_t n)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n ? (size_t)(s->random >> 33) % n : 0;
}

static void seed_add(struct seeds *s, const char *folder, const char *name)
{
    char path[512];
    uint8_t *bytes = vs_alloc(SIZE_MAX_OF_INPUT);
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(s->count < SEEDS_MAX);
    size = fread(bytes, 1, SIZE_MAX_OF_INPUT, file);
    fclose(file);
    s->at[s->count++] = (struct seed){bytes, size};
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* In order of their names, so that everybody has the same; without a folder there is one, of nothing. */
static void seeds_read(struct seeds *s, const char *folder)
{
    struct dirent **found = NULL;
    int count = scandir(folder, &found, NULL, by_name);

    for (int i = 0; i < count; i++) {
        if (found[i]->d_name[0] != '.')
            seed_add(s, folder, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    if (!s->count)
        s->at[s->count++] = (struct seed){vs_calloc(1, 1), 0};
}

/* What `from` has somewhere, into `bytes` at `at`; the rest moves up. */
static size_t insert(struct seeds *s, uint8_t *bytes, size_t size, const struct seed *from)
{
    size_t at = below(s, size + 1);
    size_t start = below(s, from->size);
    size_t count = below(s, from->size - start < 64 ? from->size - start + 1 : 64);

    if (size + count > SIZE_MAX_OF_INPUT)
        return size;
    memmove(bytes + at + count, bytes + at, size - at);
    memcpy(bytes + at, from->bytes + start, count);
    return size + count;
}

static size_t change(struct seeds *s, uint8_t *bytes, size_t size)
{
    size_t at = below(s, size);
    size_t count;

    switch (below(s, 5)) {
    case 0:
        if (size)
            bytes[at] = (uint8_t)below(s, 256);
        return size;
    case 1:
        if (size)
            bytes[at] ^= (uint8_t)(1u << below(s, 8));
        return size;
    case 2: /* without some of it */
        count = below(s, size - at < 32 ? size - at + 1 : 32);
        memmove(bytes + at, bytes + at + count, size - at - count);
        return size - count;
    case 3: /* cut off */
        return below(s, 8) ? size : at;
    default:
        return insert(s, bytes, size, &s->at[below(s, s->count)]);
    }
}

static void mutated_seeds_cause_no_failure(void **state)
{
    struct seeds *s = vs_calloc(1, sizeof(*s));
    uint8_t *bytes = vs_alloc(SIZE_MAX_OF_INPUT);
    const char *name = *state;
    char folder[256];
    size_t runs = 0;

    for (size_t i = 0; i < sizeof(TARGETS) / sizeof(TARGETS[0]); i++)
        runs = strcmp(TARGETS[i].name, name) == 0 ? TARGETS[i].runs : runs;
    assert_true(runs > 0);
    snprintf(folder, sizeof(folder), "tests/fuzz/seeds/%s", name);
    seeds_read(s, folder);
    for (size_t i = 0; i < s->count; i++)
        LLVMFuzzerTestOneInput(s->at[i].bytes, s->at[i].size);
    for (size_t run = 0; run < runs; run++) {
        const struct seed *seed = &s->at[below(s, s->count)];
        size_t size = seed->size;

        memcpy(bytes, seed->bytes, size);
        for (size_t n = 1 + below(s, 8); n > 0; n--)
            size = change(s, bytes, size);
        if (run % (runs / 10) == 0)
            fprintf(stderr, "from input %zu\n", run);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    for (size_t i = 0; i < s->count; i++)
        vs_free(s->at[i].bytes);
    vs_free(bytes);
    vs_free(s);
}

/* build/tests/fuzz/test_pickle: the target is pickle. */
int main(int argc, char **argv)
{
    char *name = argc ? strrchr(argv[0], '_') : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(mutated_seeds_cause_no_failure, name ? name + 1 : argv[0]),
    };

    return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
