/*
 * tui/parts/frame.c - see frame.h.
 *
 * Must not know:  drawing.
 * Invariant:      a name that is not a hash is shown whole.
 */
#include "tui/parts/frame.h"

#include <string.h>

/* TorchInductor names a file by a letter and 51 digits of base 32; so much of it is shown. */
#define HASH_LEN 52
#define HASH_SHOWN 8

/* Files of Python that call the program's own: their names have no folder. */
static const char *const STARTERS[] = {"contextlib.py", "runpy.py", "threading.py"};

static bool is_generated(const char *name)
{
    return strspn(name, "abcdefghijklmnopqrstuvwxyz234567") == HASH_LEN &&
           strncmp(name + HASH_LEN, ".py", 3) == 0;
}

bool tui_frame_is_own(const char *name)
{
    size_t file = strcspn(name, ":");

    for (size_t i = 0; i < sizeof(STARTERS) / sizeof(*STARTERS); i++)
        if (strncmp(name, STARTERS[i], file) == 0 && !STARTERS[i][file])
            return false;
    if (*name == '<')
        return strncmp(name, "<stdin>", 7) == 0 || strncmp(name, "<ipython", 8) == 0;
    return !memchr(name, '/', file) && !is_generated(name);
}

void tui_frame_text(const char *name, struct vs_text *out)
{
    if (is_generated(name)) {
        vs_text_add_n(out, name, HASH_SHOWN);
        vs_text_add(out, "…");
        name += HASH_LEN;
    }
    vs_text_add(out, name);
}
