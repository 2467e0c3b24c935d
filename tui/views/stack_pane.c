/*
 * tui/views/stack_pane.c - see stack_pane.h.
 *
 * Must not know:  terminals.
 * Invariant:      a source is read once, until a frame of another file is chosen.
 */
#include "tui/views/stack_pane.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "replay/trace/callstack.h"
#include "replay/trace/scripts.h"
#include "tui/parts/frame.h"

/* Rows of source above the line of the frame, and rows of source in all. */
#define SOURCE_ABOVE 3
#define SOURCE_ROWS 8
/* A longer file is not read. */
#define SOURCE_MAX (4 << 20)

/* ---- frames ---- */

static void frames_clear(struct tui_stack_pane *pane)
{
    for (size_t i = 0; i < pane->count; i++)
        vs_free(pane->frames[i].file);
    pane->count = 0;
}

static void on_frame(void *user, const char *func, uint32_t line)
{
    struct tui_stack_pane *pane = user;
    struct tui_frame frame = {.file = vs_strdup(func), .line = line};
    char *colon = strchr(frame.file, ':');

    frame.func = frame.file + strlen(frame.file);
    if (colon) {
        *colon = 0;
        frame.func = colon + 1;
    }
    pane->frames = vs_grow(pane->frames, pane->count, &pane->cap, sizeof(*pane->frames));
    pane->frames[pane->count++] = frame;
}

/* ---- source ---- */

