/*
 * cli/lesson/folder.c - see folder.h.
 *
 * Must not know:  what a lesson says.
 * Invariant:      the order of the files in the folder does not matter.
 */
#include "cli/lesson/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/netfile.h"

/* From the folder of the program: a build (build/, build/clang/), and an installation. */
static const char *const PLACES[] = {"/../lessons", "/../../lessons",
                                     "/../share/vramscope/lessons"};

/* The folder that comes with the program, or NULL. */
static char *own_folder(void)
{
    char program[PATH_MAX];
    char folder[PATH_MAX + 64];
    char *slash;
    const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[n > 0 ? n : 0] = '\0';
    slash = strrchr(program, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(PLACES) / sizeof(PLACES[0]); i++) {
        snprintf(folder, sizeof(folder), "%s%s", program, PLACES[i]);
        if (access(folder, R_OK | X_OK) == 0)
            return vs_strdup(folder);
    }
    return NULL;
}

static bool is_lesson(const char *name)
{
    const size_t len = strlen(name);

    return isdigit((unsigned char)*name) && len > 3 && strcmp(name + len - 3, ".py") == 0;
}

static enum vs_status lesson_add(struct cli_lesson_folder *out, const char *name,
                                 struct vs_error *err)
{
    struct vs_text path = {NULL, 0, 0};
    struct cli_netfile file = {NULL, NULL, 0};
    struct cli_lesson *lesson;
    struct vs_text shown = {NULL, 0, 0};
    enum vs_status st;

    out->lessons = vs_grow(out->lessons, out->count, &out->cap, sizeof(*out->lessons));
    lesson = &out->lessons[out->count];
    memset(lesson, 0, sizeof(*lesson));
    vs_text_addf(&path, "%s/%s", out->path, name);
    vs_text_addf(&shown, "lessons/%s", name);
    st = cli_netfile_read(vs_text_get(&path), &file, err);
    if (!st) {
        out->count++;
        st = cli_lesson_parse(vs_text_get(&shown), file.text, file.len, lesson, err);
    }
    if (!st && strtoul(name, NULL, 10) != lesson->number)
        st = vs_fail(err, VS_E_FORMAT,
                     "lessons/%s: its first line has the number %u; name the file after it", name,
                     lesson->number);
    cli_netfile_release(&file);
    vs_text_release(&path);
    vs_text_release(&shown);
    return st;
}

static int by_number(const void *a, const void *b)
{
    const struct cli_lesson *x = a;
    const struct cli_lesson *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

enum vs_status cli_lesson_folder_read(const char *path, struct cli_lesson_folder *out,
                                      struct vs_error *err)
{
    const struct dirent *entry;
    struct vs_text root = {NULL, 0, 0};
    enum vs_status st = VS_OK;
    DIR *dir;

    out->path = path ? vs_strdup(path) : own_folder();
    if (!out->path)
        return vs_fail(err, VS_E_NOT_FOUND,
                       "there is no folder `lessons` beside the program; name it with --from");
    dir = opendir(out->path);
    if (!dir)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: there is no such folder", out->path);
    while ((entry = readdir(dir)) != NULL && !st)
        if (is_lesson(entry->d_name))
            st = lesson_add(out, entry->d_name, err);
    closedir(dir);
    if (st)
        return st;
    if (!out->count)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: there is no lesson in this folder", out->path);
    qsort(out->lessons, out->count, sizeof(*out->lessons), by_number);
    for (size_t i = 1; i < out->count; i++)
        if (out->lessons[i].number == out->lessons[i - 1].number)
            return vs_fail(err, VS_E_FORMAT, "%s and %s are both lesson %u",
                           out->lessons[i - 1].name, out->lessons[i].name, out->lessons[i].number);
    vs_text_addf(&root, "%s/..", out->path);
    out->root = vs_text_take(&root);
    return VS_OK;
}

void cli_lesson_folder_release(struct cli_lesson_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        cli_lesson_release(&folder->lessons[i]);
    vs_free(folder->lessons);
    vs_free(folder->path);
    vs_free(folder->root);
    memset(folder, 0, sizeof(*folder));
}
