/* cli/record/record_numbers.c - values of record's options that are numbers; see record_numbers.h. */
#include "cli/record/record_numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum vs_status cli_record_seed(const char *text, uint64_t *out, struct vs_error *err)
{
    char *end = NULL;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return vs_fail(err, VS_E_USAGE,
                       "record: --seed cannot be `%s`; give a number from 0 to 2^64 - 1", text);
    return VS_OK;
}

enum vs_status cli_record_keep(const char *text, uint64_t *out, struct vs_error *err)
{
    static const char SUFFIXES[] = "kmg";
    char *end = NULL;
    const char *suffix;
    uint64_t factor = 1;

    errno = 0;
    *out = strtoull(text, &end, 10);
    suffix = *end ? strchr(SUFFIXES, *end | 0x20) : NULL;
    for (const char *s = SUFFIXES; suffix && s <= suffix; s++)
        factor *= 1000;
    if (*text < '0' || *text > '9' || errno || !*out || *out > UINT64_C(1000000000000) / factor ||
        (*end && (!suffix || end[1])))
        return vs_fail(err, VS_E_USAGE,
                       "record: --keep cannot be `%s`; give a number of events such as 500000, "
                       "500k or 10m",
                       text);
    *out *= factor;
    return VS_OK;
}
