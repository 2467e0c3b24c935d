/*
 * base/log.h - the debug log, for developers of vramscope.
 *
 * For:            every folder; switched on by two environment variables.
 * Must not know:  anything but the C library.
 * Invariant:      while it is off (the default) a log statement costs one test; what a user needs is an error or a
 *                 result, never a log line.
 *
 * VRAMSCOPE_DEBUG=store,replay:2 switches on domains, each with a level (1 if none is given); `all` stands for every
 * domain.
 * VRAMSCOPE_LOG names the file. Without it nothing is logged; the log never goes to the screen.
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
 * Opens the log: `domains` and `path` are the values of the two variables, NULL if not set. Call it once, before any
 * thread is started.
 *
 * VS_E_VALUE: unknown domain or level; the text lists the legal ones. VS_E_IO: the file cannot be written.
 */
VS_MUST_USE enum vs_status vs_log_open(const char *domains, const char *path, struct vs_error *err);
/* Closes the file; later log lines are dropped. */
void vs_log_close(void);

bool vs_log_is_on(enum vs_log_domain domain, unsigned level);
/* Writes one line: seconds since vs_log_open, domain, text. Thread-safe. */
void vs_log_write(enum vs_log_domain domain, const char *fmt, ...) VS_PRINTF(2, 3);

/*
 * Logs a line if the domain is on at `level` (1: rare messages, 2: frequent ones). The arguments are evaluated only
 * then.
 */
#define VS_LOG(domain, level, ...)                                                                 \
    do {                                                                                           \
        if (vs_log_is_on(domain, level))                                                           \
            vs_log_write(domain, __VA_ARGS__);                                                     \
    } while (0)

#endif
