/*
 * tui/parts/config.c - see config.h.
 *
 * Must not know:  sessions, terminals.
 * Invariant:      the file is never half written: what is new goes to a file beside it, which then takes its name.
 */
#include "tui/parts/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define BLANKS " \t\r"
#define WORD_MAX 4

static const struct {
    const char *name;
    const char *words[WORD_MAX];
} OPTIONS[] = {
    [TUI_OPTION_THEME] = {"theme", {"dark", "light", "mono"}},
    [TUI_OPTION_GLYPHS] = {"glyphs", {"blocks", "letters"}},
    [TUI_OPTION_UNIT] = {"unit", {"bytes", "peak", "device"}},
    [TUI_OPTION_MOUSE] = {"mouse", {"off", "on"}},
};

const char *tui_option_name(enum tui_option option)
{
    return OPTIONS[option].name;
}

const char *tui_option_word(enum tui_option option, int value)
{
    return value < WORD_MAX ? OPTIONS[option].words[value] : NULL;
}

/* ---- reading ---- */

static void add_error(struct tui_config *config, const char *path, unsigned line, const char *text)
{
    if (line)
        vs_text_addf(&config->errors, "%s:%u: %s\n", path, line, text);
    else
        vs_text_addf(&config->errors, "%s: %s\n", path, text);
    config->error_count++;
}

/* The option whose line begins with `word`; TUI_OPTION_COUNT: none. */
static enum tui_option option_find(const char *word, size_t len)
{
    int i = 0;

    while (i < TUI_OPTION_COUNT &&
           (strlen(OPTIONS[i].name) != len || strncmp(OPTIONS[i].name, word, len) != 0))
        i++;
    return (enum tui_option)i;
}

static enum vs_status option_set(struct tui_config *config, enum tui_option option,
                                 const char *word, struct vs_error *err)
{
    struct vs_text legal = {NULL, 0, 0};
    enum vs_status st;

    for (int i = 0; tui_option_word(option, i); i++) {
        if (strcmp(tui_option_word(option, i), word) == 0) {
            config->values[option] = i + 1;
            vs_text_release(&legal);
            return VS_OK;
        }
        vs_text_addf(&legal, "%s%s", i ? ", " : "", tui_option_word(option, i));
    }
    st = vs_fail(err, VS_E_VALUE, "%s cannot be `%s`; it is one of: %s", OPTIONS[option].name, word,
                 vs_text_get(&legal));
    vs_text_release(&legal);
    return st;
}

/* One line, without blanks around it. */
static enum vs_status line_parse(struct tui_config *config, const char *line, unsigned number,
                                 struct vs_error *err)
{
    size_t len = strcspn(line, BLANKS);
    const char *rest = line + len + strspn(line + len, BLANKS);
    enum tui_option option = option_find(line, len);

    if (!*line || *line == '#')
        return VS_OK;
    if (option != TUI_OPTION_COUNT)
        return option_set(config, option, rest, err);
    if (len == 3 && strncmp(line, "key", len) == 0)
        return tui_keymap_bind(&config->keys, rest, number, err);
    return vs_fail(
        err, VS_E_VALUE,
        "there is no option `%.*s`; a line begins with key, theme, glyphs, unit or mouse", (int)len,
        line);
}

void tui_config_parse(struct tui_config *config, const char *path, const char *text)
{
    for (unsigned number = 1; *text; number++) {
        size_t len = strcspn(text, "\n");
        const char *begin = text + strspn(text, BLANKS);
        const char *end = text + len;
        struct vs_error err = VS_ERROR_INIT;
        char *line;

        if (begin > end)
            begin = end;
        while (end > begin && strchr(BLANKS, end[-1]))
            end--;
        line = vs_strndup(begin, (size_t)(end - begin));
        for (char *c = line; *c; c++)
            if (*c == '\t')
                *c = ' ';
        if (line_parse(config, line, number, &err))
            add_error(config, path, number, err.text);
        vs_free(line);
        text += len + (text[len] == '\n');
    }
}

/* All of the file at `path`. VS_E_IO, also where it does not exist: then errno is ENOENT or ENOTDIR. */
static enum vs_status file_read(const char *path, struct vs_text *out, struct vs_error *err)
{
    FILE *file = fopen(path, "r");
    enum vs_status st = VS_OK;
    char part[4096];
    size_t n;

