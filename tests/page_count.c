/*
 * tests/page_count.c - see page_count.h.
 */
#include "tests/page_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/share.h"

#define PAGE "docs/internals/fidelity.md"

/* With commas between groups of three digits. */
static void add_count(struct vs_text *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            vs_text_add_char(out, ',');
        vs_text_add_char(out, digits[i]);
    }
}

static struct vs_text page_read(FILE *page)
{
    struct vs_text text = {NULL, 0, 0};
    char part[4096];
    size_t n;

    while ((n = fread(part, 1, sizeof(part), page)) > 0)
        vs_text_add_n(&text, part, n);
    return text;
}

/* Writes `text` with the bytes from `at` to `end` replaced by `row`. */
static void page_write(FILE *page, const char *text, size_t at, size_t end, const char *row)
{
    rewind(page);
    fwrite(text, 1, at, page);
    fputs(row, page);
    fputs(text + end, page);
    fflush(page);
    assert_int_equal(ftruncate(fileno(page), ftell(page)), 0);
}

void page_count_check(const char *data, uint64_t equal, uint64_t total)
{
    const char *wish = getenv("VRAMSCOPE_GOLDEN");
    bool is_writing = wish && strcmp(wish, "write") == 0;
    struct vs_text start = {NULL, 0, 0};
    struct vs_text want = {NULL, 0, 0};
    struct vs_text text;
    const char *row;
    size_t end;
    FILE *page;

    if (tests_share(1) != 1)
        return;
    page = fopen(PAGE, is_writing ? "r+" : "r");
    if (!page)
        fail_msg("%s cannot be opened: run the tests in the root of the repository", PAGE);
    assert_int_equal(flock(fileno(page), is_writing ? LOCK_EX : LOCK_SH), 0);
    text = page_read(page);
    vs_text_addf(&start, "\n| `%s` | ", data);
    add_count(&want, equal);
    vs_text_add(&want, " of ");
    add_count(&want, total);
    row = strstr(vs_text_get(&text), vs_text_get(&start));
    if (!row) {
        fclose(page); /* a later check would wait for its lock */
        fail_msg("%s has no row for `%s`, which is %s", PAGE, data, vs_text_get(&want));
    }
    row += start.len;
    end = strcspn(row, "|\n");
    while (end && row[end - 1] == ' ')
        end--;
    if (end != want.len || strncmp(row, vs_text_get(&want), end) != 0) {
        size_t at = (size_t)(row - vs_text_get(&text));

        if (!is_writing)
            fail_msg("%s has %.*s for `%s`, which is %s; `make golden-counts` writes it", PAGE,
                     (int)end, row, data, vs_text_get(&want));
        page_write(page, vs_text_get(&text), at, at + end, vs_text_get(&want));
    }
    fclose(page); /* and unlocks it */
    vs_text_release(&start);
    vs_text_release(&want);
    vs_text_release(&text);
}
