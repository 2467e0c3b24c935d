/*
 * recording/memlist_csv.c - reads comma- or tab-separated lists; recording/memlist.h describes them.
 *
 * Must not know:  files.
 * Invariant:      an invalid value is refused with its line and column, never guessed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recording/memlist_internal.h"

#define COLUMNS_MAX 64

enum column {
    COL_KIND,
    COL_BYTES,
    COL_ID,
    COL_ADDRESS,
    COL_CLASS,
    COL_OP,
    COL_FUNCTION,
    COL_FILE,
    COL_LINE,
    COL_STREAM,
    COL_COUNT
};

static const char *const COLUMN_NAMES[COL_COUNT] = {
    "kind", "bytes", "id", "address", "class", "op", "function", "file", "line", "stream"};

/* at: index of each column, -1 if missing. cells: of the current line. */
struct table {
    struct vs_memlist *list;
    char separator;
    int at[COL_COUNT];
    char *cells[COLUMNS_MAX];
    size_t cell_count;
    size_t number;
};

/* Split the line into cells in place. False: too many cells, or an unterminated quote. */
static bool line_cut(struct table *t, char *line)
{
    t->cell_count = 0;
    for (;;) {
        char *to = line;

        if (t->cell_count == COLUMNS_MAX)
            return false;
        t->cells[t->cell_count++] = line;
        if (*line == '"') {
            const char *from = line + 1;

            while (*from && (*from != '"' || from[1] == '"')) {
                from += *from == '"';
                *to++ = *from++;
            }
            if (*from != '"')
                return false;
            from++;
            if (*from && *from != t->separator)
                return false;
            line = to + (from - to);
        } else {
            line += strcspn(line, t->separator == '\t' ? "\t" : ",");
            to = line;
        }
        if (!*line) {
            *to = '\0';
            return true;
        }
        *to = '\0';
        line++;
    }
}

static const char *cell(const struct table *t, enum column column)
{
    return t->at[column] >= 0 && (size_t)t->at[column] < t->cell_count ? t->cells[t->at[column]]
                                                                       : "";
}

static enum vs_status header_read(struct table *t, char *line, struct vs_error *err)
{
    t->separator = strchr(line, '\t') ? '\t' : ',';
    for (size_t i = 0; i < COL_COUNT; i++)
        t->at[i] = -1;
    if (!line_cut(t, line))
        t->cell_count = 0;
    for (size_t i = 0; i < t->cell_count; i++)
        for (size_t c = 0; c < COL_COUNT; c++)
            if (strcmp(t->cells[i], COLUMN_NAMES[c]) == 0)
                t->at[c] = (int)i;
    if (t->at[COL_KIND] < 0 || t->at[COL_BYTES] < 0 ||
        (t->at[COL_ID] < 0 && t->at[COL_ADDRESS] < 0))
        return vs_fail(err, VS_E_FORMAT,
                       "line %zu: a list of memory events begins with the names of its columns: "
                       "kind, bytes, and id or address",
                       t->number);
    t->list->has_addresses = t->at[COL_ADDRESS] >= 0;
    return VS_OK;
}

static enum vs_status wrong(const struct table *t, enum column column, const char *right,
                            struct vs_error *err)
{
    return vs_fail(err, VS_E_FORMAT, "line %zu: %s cannot be `%.40s`; %s", t->number,
                   COLUMN_NAMES[column], cell(t, column), right);
}

/* Read a number; an empty cell is 0. */
static enum vs_status number_read(const struct table *t, enum column column, uint64_t *out,
                                  struct vs_error *err)
{
    const char *text = cell(t, column);
    char *end = NULL;

    *out = 0;
    if (!*text)
        return VS_OK;
    if (*text >= '0' && *text <= '9')
        *out = strtoull(text, &end, 0);
    return end && !*end ? VS_OK : wrong(t, column, "give a number from 0 on, or 0x…", err);
}

/* Read the kind of an event. "free" stands for two events: *kinds is 2 then. */
static enum vs_status kind_read(const struct table *t, enum vs_mem_kind *out, size_t *kinds,
                                struct vs_error *err)
{
    const char *name = cell(t, COL_KIND);

    *kinds = 1;
    *out = VS_MEM_FREE_REQUESTED;
    if (strcmp(name, "free") == 0) {
        *kinds = 2;
        return VS_OK;
    }
    for (size_t k = 0; k < VS_MEM_KIND_COUNT; k++)
        if (strcmp(name, vs_mem_kind_name((enum vs_mem_kind)k)) == 0) {
            *out = (enum vs_mem_kind)k;
            return VS_OK;
        }
    return wrong(t, COL_KIND, "give a kind of event such as alloc, free or segment_alloc", err);
}

static enum vs_status class_read(const struct table *t, uint8_t *out, struct vs_error *err)
{
    const char *name = cell(t, COL_CLASS);

    *out = VS_MEM_TENSOR;
    if (!*name)
        return VS_OK;
    for (size_t c = 0; c < VS_MEM_CLASS_COUNT; c++)
        if (strcmp(name, vs_mem_class_name((enum vs_mem_class)c)) == 0) {
            *out = (uint8_t)c;
            return VS_OK;
        }
    return wrong(t, COL_CLASS, "legal: tensor, workspace, reduction, sort, scratch", err);
}

static uint32_t string_read(const struct table *t, enum column column)
{
    return vs_memlist_string(t->list, cell(t, column), strlen(cell(t, column)));
}

static enum vs_status line_read(struct table *t, char *line, struct vs_error *err)
{
    enum vs_mem_kind kind = VS_MEM_OTHER;
    struct vs_mem_event read = {.address = 0};
    uint64_t source_line = 0;
    size_t kinds = 1;
    enum vs_status st;

    if (!line_cut(t, line))
        return vs_fail(err, VS_E_FORMAT,
                       "line %zu: too many columns, or a quote that is not closed", t->number);
    st = kind_read(t, &kind, &kinds, err);
    if (!st)
        st = number_read(t, COL_BYTES, &read.bytes, err);
    if (!st && t->list->has_addresses)
        st = number_read(t, COL_ADDRESS, &read.address, err);
    else if (!st)
        read.address = string_read(t, COL_ID);
    if (!st)
        st = number_read(t, COL_LINE, &source_line, err);
    if (!st)
        st = number_read(t, COL_STREAM, &read.stream, err);
    if (!st)
        st = class_read(t, &read.cls, err);
    for (size_t i = 0; i < kinds && !st; i++) {
        struct vs_mem_event *event = vs_memlist_add_event(t->list, i ? VS_MEM_FREE_COMPLETED : kind,
                                                          read.address, read.bytes, read.stream);

        event->cls = read.cls;
        event->op = string_read(t, COL_OP);
        event->func = string_read(t, COL_FUNCTION);
        event->file = string_read(t, COL_FILE);
        event->line = (uint32_t)source_line;
    }
    return st;
}

enum vs_status rec_memlist_csv(char *text, struct vs_memlist *out, struct vs_error *err)
{
    struct table t = {.list = out};
    enum vs_status st = VS_OK;
    bool has_header = false;
    char *line = text;

    while (*line && !st) {
        char *end = line + strcspn(line, "\n");
        char *next = end + (*end == '\n');

        if (end > line && end[-1] == '\r')
            end--;
        *end = '\0';
        t.number++;
        if (*line && *line != '#') {
            st = has_header ? line_read(&t, line, err) : header_read(&t, line, err);
            has_header = true;
        }
        line = next;
    }
    if (!st && !has_header)
        st = vs_fail(err, VS_E_FORMAT, "the file is empty");
    return st;
}
