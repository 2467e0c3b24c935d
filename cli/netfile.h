/*
 * cli/netfile.h - reads the net file given to a command, and distinguishes net files from programs.
 *
 * For:            the commands that run a net.
 * Must not know:  the net language, except for the two functions that every net file defines.
 * Invariant:      the text is the content of the file, byte for byte, except for the lines changed by
 *                 cli_netfile_define.
 */
#ifndef CLI_NETFILE_H
#define CLI_NETFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * name: the path of the net file; text: its content, `len` bytes. Both are heap memory that cli_netfile_release frees.
 */
struct cli_netfile {
    char *name;
    char *text;
    size_t len;
};

/*
 * Read `path`, which is a net file or a folder that contains net.py. Call cli_netfile_release on `out` after a failure,
 * too.
 *
 * VS_E_NOT_FOUND: there is no such file. VS_E_IO: it cannot be read. VS_E_FORMAT: it is not a text file (it contains a
 * NUL byte or is larger than 16 MiB). The message names the file and says what to do.
 */
VS_MUST_USE enum vs_status cli_netfile_read(const char *path, struct cli_netfile *out,
                                            struct vs_error *err);
/*
 * Replace the line "NAME = …", which is not indented, by "NAME = VALUE"; `pair` is "NAME=VALUE".
 *
 * VS_E_USAGE: `pair` does not have this form, or the net does not have exactly one such line.
 */
VS_MUST_USE enum vs_status cli_netfile_define(struct cli_netfile *file, const char *pair,
                                              struct vs_error *err);
/*
 * Is `path` a program rather than a net? A program is an executable file that is an ELF binary or begins with `#!`. A
 * file that defines both model() and batch() without indentation is a net.
 */
bool cli_is_program(const char *path);
/* If a file that could not be run as a net defines neither function, add to `err` how to record a program. */
void cli_netfile_hint(const struct cli_netfile *file, struct vs_error *err);
void cli_netfile_release(struct cli_netfile *file);

#endif
