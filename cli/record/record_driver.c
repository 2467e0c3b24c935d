/*
 * cli/record/record_driver.c - see record_driver.h.
 *
 * Must not know:  PyTorch.
 * Invariant:      a line that cannot be parsed is ignored.
 */
#include "cli/record/record_driver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "replay/trace/trace.h"

#define LINE_MAX_BYTES 8192

static void file_add(struct cli_driver *driver, pid_t pid, const char *path)
{
    const char *gpu = strrchr(path, '.');
    struct cli_driver_file *file;

    driver->files = vs_grow(driver->files, driver->count, &driver->cap, sizeof(*driver->files));
    file = &driver->files[driver->count++];
    *file = (struct cli_driver_file){.pid = pid, .path = vs_strdup(path)};
    file->device = vs_strdup(gpu && strncmp(gpu, ".gpu", 4) == 0 ? gpu + 1 : "");
}

static void file_closed(struct cli_driver *driver, const char *path)
{
    for (size_t i = 0; i < driver->count; i++)
        if (strcmp(driver->files[i].path, path) == 0)
            driver->files[i].is_closed = true;
}

static void pid_add(struct cli_driver *driver, pid_t pid)
{
    for (size_t i = 0; i < driver->pid_count; i++)
        if (driver->pids[i] == pid)
            return;
    driver->pids =
        vs_grow(driver->pids, driver->pid_count, &driver->pid_cap, sizeof(*driver->pids));
    driver->pids[driver->pid_count++] = pid;
}

static struct cli_driver_word *word_of(struct cli_driver *driver, pid_t pid, const char *kind)
{
    struct cli_driver_word *word;

    for (size_t i = 0; i < driver->word_count; i++)
        if (driver->words[i].pid == pid && driver->words[i].kind == kind)
            return &driver->words[i];
    driver->words =
        vs_grow(driver->words, driver->word_count, &driver->word_cap, sizeof(*driver->words));
    word = &driver->words[driver->word_count++];
    *word = (struct cli_driver_word){.pid = pid, .kind = kind};
    return word;
}

/* The texts of failures, by the keys of docs/internals/injection.md. */
static void word_add(struct cli_driver *driver, pid_t pid, const char *key, const char *text)
{
    static const struct {
        const char *key;
        const char *kind;
    } KINDS[] = {
        {"cupti", "requests to the driver are not recorded: "},
        {"write", "the driver's trace is cut off: "},
        {"gpu", "the GPU was "},
        {"oom", "the driver was out of memory: "},
    };

    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (strcmp(key, KINDS[i].key) == 0) {
            struct cli_driver_word *word = word_of(driver, pid, KINDS[i].kind);

            vs_free(word->text);
            word->text = vs_strdup(text);
            word->times++;
        }
}

/* "PID KEY: TEXT" */
static void line_read(struct cli_driver *driver, char *line)
{
    char *key;
    const pid_t pid = (pid_t)strtol(line, &key, 10);
    char *text = strstr(key, ": ");

    line[strcspn(line, "\n")] = '\0';
    if (key == line || *key != ' ' || !text)
        return;
    key++;
    *text = '\0';
    text += 2;
    if (strcmp(key, "cuda") == 0 || strcmp(key, "trace") == 0)
        pid_add(driver, pid);
    if (strcmp(key, "trace") == 0)
        file_add(driver, pid, text);
    else if (strcmp(key, "closed") == 0)
        file_closed(driver, text);
    else
        word_add(driver, pid, key, text);
}

static void file_release(struct cli_driver_file *file)
{
    vs_free(file->path);
    vs_free(file->device);
}

static bool is_written(const struct cli_driver_file *file)
{
    return !file->is_closed && kill(file->pid, 0) == 0;
}

/* Opening a trace also undoes a commit that a kill left half done, which is only known under the trace's first name. */
static bool is_empty(const struct cli_driver_file *file)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    bool is_without_events;

    if (rpl_trace_open(file->path, &trace, &err))
        fprintf(stderr, "vramscope: %s\n", err.text);
    is_without_events = trace && !rpl_trace_event_count(trace);
    rpl_trace_free(trace);
    return is_without_events;
}

static void empty_remove(struct cli_driver *driver)
{
    size_t kept = 0;

    for (size_t i = 0; i < driver->count; i++) {
        struct cli_driver_file *file = &driver->files[i];

        if (!is_written(file) && is_empty(file)) {
            unlink(file->path);
            file_release(file);
        } else {
            driver->files[kept++] = *file;
        }
    }
    driver->count = kept;
}

void cli_driver_read(const char *path, struct cli_driver *driver)
{
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "r");

    memset(driver, 0, sizeof(*driver));
    while (file && fgets(line, sizeof(line), file))
        line_read(driver, line);
    if (file)
        fclose(file);
    empty_remove(driver);
}

void cli_driver_release(struct cli_driver *driver)
{
    for (size_t i = 0; i < driver->count; i++)
        file_release(&driver->files[i]);
    vs_free(driver->files);
    vs_free(driver->pids);
    for (size_t i = 0; i < driver->word_count; i++)
        vs_free(driver->words[i].text);
    vs_free(driver->words);
    memset(driver, 0, sizeof(*driver));
}

void cli_driver_move(struct cli_driver_file *file, const char *path)
{
    if (is_written(file) || strcmp(file->path, path) == 0)
        return;
    if (access(path, F_OK) == 0 || rename(file->path, path) != 0) {
        fprintf(stderr, "vramscope: %s: cannot be renamed to %s, so it keeps this name: %s\n",
                file->path, path, access(path, F_OK) == 0 ? "it exists already" : strerror(errno));
        return;
    }
    vs_free(file->path);
    file->path = vs_strdup(path);
}
