/*
 * tui/export.c - see export.h.
 *
 * Must not know:  the contents of a format.
 * Invariant:      the run that is shown is the one exported.
 */
#include "tui/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "export/export.h"
#include "tui/change.h"
#include "tui/screen.h"

#define TEXT_NAME "txt"

const char *tui_export_format(size_t i)
{
    if (i < EXP_FORMAT_COUNT)
        return exp_format_info((enum exp_format)i)->name;
    return i == EXP_FORMAT_COUNT ? TEXT_NAME : NULL;
}

/* "run.svg" for run.db. The caller frees it. */
static char *default_name(const struct tui_app *app, const char *ending)
{
    const char *name = app->change.is_shown && app->change.name ? app->change.name : app->name;
    size_t len = strlen(name);
    struct vs_text text = {NULL, 0, 0};

    if (len > 3 && strcmp(name + len - 3, ".db") == 0)
        len -= 3;
    vs_text_add_n(&text, name, len);
    vs_text_add(&text, app->change.is_shown && !app->change.name ? "-whatif" : "");
    vs_text_add(&text, ending);
    return vs_text_take(&text);
}

static enum vs_status run_write(const struct tui_app *app, enum exp_format format, FILE *file,
                                const char *path, struct vs_error *err)
{
    const struct exp_format_info *info = exp_format_info(format);
    const struct tui_run *other = tui_app_other(app);
    struct vs_text title = {NULL, 0, 0};
    struct exp_options options = {.format = format, .to = path};
    enum vs_status st;

    /* a single run is titled by its net */
    if (app->change.is_shown && !app->change.name)
        tui_change_text(app, &title);
    else if (other)
        vs_text_add(&title, app->change.is_shown ? app->change.name : app->name);
    if (title.len)
        options.name = vs_text_get(&title);
    if (info->takes & EXP_POSITION)
        options.at = (struct exp_position){EXP_AT_EVENT, (int64_t)app->at};
    if ((info->takes & EXP_SECOND) && other) {
        options.second = other->index;
        options.second_name = app->change.is_shown ? app->name
                              : app->change.name   ? app->change.name
                                                   : "what if";
    }
    st = exp_write(tui_app_run(app)->index, &options, file, err);
    vs_text_release(&title);
    return st;
}

static enum vs_status pane_write(const struct tui_app *app, FILE *file, const char *path,
                                 struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    tui_pane_text(app, &text);
    if (fwrite(vs_text_get(&text), 1, text.len, file) != text.len)
        st = vs_fail(err, VS_E_IO, "%s: cannot be written: %s", path, strerror(errno));
    vs_text_release(&text);
    return st;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* Export into a new file, which is deleted again after a failure. */
static void file_write(struct tui_app *app, bool is_text, enum exp_format format, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    FILE *file = fopen(path, "wbx");
    char buf[VS_BYTES_TEXT_MAX];
    enum vs_status st;
    long size;

    if (!file) {
        tui_app_fail(app,
                     errno == EEXIST ? "%s: %s; name another file" : "%s: cannot be written: %s",
                     path, errno == EEXIST ? "it exists already" : strerror(errno));
        return;
    }
    tui_app_say(app, "writing %s …", path);
    tui_app_pump(app);
    st = is_text ? pane_write(app, file, path, &err) : run_write(app, format, file, path, &err);
    size = ftell(file);
    if (fclose(file) != 0 && !st)
        st = vs_fail(&err, VS_E_IO, "%s: cannot be written: %s", path, strerror(errno));
    if (st) {
        unlink(path);
        tui_app_fail(app, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    } else {
        tui_app_say(app, "wrote %s, %s", path, vs_bytes_text(size > 0 ? (uint64_t)size : 0, buf));
    }
}

void tui_export(struct tui_app *app, const char *words)
{
    char *name = vs_strndup(words, strcspn(words, " "));
    bool is_text = strcmp(name, TEXT_NAME) == 0;
    struct vs_error err = VS_ERROR_INIT;
    enum exp_format format = EXP_FORMAT_COUNT;
    char *path = NULL;

    words += strlen(name);
    while (*words == ' ')
        words++;
    if (!*name) {
        tui_app_fail(app, "`:export FORMAT FILE`; <tab> lists the formats");
    } else if (!is_text && exp_format_find(name, &format, &err)) {
        tui_app_fail(app, "%s", err.text);
    } else if (ends_with(words, ".gz")) {
        tui_app_fail(app, "`vramscope export` compresses; here name it without .gz");
    } else {
        path = *words
                   ? vs_strdup(words)
                   : default_name(app, is_text ? "." TEXT_NAME : exp_format_info(format)->ending);
        file_write(app, is_text, format, path);
    }
    vs_free(path);
    vs_free(name);
}
