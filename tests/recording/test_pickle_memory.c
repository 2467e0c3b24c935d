/*
 * tests/recording/test_pickle_memory.c - reading a pickle takes no more memory than four times its size and a
 * constant, whatever it contains.
 *
 * The test replaces malloc and counts every block that is allocated meanwhile, so it does not rely on the reader's
 * own limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "recording/pickle.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"

#define CONSTANT ((size_t)65 << 20) /* what pickle.c adds, and what blocks have around them */

static size_t now;
static size_t most;

#if !HAS_SANITIZER /* which has a malloc of its own */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *ptr);

static void *counted(void *ptr)
{
    now += malloc_usable_size(ptr);
    most = now > most ? now : most;
    return ptr;
}

void *malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    now -= malloc_usable_size(old);
    return counted(__libc_realloc(old, size));
}

void free(void *ptr)
{
    now -= malloc_usable_size(ptr);
    __libc_free(ptr);
}
#endif

/* What reading it takes at most, the input too. */
static size_t memory_of(const char *bytes, size_t len, enum vs_status *st)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p = NULL;
    size_t before = now;

    most = now;
    *st = rec_pickle_read(bytes, len, &p, &err);
    rec_pickle_free(p);
    assert_true(now == before);
    return most - before + len;
}

/*
 * `before`, then `unit` until there are `len` bytes, then `after`. A # in `unit` stands for
 * four bytes that differ each time, because equal values are stored once.
 */
static void check(const char *before, const char *unit, size_t unit_len, size_t len,
                  const char *after, enum vs_status expected)
{
    const char *hash = memchr(unit, '#', unit_len);
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st;
    size_t found;

    vs_text_add(&text, before);
    for (uint32_t i = 0; text.len < len; i++) {
        vs_text_add_n(&text, unit, unit_len);
        if (hash)
            memcpy(text.data + text.len - unit_len + (hash - unit), &i, 4);
    }
    vs_text_add(&text, after);
    found = memory_of(vs_text_get(&text), text.len, &st);
    if (st != expected)
        fail_msg("%.8s…: status %d, not %d", unit, (int)st, (int)expected);
    if (found > 4 * text.len + CONSTANT)
        fail_msg("%.8s…: %zu bytes for %zu", unit, found, text.len);
    vs_text_release(&text);
}
#define UNIT(unit) unit, sizeof(unit) - 1

static void memory_is_at_most_four_times_the_input(void **state)
{
    const size_t large = (size_t)24 << 20;

    (void)state;
    if (HAS_SANITIZER)
        tests_skip("a sanitizer replaces malloc, so this test cannot count what is allocated");
    /* what needs more is refused before it has it */
    check("(", UNIT("N"), large, "l.", VS_E_FORMAT);
    check("(", UNIT("]"), large, "l.", VS_E_FORMAT);
    check("(", UNIT("}"), large, "l.", VS_E_FORMAT);
    check("N", UNIT("\x94"), large, ".", VS_OK);
    check("(", UNIT("J#...\x85"), large, "l.", VS_E_FORMAT);
    check("(", UNIT("U\4#...\x85"), large, "l.", VS_E_FORMAT);
    check("(", UNIT("U\x10#..............."), large, "l.", VS_OK);
    check("(",
          UNIT("](J#..."
               "e"),
          large, "l.", VS_E_FORMAT);
    check("(", UNIT("G#......."), large, "l.", VS_OK);
    check("(", UNIT("\x8a\x08#...\1\1\1\x7f"), large, "l.", VS_OK);
    check("U\1aq\1(", UNIT("}(h\1Nu"), large, "l.", VS_OK);
    check("U\1aq\1(", UNIT("}h\1Ns"), large, "l.", VS_E_FORMAT);
    check("U\1aq\1(", UNIT("}(h\1]u"), large, "l.", VS_E_FORMAT);
    check("}(", UNIT("V\\u1234\nN"), large, "u.", VS_OK);
    /* a million lists that are the same */
    check("(}q\1", UNIT("](h\1h\1h\1h\1e"), large, "l.", VS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_at_most_four_times_the_input),
    };

    return cmocka_run_group_tests_name("recording/pickle_memory", tests, NULL, NULL);
}
