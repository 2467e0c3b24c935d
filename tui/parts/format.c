/*
 * tui/parts/format.c - see format.h.
 *
 * Must not know:  what the figures stand for.
 * Invariant:      a figure is never wider than TUI_SHORT_W cells.
 */
#include "tui/parts/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/event.h"

static const char *shorten(uint64_t n, unsigned base, const char *units, const char *unit,
                           char *buf)
{
    double value = (double)n;
    const char *at = units;

    if (n < base) {
        snprintf(buf, TUI_SHORT_MAX - 1, "%" PRIu64 "%s", n, unit);
        return buf;
    }
    value /= base;
    /* what rounds up to the next unit is written in that unit */
    while (value >= base - 0.5 && at[1]) {
        value /= base;
        at++;
    }
    /* a tenth of a GiB would hide whole tensors, so large sizes have two decimals */
    snprintf(buf, TUI_SHORT_MAX - 1, "%.*f%c",
             value < 9.995 && base == 1024 && at - units >= 2 ? 2
             : value < 99.95                                  ? 1
                                                              : 0,
             value, *at);
    return buf;
}

const char *tui_short_bytes(uint64_t n, char *buf)
{
    return shorten(n, 1024, "KMGTPE", "B", buf);
}

const char *tui_short_count(uint64_t n, char *buf)
{
    return shorten(n, 1000, "kMGTPE", "", buf);
}

const char *tui_short_delta(int64_t n, char *buf)
{
    if (!n) {
        snprintf(buf, TUI_SHORT_MAX, "0");
        return buf;
    }
    buf[0] = n < 0 ? '-' : '+';
    shorten(n < 0 ? (uint64_t)0 - (uint64_t)n : (uint64_t)n, 1024, "KMGTPE", "B", buf + 1);
    return buf;
}

const char *tui_short_ns(uint64_t ns, char *buf)
{
    static const char *const UNITS[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;

    while (value >= 999.5 && unit < 3) {
        value /= 1000;
        unit++;
    }
    if (value >= 9999.5)
        snprintf(buf, TUI_SHORT_MAX, "long");
    else
        snprintf(buf, TUI_SHORT_MAX, unit && value < 99.95 ? "%.1f%s" : "%.0f%s", value,
                 UNITS[unit]);
    return buf;
}

const char *tui_phase_text(int phase, int w)
{
    const char *name = vs_phase_name((enum vs_phase)phase);
    const char *brief = name;

    if ((int)strlen(name) <= w)
        return name;
    switch ((enum vs_phase)phase) {
    case VS_PHASE_FORWARD:
        brief = "fwd";
        break;
    case VS_PHASE_BACKWARD:
        brief = "bwd";
        break;
    case VS_PHASE_OPTIMIZER:
        brief = "opt";
        break;
    case VS_PHASE_ZERO_GRAD:
        brief = "zero";
        break;
    case VS_PHASE_SETUP:
    case VS_PHASE_DATA:
    case VS_PHASE_LOSS:
    case VS_PHASE_COUNT:
        break;
    }
    return brief;
}
