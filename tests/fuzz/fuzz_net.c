/*
 * tests/fuzz/fuzz_net.c - runs any bytes as a net file: the run ends, reports at most one error, and releases
 * everything.
 *
 * Seeds: the programs of tests/golden/lang/; tests/fuzz/seeds/net has short ones.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "engine/core/engine.h"
#include "lang/run/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET 3000 /* statements of one input */
#define LIFE 50     /* inputs a machine lives through: making one takes longer than running one */

/* The fuzzer gives no place for state. */
static struct eng *eng;
static struct lang_vm *vm;
static int age;

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void ignore(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

static void renew(void)
{
    const struct eng_options eng_options = {.seed = 1, .capacity = UINT64_C(1) << 34};
    const struct lang_options options = {.print = ignore, .probes = true, .budget = BUDGET};
    struct vs_error err = VS_ERROR_INIT;

    lang_vm_free(vm);
    if (eng != NULL)
        eng_free(eng);
    check(eng_new(&eng_options, &eng, &err) == VS_OK);
    check(lang_vm_new(eng, &options, &vm, &err) == VS_OK);
    age = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    struct lang_net *net = NULL;
    enum vs_status st;

    if (vm == NULL || age++ == LIFE)
        renew();
    st = lang_load(vm, "fuzz.py", (const char *)data, size, &net, &err);
    check((st == VS_OK) == (net != NULL) && err.status == st);
    check(st == VS_OK || err.text[0] != '\0');
    check(eng_failed(eng) == NULL);
    return 0;
}
