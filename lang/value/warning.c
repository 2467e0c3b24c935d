/*
 * lang/value/warning.c - see warning.h.
 */
#include "lang/value/warning.h"

#include <string.h>

static const struct {
    const char *name, *advice;
} ROWS[] = {
/* clang-format off */
#define LANG_WARNING(id, name, advice) {name, advice},
#include "lang/value/warning.def"
#undef LANG_WARNING
    /* clang-format on */
};

const char *lang_warning_name(enum lang_warning_kind kind)
{
    return ROWS[kind].name;
}

const char *lang_warning_advice(enum lang_warning_kind kind)
{
    return ROWS[kind].advice;
}

bool lang_warning_find(const char *name, enum lang_warning_kind *out)
{
    for (int i = 0; i < LANG_WARNING_COUNT; i++) {
        if (strcmp(ROWS[i].name, name) == 0) {
            *out = (enum lang_warning_kind)i;
            return true;
        }
    }
    return false;
}
