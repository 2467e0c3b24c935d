/*
 * tui/term/facts.c - see facts.h.
 */
#include "tui/term/facts.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

void tui_term_facts(struct tui_term_facts *out)
{
    const char *name = getenv("TERM");
    struct winsize size = {.ws_row = 0};
    int unused;

    memset(out, 0, sizeof(*out));
    setlocale(LC_ALL, "");
    out->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    out->is_terminal = isatty(STDOUT_FILENO);
    if (out->is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        out->w = size.ws_col;
        out->h = size.ws_row;
    }
    if (!name || !*name)
        return;
    snprintf(out->name, sizeof(out->name), "%s", name);
    out->is_known = setupterm(name, STDOUT_FILENO, &unused) != ERR;
    if (!out->is_known)
        return;
    out->places = cursor_address != NULL;
    out->colours = max_colors > 0 ? max_colors : 0;
    del_curterm(cur_term);
}
