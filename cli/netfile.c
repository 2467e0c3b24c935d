/*
 * cli/netfile.c - see netfile.h.
 *
 * Must not know:  the net language, except for the two functions that each net file defines.
 * Invariant:      `text` ends with a NUL byte that `len` does not count.
 */
#include "cli/netfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define NET_BYTES_MAX (16u << 20)
#define HEAD_BYTES 65536
#define MODEL "def model("
#define BATCH "def batch("

/* Path of the net file: `path`, or net.py in it if it is a folder. */
static enum vs_status name_get(const char *path, char **out, struct vs_error *err)
{
    struct vs_text name = {NULL, 0, 0};
    struct stat st;

    if (stat(path, &st) != 0)
        return errno == ENOENT ? vs_fail(err, VS_E_NOT_FOUND,
                                         "%s: there is no such file; give a net file, or a folder "
                                         "that holds net.py",
                                         path)
                               : vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
    vs_text_add(&name, path);
    if (S_ISDIR(st.st_mode)) {
        vs_text_add(&name, path[strlen(path) - 1] == '/' ? "net.py" : "/net.py");
        if (stat(vs_text_get(&name), &st) != 0) {
            vs_text_release(&name);
            return vs_fail(err, VS_E_NOT_FOUND,
                           "%s: this folder holds no net.py; name the net file", path);
        }
    }
    *out = vs_text_take(&name);
    return VS_OK;
}

static enum vs_status text_read(FILE *file, const char *name, struct vs_text *text,
                                struct vs_error *err)
{
    char buffer[65536];
    size_t n;

    while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0) {
        if (memchr(buffer, 0, n))
            return vs_fail(err, VS_E_FORMAT, "%s: this is no text file; give a net file", name);
        if (text->len + n > NET_BYTES_MAX)
            return vs_fail(err, VS_E_FORMAT, "%s: larger than any net file (16 MiB)", name);
        vs_text_add_n(text, buffer, n);
    }
    if (ferror(file))
        return vs_fail(err, VS_E_IO, "%s: cannot be read: %s", name, strerror(errno));
    return VS_OK;
}

enum vs_status cli_netfile_read(const char *path, struct cli_netfile *out, struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = NULL;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    st = name_get(path, &out->name, err);
    if (st)
        return st;
    file = fopen(out->name, "rb");
    if (!file)
        return vs_fail(err, VS_E_IO, "%s: cannot be read: %s", out->name, strerror(errno));
    st = text_read(file, out->name, &text, err);
    fclose(file);
    out->len = text.len;
    out->text = vs_text_take(&text);
    return st;
}

/* The line "NAME = …" from `text` on, or NULL. */
static char *line_find(char *text, const char *name, size_t len)
{
    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, len) == 0 && strncmp(line + len, " = ", 3) == 0)
            return line;
    return NULL;
}

enum vs_status cli_netfile_define(struct cli_netfile *file, const char *pair, struct vs_error *err)
{
    size_t len = strcspn(pair, "=");
    struct vs_text text = {NULL, 0, 0};
    char *line = line_find(file->text, pair, len);
    char *rest;

    if (!len || !pair[len] || !pair[len + 1])
        return vs_fail(err, VS_E_USAGE, "`%s` does not define a name; give NAME=VALUE", pair);
    if (!line)
        return vs_fail(err, VS_E_USAGE, "%s has no line `%.*s = …`", file->name, (int)len, pair);
    rest = line + strcspn(line, "\n");
    if (line_find(rest, pair, len))
        return vs_fail(err, VS_E_USAGE, "%s has more than one line `%.*s = …`", file->name,
                       (int)len, pair);
    vs_text_add_n(&text, file->text, (size_t)(line - file->text));
    vs_text_addf(&text, "%.*s = %s", (int)len, pair, pair + len + 1);
    vs_text_add(&text, rest);
    vs_free(file->text);
    file->len = text.len;
    file->text = vs_text_take(&text);
    return VS_OK;
}

static bool defines(const char *text, const char *what)
{
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        if (at == text || at[-1] == '\n')
            return true;
    return false;
}

bool cli_is_program(const char *path)
{
    char head[HEAD_BYTES + 1];
    struct stat st;
    FILE *file;
    size_t len;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || access(path, X_OK) != 0)
        return false;
    file = fopen(path, "rb");
    len = file ? fread(head, 1, HEAD_BYTES, file) : 0;
    if (file)
        fclose(file);
    head[len] = '\0';
    if (len >= 4 && memcmp(head,
                           "\x7f"
                           "ELF",
                           4) == 0)
        return true;
    return len >= 2 && memcmp(head, "#!", 2) == 0 &&
           !(defines(head, MODEL) && defines(head, BATCH));
}

void cli_netfile_hint(const struct cli_netfile *file, struct vs_error *err)
{
    const char *ending = file->name ? strrchr(file->name, '.') : NULL;
    const size_t len = strlen(err->text);

    if (!ending || strcmp(ending, ".py") != 0 || !file->text || !*file->text ||
        defines(file->text, MODEL) || defines(file->text, BATCH))
        return;
    snprintf(
        err->text + len, sizeof(err->text) - len,
        "\n  it defines neither model() nor batch(n), as a net file does; a program is recorded "
        "by `vramscope record -- python3 %s`",
        file->name);
}

void cli_netfile_release(struct cli_netfile *file)
{
    vs_free(file->name);
    vs_free(file->text);
    memset(file, 0, sizeof(*file));
}
