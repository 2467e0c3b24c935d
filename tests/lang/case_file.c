/*
 * tests/lang/case_file.c - see case_file.h.
 */
#include "tests/lang/case_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SOURCE_LINE "==== source\n"
#define MESSAGE_LINE "---- message\n"

char *case_file_read(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    if (!file)
        fail_msg("cannot open %s; tests run from the top folder", path);
    (void)fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    assert_true(size >= 0);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    *len = fread(text, 1, (size_t)size, file);
    assert_true(*len == (size_t)size);
    text[*len] = '\0';
    (void)fclose(file);
    return text;
}

/* The end of the part that starts at `s`: where the next line of `mark` begins, or the end of the text. */
static const char *part_end(const char *s, const char *mark)
{
    size_t len = strlen(mark);

    for (; *s; s++) {
        if (strncmp(s, mark, len) == 0)
            return s;
        s = strchr(s, '\n');
        if (!s)
            return mark + len; /* not reached: files end with a line end */
    }
    return s;
}

void case_file_check(const char *path,
                     void (*answer)(const char *source, size_t len, char *out, size_t out_size))
{
    const char *mode = getenv("VRAMSCOPE_GOLDEN");
    FILE *rewritten = mode && strcmp(mode, "write") == 0 ? tmpfile() : NULL;
    size_t len;
    char *text = case_file_read(path, &len);
    const char *s = strstr(text, SOURCE_LINE);
    int cases = 0;

    assert_non_null(s);
    if (rewritten)
        (void)fwrite(text, 1, (size_t)(s - text), rewritten);
    while (*s) {
        const char *source = s + strlen(SOURCE_LINE);
        const char *source_end = part_end(source, MESSAGE_LINE);
        const char *message = *source_end ? source_end + strlen(MESSAGE_LINE) : source_end;
        const char *message_end = part_end(message, SOURCE_LINE);
        char got[4096];

        answer(source, (size_t)(source_end - source), got, sizeof(got) - 1);
        (void)strcat(got, "\n");
        if (rewritten)
            (void)fprintf(rewritten, "%s%.*s%s%s", SOURCE_LINE, (int)(source_end - source), source,
                          MESSAGE_LINE, got);
        else if (strlen(got) != (size_t)(message_end - message) ||
                 memcmp(got, message, strlen(got)) != 0)
            fail_msg("%s: source\n%.*sshould say\n%.*sand says\n%s", path,
                     (int)(source_end - source), source, (int)(message_end - message), message,
                     got);
        s = message_end;
        cases++;
    }
    if (rewritten) {
        FILE *file = fopen(path, "wb");
        int c;

        assert_non_null(file);
        rewind(rewritten);
        while ((c = fgetc(rewritten)) != EOF)
            (void)fputc(c, file);
        (void)fclose(file);
        (void)fclose(rewritten);
    }
    assert_true(cases > 0);
    free(text);
}
