/*
 * base/error.c - see error.h.
 *
 * Must not know:  anything but the C library.
 * Invariant:      an error's text always ends with a NUL.
 */
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[VS_STATUS_COUNT] = {
    [VS_OK] = "VS_OK",
/* clang-format off */
#define VS_STATUS(name, text) [name] = #name,
#include "base/status.def"
#undef VS_STATUS
    /* clang-format on */
};

/*
 * A writable global (see docs/internals/conventions.md): the terminal must be restored before the message is printed.
 */
static void (*die_hook)(void);

enum vs_status vs_failv(struct vs_error *err, enum vs_status status, const char *fmt, va_list ap)
{
    err->status = status;
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    return status;
}

enum vs_status vs_fail(struct vs_error *err, enum vs_status status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vs_failv(err, status, fmt, ap);
    va_end(ap);
    return status;
}

void vs_error_prefix(struct vs_error *err, const char *fmt, ...)
{
    char old[VS_ERROR_TEXT_MAX];
    va_list ap;
    size_t used;

    memcpy(old, err->text, sizeof(old));
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", old);
}

const char *vs_status_name(enum vs_status status)
{
    return (unsigned)status < VS_STATUS_COUNT ? NAMES[status] : "VS_E_?";
}

void vs_die_hook_set(void (*hook)(void))
{
    die_hook = hook;
}

void vs_die(const char *fmt, ...)
{
    va_list ap;

    if (die_hook)
        die_hook();
    fputs("vramscope: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
