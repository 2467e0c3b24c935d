/*
 * standin/runtime/unknown.c - see unknown.h.
 */
#include "standin/runtime/unknown.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "standin/family.h"
#include "standin/runtime/loader.h"
#include "standin/stub.h"

static struct {
    pthread_mutex_t lock;
    char path[PATH_MAX];
    char **noted;
    size_t count, cap;
} unknown = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sti_log_open(const char *path)
{
    pthread_mutex_lock(&unknown.lock);
    snprintf(unknown.path, sizeof(unknown.path), "%s", path ? path : "");
    pthread_mutex_unlock(&unknown.lock);
}

/* One write for each line, so that lines of several processes do not mix. */
void sti_log(const char *fact, const char *text)
{
    char line[2048];
    int len;
    int fd;

    if (!unknown.path[0])
        return;
    len = snprintf(line, sizeof(line), "%ld %s %s\n", (long)getpid(), fact, text);
    if (len >= (int)sizeof(line)) {
        len = (int)sizeof(line) - 1;
        line[len - 1] = '\n';
    }
    fd = open(unknown.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)len) < 0)
        (void)0; /* a failed write cannot be reported */
    close(fd);
}

static bool note_first(const char *text)
{
    bool is_new = true;

    pthread_mutex_lock(&unknown.lock);
    for (size_t i = 0; i < unknown.count && is_new; i++)
        is_new = strcmp(unknown.noted[i], text) != 0;
    if (is_new) {
        unknown.noted = vs_grow(unknown.noted, unknown.count, &unknown.cap, sizeof(*unknown.noted));
        unknown.noted[unknown.count++] = vs_strdup(text);
    }
    pthread_mutex_unlock(&unknown.lock);
    return is_new;
}

void sti_unknown_note(const char *library, const char *function)
{
    char text[512];

    /* behind a colon is what tells one library of a single function from another (sti_loader_unknown) */
    snprintf(text, sizeof(text), "%.*s %s", (int)strcspn(library, ":"), library, function);
    if (note_first(text))
        sti_log("unknown", text);
}

/* Called by sti_unknown_function, below. */
__attribute__((used, visibility("hidden"))) int sti_unknown_called(const struct sti_entry *entry);

int sti_unknown_called(const struct sti_entry *entry)
{
    const char *library;
    const char *name = sti_loaded_name(entry, &library);
    const enum sti_family family = sti_family_of(name);

    sti_unknown_note(library, name);
    return family == STI_FAMILY_COUNT ? 1 : sti_family_info(family)->refusal;
}

/* The entry is in r11; a call keeps the stack as it is for whatever the function's parameters are. */
__asm__(".text\n"
        ".globl sti_unknown_function\n"
        ".hidden sti_unknown_function\n"
        ".type sti_unknown_function, @function\n"
        "sti_unknown_function:\n"
        "    movq %r11, %rdi\n"
        "    jmp sti_unknown_called\n"
        ".size sti_unknown_function, . - sti_unknown_function\n");
