/*
 * base/log.h - notes for those who work on the program, into a file, never onto the screen.
 *
 * For:            every folder; switched on by the environment.
 * Must not know:  anything but the C library.
 * Invariant:      switched off (the default) a note costs one test; anything a user needs is an error or a result, not a note.
 *
 * VRAMSCOPE_DEBUG=store,replay:2 switches on domains, with a level (1 where none is given); `all` is every domain.
 * VRAMSCOPE_LOG names the file; without it nothing is noted.
 */
#ifndef VS_BASE_LOG_H
#define VS_BASE_LOG_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"

enum vs_log_domain {
    VS_LOG_BASE,
    VS_LOG_ENGINE,
    VS_LOG_LANG,
    VS_LOG_STORE,
    VS_LOG_TRACER,
    VS_LOG_REPLAY,
    VS_LOG_TUI,
    VS_LOG_CLI,
    VS_LOG_DOMAIN_COUNT
};

/*
 * Start: `domains` and `path` as the two variables hold them, NULL where they are not set. Once, before any thread.
 *
 * VS_E_VALUE: an unknown domain or level, named with the legal ones. VS_E_IO: the file cannot be written.
 */
VS_MUST_USE enum vs_status vs_log_open(const char *domains, const char *path, struct vs_error *err);
/* Close the file; later notes are dropped. */
void vs_log_close(void);

bool vs_log_is_on(enum vs_log_domain domain, unsigned level);
/* One line: seconds since vs_log_open, domain, text. Safe from several threads. */
void vs_log_write(enum vs_log_domain domain, const char *fmt, ...) VS_PRINTF(2, 3);

/* A note of `level` (1: rare, 2: often). The arguments are only evaluated where it is on. */
#define VS_LOG(domain, level, ...)                                                                 \
    do {                                                                                           \
        if (vs_log_is_on(domain, level))                                                           \
            vs_log_write(domain, __VA_ARGS__);                                                     \
    } while (0)

#endif
