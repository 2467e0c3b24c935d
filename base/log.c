/*
 * base/log.c - see log.h.
 *
 * Must not know:  anything but the C library.
 * Invariant:      the settings are written before any thread is started and only read afterwards.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LEVEL_MAX 9

static const char *const DOMAINS[VS_LOG_DOMAIN_COUNT] = {
    [VS_LOG_BASE] = "base",   [VS_LOG_ENGINE] = "engine", [VS_LOG_LANG] = "lang",
    [VS_LOG_STORE] = "store", [VS_LOG_TRACER] = "tracer", [VS_LOG_REPLAY] = "replay",
    [VS_LOG_TUI] = "tui",     [VS_LOG_CLI] = "cli",
};

/*
 * A writable global (see docs/internals/conventions.md): log statements have no context argument.
 */
static struct {
    FILE *file;
    struct timespec start;
    unsigned char level[VS_LOG_DOMAIN_COUNT];
} log_state;

/* Parses one item of the list, "store" or "store:2". Returns false if it is neither. */
static bool read_item(const char *item, size_t len)
{
    unsigned level = 1;
    bool found = false;

    if (len > 2 && item[len - 2] == ':') {
        if (item[len - 1] < '0' || item[len - 1] > '0' + LEVEL_MAX)
            return false;
        level = (unsigned)(item[len - 1] - '0');
        len -= 2;
    }
    for (size_t i = 0; i < VS_LOG_DOMAIN_COUNT; i++) {
        bool is_this = strlen(DOMAINS[i]) == len && memcmp(DOMAINS[i], item, len) == 0;

        if (is_this || (len == 3 && memcmp(item, "all", 3) == 0)) {
            log_state.level[i] = (unsigned char)level;
            found = true;
        }
    }
    return found;
}

enum vs_status vs_log_open(const char *domains, const char *path, struct vs_error *err)
{
    memset(&log_state, 0, sizeof(log_state));
    if (!domains || !path)
        return VS_OK;
    while (*domains) {
        size_t len = strcspn(domains, ",");

        if (!read_item(domains, len))
            return vs_fail(
                err, VS_E_VALUE,
                "VRAMSCOPE_DEBUG: `%.*s` is no domain; legal: all, base, engine, lang, store, "
                "tracer, replay, tui, cli, each with :LEVEL if wanted",
                (int)len, domains);
        domains += len + (domains[len] == ',');
    }
    log_state.file = fopen(path, "a");
    if (!log_state.file)
        return vs_fail(err, VS_E_IO, "VRAMSCOPE_LOG: cannot write %s: %s", path, strerror(errno));
    setvbuf(log_state.file, NULL, _IOLBF, 0);
    clock_gettime(CLOCK_MONOTONIC, &log_state.start);
    return VS_OK;
}

void vs_log_close(void)
{
    if (log_state.file)
        fclose(log_state.file);
    memset(&log_state, 0, sizeof(log_state));
}

bool vs_log_is_on(enum vs_log_domain domain, unsigned level)
{
    return log_state.file && log_state.level[domain] >= level;
}

void vs_log_write(enum vs_log_domain domain, const char *fmt, ...)
{
    struct timespec now;
    char line[1024];
    va_list ap;

    if (!log_state.file)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(log_state.file, "%10.6f %-6s %s\n",
            (double)(now.tv_sec - log_state.start.tv_sec) +
                (double)(now.tv_nsec - log_state.start.tv_nsec) / 1e9,
            DOMAINS[domain], line);
}
