/*
 * base/bytes.c - see bytes.h.
 *
 * Must not know:  what the bytes are for.
 * Invariant:      no result is cut without a report.
 */
#include "base/bytes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From this size on a tenth of a unit is larger than most tensors: two decimals are written. */
#define GIB_UNIT 3
static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
#define UNIT_COUNT (sizeof(UNITS) / sizeof(UNITS[0]))

bool vs_bytes_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

bool vs_bytes_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

uint64_t vs_bytes_round_up(uint64_t n, uint64_t quantum)
{
    uint64_t rest = n % quantum;

    return rest ? n + (quantum - rest) : n;
}

const char *vs_bytes_text(uint64_t n, char *buf)
{
    size_t unit = 0;
    double value = (double)n;

    while (unit + 1 < UNIT_COUNT && value >= (unit ? 1023.95 : 1024.0)) {
        value /= 1024.0;
        unit++;
    }
    if (!unit)
        snprintf(buf, VS_BYTES_TEXT_MAX, "%" PRIu64 " B", n);
    else
        snprintf(buf, VS_BYTES_TEXT_MAX, "%.*f %s", unit < GIB_UNIT ? 1 : 2, value, UNITS[unit]);
    return buf;
}

const char *vs_bytes_delta_text(int64_t n, char *buf)
{
    char plain[VS_BYTES_TEXT_MAX];
    uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    snprintf(buf, VS_BYTES_TEXT_MAX, "%s%.28s",
             n < 0 ? "-"
             : n   ? "+"
                   : "",
             vs_bytes_text(size, plain));
    return buf;
}

const char *vs_bytes_exact_text(uint64_t n, char *buf)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
    size_t out = 0;

    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = '\0';
    return buf;
}

bool vs_bytes_parse(const char *text, uint64_t *out)
{
    static const char PREFIXES[] = "KMGT";
    char *end;
    double value;
    double scale = 1.0;
    const char *prefix;

    if (!isdigit((unsigned char)text[0]))
        return false;
    value = strtod(text, &end);
    while (*end == ' ')
        end++;
    prefix = *end ? strchr(PREFIXES, toupper((unsigned char)*end)) : NULL;
    if (prefix) {
        for (const char *p = PREFIXES; p <= prefix; p++)
            scale *= 1024.0;
        end++;
        if (*end == 'i' && end[1] == 'B')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end || value * scale >= 18446744073709551616.0)
        return false;
    *out = (uint64_t)(value * scale);
    return true;
}

const char *vs_change_text(double before, double after, char *buf)
{
    double percent = 100.0 * (after - before) / before;
    double size = percent < 0.0 ? -percent : percent;

    if (after == before)
        snprintf(buf, VS_CHANGE_TEXT_MAX, "+0.0 %%");
    else if (size < 0.005)
        snprintf(buf, VS_CHANGE_TEXT_MAX, "<0.01 %%");
    else
        snprintf(buf, VS_CHANGE_TEXT_MAX, size < 0.05 ? "%+.2f %%" : "%+.1f %%", percent);
    return buf;
}

double vs_bytes_tick(double least, double *unit, char *letter)
{
    static const char LETTERS[] = "BKMGTPE";
    static const double ROUND[] = {1, 2, 2.5, 5, 10, 20, 25, 50, 100, 200, 250, 500};
    size_t u = 0;

    for (*unit = 1; u + 1 < sizeof(LETTERS) - 1 && least > *unit * 500; u++)
        *unit *= 1024;
    *letter = LETTERS[u];
    /* there are no half bytes */
    for (size_t i = 0; i < sizeof(ROUND) / sizeof(ROUND[0]); i++)
        if (ROUND[i] * *unit >= least && (u || ROUND[i] != 2.5))
            return ROUND[i] * *unit;
    return 1000 * *unit;
}