/* The text of a file; NULL: it cannot be read. */
static char *file_text(const char *path)
{
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    struct vs_text text = {NULL, 0, 0};
    char part[4096];
    size_t n;

    if (!file)
        return NULL;
    while (text.len < SOURCE_MAX && (n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    if (ferror(file) || text.len >= SOURCE_MAX || memchr(vs_text_get(&text), 0, text.len)) {
        fclose(file);
        vs_text_release(&text);
        return NULL;
    }
    fclose(file);
    return vs_text_take(&text);
}

/* The text of a file of the stack as it was recorded; else from the folder of the trace or the current one. */
static void source_read(struct tui_stack_pane *pane, const struct tui_app *app, const char *name)
{
    struct rpl_script script = {.path = NULL};
    const char *slash = app->path ? strrchr(app->path, '/') : NULL;
    struct vs_text path = {NULL, 0, 0};

    if (pane->text_of && strcmp(pane->text_of, name) == 0)
        return;
    vs_free(pane->text);
    vs_free(pane->text_of);
    pane->text = NULL;
    pane->text_of = vs_strdup(name);
    if (!*name || *name == '<')
        return;
    vs_text_addf(&path, "%s:", name);
    if (rpl_script_of(tui_app_run(app)->trace, vs_text_get(&path), &script)) {
        pane->text = script.text;
        script.text = NULL;
    }
    rpl_script_release(&script);
    vs_text_clear(&path);
    if (slash && !pane->text) {
        vs_text_add_n(&path, app->path, (size_t)(slash + 1 - app->path));
        vs_text_add(&path, name);
        pane->text = file_text(vs_text_get(&path));
    }
    if (!pane->text)
        pane->text = file_text(name);
    vs_text_release(&path);
}

static void add_source(struct tui_stack_pane *pane, const struct tui_frame *frame, size_t rows)
{
    uint32_t first = frame->line > SOURCE_ABOVE ? frame->line - SOURCE_ABOVE : 1;
    const char *at = pane->text;

    for (uint32_t line = 1; at && *at && line < first + rows; line++) {
        size_t len = strcspn(at, "\n");

        if (line >= first) {
            tui_page_add(&pane->page, TUI_LINE_NUMBER, "%5" PRIu32 " %s", line,
                         line == frame->line ? ">" : " ");
            tui_page_more(&pane->page, 0, line == frame->line ? TUI_STRONG : TUI_PLAIN, " %.*s",
                          (int)len, at);
        }
        at += len + (at[len] == '\n');
    }
}

/* ---- the page ---- */

static bool is_own(const struct tui_frame *frame)
{
    return tui_frame_is_own(frame->file) && frame->file[0];
}

/* The innermost frame of one's own; 0: there is none. */
static size_t own_first(const struct tui_stack_pane *pane)
{
    for (size_t i = 0; i < pane->count; i++)
        if (is_own(&pane->frames[i]))
            return i;
    return 0;
}

/* The next frame of one's own outwards or inwards; at: there is none. */
static size_t own_beside(const struct tui_stack_pane *pane, size_t at, bool is_outwards)
{
    for (size_t i = at; is_outwards ? i + 1 < pane->count : i > 0;) {
        i = is_outwards ? i + 1 : i - 1;
        if (is_own(&pane->frames[i]))
            return i;
    }
    return at;
}

/* The frame after the row that begins with frame `at`: frames of libraries share one, where there are others. */
static size_t row_end(const struct tui_stack_pane *pane, size_t at)
{
    size_t end = at;

    if (!is_own(&pane->frames[pane->up]))
        return at + 1;
    while (end < pane->count && !is_own(&pane->frames[end]))
        end++;
    return end > at ? end : at + 1;
}

/* "3 frames of torch" */
static void add_libraries(struct tui_stack_pane *pane, size_t from, size_t to)
{
    const char *file = pane->frames[from].file;
    int len = (int)strcspn(file, "/");
    bool is_one = file[len] == '/';

    for (size_t i = from + 1; i < to; i++)
        is_one = is_one && strncmp(pane->frames[i].file, file, (size_t)len + 1) == 0;
    tui_page_add(&pane->page, TUI_DIM, "  %zu frames of %.*s", to - from, is_one ? len : 9,
                 is_one ? file : "libraries");
}

static void add_frame(struct tui_stack_pane *pane, size_t at)
{
    const struct tui_frame *frame = &pane->frames[at];
    bool is_chosen = at == pane->up;
    struct vs_text name = {NULL, 0, 0};

    tui_frame_text(frame->file, &name);
    tui_page_add(&pane->page, TUI_KEY_NAME, is_chosen ? "> " : "  ");
    tui_page_more(&pane->page, 0,
                  is_chosen       ? TUI_STRONG
                  : is_own(frame) ? TUI_PLAIN
                                  : TUI_DIM,
                  "%s:%s", vs_text_get(&name), frame->func);
    if (frame->line)
        tui_page_more(&pane->page, 0, TUI_LINE_NUMBER, ":%" PRIu32, frame->line);
    vs_text_release(&name);
}

static void page_make(struct tui_stack_pane *pane, size_t h)
{
    const struct tui_frame *chosen = &pane->frames[pane->up];
    bool has_source = pane->text && chosen->line;
    size_t rows = has_source && h > SOURCE_ROWS + 4 ? h - SOURCE_ROWS - 1 : h;
    size_t above = 0;
    size_t row = 0;

    tui_page_clear(&pane->page);
    tui_page_add(&pane->page, TUI_TITLE, "called by");
    tui_page_more(&pane->page, 0, TUI_DIM, "  %zu frames; u, d", pane->count);
    rows = rows > 1 ? rows - 1 : 1;
    for (size_t i = 0; i < pane->up; i = row_end(pane, i))
        above++;
    above = above >= rows ? above + 1 - rows : 0;
    for (size_t i = 0, end; i < pane->count && row < above + rows; i = end, row++) {
        end = row_end(pane, i);
        if (row >= above && end - i > 1)
            add_libraries(pane, i, end);
        else if (row >= above)
            add_frame(pane, i);
    }
    if (!has_source || rows + 1 >= h)
        return;
    tui_page_add(&pane->page, TUI_TITLE, "%s", chosen->file);
    add_source(pane, chosen, h - pane->page.count);
}

void tui_stack_pane_fill(struct tui_stack_pane *pane, const struct tui_app *app, uint64_t seq,
                         int h)
{
    struct vs_error err = VS_ERROR_INIT;

    frames_clear(pane);
    tui_page_clear(&pane->page);
    if (rpl_trace_stack_each(tui_app_run(app)->trace, seq, on_frame, pane, &err)) {
        tui_page_add(&pane->page, TUI_BAD, "%s", err.text);
        return;
    }
    if (!pane->count)
        return;
    if (seq != pane->seq || pane->up >= pane->count)
        pane->up = own_first(pane);
    pane->seq = seq;
    source_read(pane, app, pane->frames[pane->up].file);
    page_make(pane, h > 0 ? (size_t)h : 1);
}

void tui_stack_pane_step(struct tui_stack_pane *pane, struct tui_app *app, int64_t by)
{
    const struct tui_frame *frame;
    struct vs_text name = {NULL, 0, 0};
    bool is_outwards = by > 0;
    size_t up = pane->up;

    if (!pane->count) {
        tui_app_say(app, "no call stack was recorded for this event");
        return;
    }
    for (int64_t left = is_outwards ? by : -by;
         left > 0 && (is_outwards ? up + 1 < pane->count : up > 0); left--)
        up = is_own(&pane->frames[pane->up]) ? own_beside(pane, up, is_outwards)
             : is_outwards                   ? up + 1
                                             : up - 1;
    if (up == pane->up) {
        tui_app_say(app, "this is the %s frame%s", is_outwards ? "outermost" : "innermost",
                    is_own(&pane->frames[up]) ? " of your files" : "");
        return;
    }
    pane->up = up;
    frame = &pane->frames[up];
    source_read(pane, app, frame->file);
    tui_frame_text(frame->file, &name);
    tui_app_say(app, "%s:%s:%" PRIu32 ", %zu above the allocation%s", vs_text_get(&name),
                frame->func, frame->line, up,
                pane->text ? "" : "; its source is not in this folder");
    vs_text_release(&name);
    app->moves++;
}

void tui_stack_pane_release(struct tui_stack_pane *pane)
{
    frames_clear(pane);
    vs_free(pane->frames);
    vs_free(pane->text);
    vs_free(pane->text_of);
    tui_page_release(&pane->page);
    memset(pane, 0, sizeof(*pane));
}
