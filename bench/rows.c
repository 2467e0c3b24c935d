/*
 * bench/rows.c - see rows.h.
 */
#include "bench/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void bench_row(const char *bench, const char *what, const char *format, ...)
{
    const char *path = getenv("BENCH_ROWS");
    FILE *file = path && *path ? fopen(path, "a") : NULL;
    va_list ap;

    if (!file)
        return;
    fprintf(file, "%s\t%s\t", bench, what);
    VS_ASSERT(format);
    va_start(ap, format);
    vfprintf(file, format, ap);
    va_end(ap);
    fputc('\n', file);
    fclose(file);
}

const char *bench_number(double n, char text[BENCH_TEXT_MAX])
{
    char digits[BENCH_TEXT_MAX];
    size_t len;
    char *out = text;

    if (n < 100) {
        snprintf(text, BENCH_TEXT_MAX, n < 1 ? "%.2f" : "%.1f", n);
        return text;
    }
    len = (size_t)snprintf(digits, sizeof(digits) / 2, "%.0f", n);
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}
