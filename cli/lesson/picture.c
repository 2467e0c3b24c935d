/*
 * cli/lesson/picture.c - see picture.h.
 *
 * Must not know:  lessons.
 * Invariant:      the two passes over the trace see the same events.
 */
#include "cli/lesson/picture.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* Eighths of a cell. */
static const char *const EIGHTHS[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
#define EIGHTHS_IN_CELL 8
#define AXIS 11

static bool is_of_allocator(const struct vs_event *event)
{
    return event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE;
}

/* Allocator's events from `first` on. */
static enum vs_status events_count(struct rpl_scan *scan, struct rpl_trace *trace, uint64_t first,
                                   uint64_t *out, struct vs_error *err)
{
    const struct vs_event *event;

    *out = 0;
    rpl_scan_init(scan, trace, first, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        *out += is_of_allocator(event);
    return scan->status;
}

static enum vs_status columns_fill(struct cli_picture *out, struct rpl_scan *scan,
                                   struct rpl_trace *trace, uint64_t first, uint64_t count,
                                   struct vs_error *err)
{
    const struct vs_event *event;
    uint64_t allocated = 0;
    uint64_t done = 0;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        const uint64_t column = done * CLI_PICTURE_COLUMNS / count;

        if (event->kind == VS_EV_PHASE && scan->seq >= first && column < CLI_PICTURE_COLUMNS)
            out->begins[column] = vs_phase_name((enum vs_phase)event->phase.phase);
        if (!is_of_allocator(event))
            continue;
        if (event->kind == VS_EV_ALLOC)
            allocated += event->alloc.block_bytes;
        else
            allocated -= event->free.block_bytes;
        if (scan->seq < first)
            continue;
        if (allocated > out->column[column])
            out->column[column] = allocated;
        done++;
    }
    return scan->status;
}

enum vs_status cli_picture_fill(struct cli_picture *out, struct rpl_trace *trace, bool is_whole,
                                struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const size_t steps = rpl_trace_step_count(trace);
    const uint64_t first = steps && !is_whole ? rpl_trace_step(trace, steps - 1).first_seq : 1;
    enum vs_status st = VS_OK;
    uint64_t count = 0;

    memset(out, 0, sizeof(*out));
    if (rpl_trace_event_count(trace))
        st = events_count(scan, trace, first, &count, err);
    if (!st && count)
        st = columns_fill(out, scan, trace, first, count, err);
    vs_free(scan);
    return st;
}

uint64_t cli_picture_top(const struct cli_picture *picture)
{
    uint64_t top = 0;

    for (size_t i = 0; i < CLI_PICTURE_COLUMNS; i++)
        if (picture->column[i] > top)
            top = picture->column[i];
    return top;
}

/* The cell of a column in a row; row 0 is the lowest. */
static const char *cell(uint64_t bytes, uint64_t top, unsigned row)
{
    const double levels = CLI_PICTURE_ROWS * EIGHTHS_IN_CELL;
    const int level = top ? (int)((double)bytes / (double)top * levels + 0.5) : 0;
    const int in_row = level - (int)row * EIGHTHS_IN_CELL;

    return EIGHTHS[in_row < 0 ? 0 : in_row > EIGHTHS_IN_CELL ? EIGHTHS_IN_CELL : in_row];
}

static bool is_main(const char *phase)
{
    return strcmp(phase, "forward") == 0 || strcmp(phase, "backward") == 0 ||
           strcmp(phase, "optimizer") == 0;
}

/* Writes the names where they begin; one that would touch another is left out. */
static void phases_write(const struct cli_picture *picture, bool main_ones, char *line)
{
    for (size_t i = 0; i < CLI_PICTURE_COLUMNS; i++) {
        const char *name = picture->begins[i];
        const size_t len = name ? strlen(name) : 0;
        bool is_free = true;

        if (!name || is_main(name) != main_ones || i + len > CLI_PICTURE_COLUMNS)
            continue;
        for (size_t k = i ? i - 1 : 0; k <= i + len && k < CLI_PICTURE_COLUMNS; k++)
            is_free &= line[k] == ' ';
        if (is_free)
            memcpy(line + i, name, len);
    }
}

static void add_phases(const struct cli_picture *picture, int indent, struct vs_text *out)
{
    char line[CLI_PICTURE_COLUMNS + 1];
    size_t len = CLI_PICTURE_COLUMNS;

    memset(line, ' ', sizeof(line));
    phases_write(picture, true, line);
    phases_write(picture, false, line);
    while (len && line[len - 1] == ' ')
        len--;
    if (len) {
        vs_text_add_fill(out, ' ', indent + AXIS + 2);
        vs_text_add_n(out, line, len);
    }
    vs_text_add_char(out, '\n');
}

void cli_picture_draw(const struct cli_picture *picture, uint64_t top, int indent,
                      struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    for (unsigned row = CLI_PICTURE_ROWS; row-- > 0;) {
        size_t end;

        vs_text_add_fill(out, ' ', indent);
        if (row == CLI_PICTURE_ROWS - 1)
            vs_text_addf(out, "%*s |", AXIS, vs_bytes_text(top, buf));
        else
            vs_text_addf(out, "%*s |", AXIS, row ? "" : "0 B");
        end = out->len;
        for (size_t i = 0; i < CLI_PICTURE_COLUMNS; i++) {
            const char *what = cell(picture->column[i], top, row);

            vs_text_add(out, what);
            if (*what != ' ')
                end = out->len;
        }
        out->data[out->len = end] = '\0';
        vs_text_add_char(out, '\n');
    }
    add_phases(picture, indent, out);
}