    if (!file)
        return vs_fail(err, VS_E_IO, "%s", strerror(errno));
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(out, part, n);
    if (ferror(file))
        st = vs_fail(err, VS_E_IO, "%s", strerror(errno));
    fclose(file);
    return st;
}

void tui_config_read(struct tui_config *config, const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    errno = 0;
    if (!file_read(path, &text, &err))
        tui_config_parse(config, path, vs_text_get(&text));
    else if (errno != ENOENT && errno != ENOTDIR)
        add_error(config, path, 0, err.text);
    vs_text_release(&text);
}

char *tui_config_path(void)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    struct vs_text path = {NULL, 0, 0};

    /* the specification says that a relative one is ignored */
    if (folder && *folder == '/')
        vs_text_addf(&path, "%s/vramscope/config", folder);
    else if (home && *home)
        vs_text_addf(&path, "%s/.config/vramscope/config", home);
    else
        return NULL;
    return vs_text_take(&path);
}

void tui_config_release(struct tui_config *config)
{
    tui_keymap_release(&config->keys);
    vs_text_release(&config->errors);
    memset(config, 0, sizeof(*config));
}

/* ---- writing ---- */

void tui_config_set(struct vs_text *text, enum tui_option option, int value)
{
    struct vs_text out = {NULL, 0, 0};
    const char *at = vs_text_get(text);
    bool is_set = false;

    while (*at) {
        size_t len = strcspn(at, "\n");
        size_t blanks = strspn(at, BLANKS);

        if (option_find(at + blanks, strcspn(at + blanks, BLANKS "\n")) != option)
            vs_text_add_n(&out, at, len);
        else
            vs_text_addf(&out, "%s %s", OPTIONS[option].name, tui_option_word(option, value));
        is_set |= option_find(at + blanks, strcspn(at + blanks, BLANKS "\n")) == option;
        vs_text_add_char(&out, '\n');
        at += len + (at[len] == '\n');
    }
    if (!is_set)
        vs_text_addf(&out, "%s %s\n", OPTIONS[option].name, tui_option_word(option, value));
    vs_text_release(text);
    *text = out;
}

/* Make the folders of `path`. What fails here fails again when the file is written, and is said then. */
static void folders_make(const char *path)
{
    char *part = vs_strdup(path);

    for (char *c = part + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = 0;
        (void)mkdir(part, 0700);
        *c = '/';
    }
    vs_free(part);
}

static enum vs_status file_replace(const char *path, const struct vs_text *text,
                                   struct vs_error *err)
{
    struct vs_text temporary = {NULL, 0, 0};
    enum vs_status st = VS_OK;
    struct stat old;
    FILE *file;

    vs_text_addf(&temporary, "%s.%ld", path, (long)getpid());
    file = fopen(vs_text_get(&temporary), "wx");
    if (!file) {
        st = vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (stat(path, &old) == 0)
        (void)fchmod(fileno(file), old.st_mode & 07777);
    if (fwrite(vs_text_get(text), 1, text->len, file) != text->len)
        st = vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
    if (fclose(file) != 0 && !st)
        st = vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
    if (!st && rename(vs_text_get(&temporary), path) != 0)
        st = vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
    if (st)
        (void)unlink(vs_text_get(&temporary));
out:
    vs_text_release(&temporary);
    return st;
}

enum vs_status tui_config_remember(const char *path, const int values[TUI_OPTION_COUNT],
                                   struct vs_error *err)
{
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st;
    char *target;

    errno = 0;
    st = file_read(path, &text, err);
    if (st && errno == ENOENT) {
        folders_make(path);
        st = VS_OK;
    } else if (st) {
        vs_error_prefix(err, "%s", path);
    }
    for (int i = 0; i < TUI_OPTION_COUNT && !st; i++)
        if (values[i])
            tui_config_set(&text, (enum tui_option)i, values[i] - 1);
    if (!st) {
        /* a link stays a link: the file that it names is replaced */
        target = realpath(path, NULL);
        st = file_replace(target ? target : path, &text, err);
        free(target);
    }
    vs_text_release(&text);
    return st;
}
