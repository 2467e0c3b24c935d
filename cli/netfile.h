/*
 * cli/netfile.h - finds and reads the net file a command was given, and tells net files from programs.
 *
 * For:            the commands that run a net.
 * Must not know:  the net language, but for the two functions that each net file defines.
 * Invariant:      the text is what the file held, byte for byte, but for what was defined.
 */
#ifndef CLI_NETFILE_H
#define CLI_NETFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/* name: the path of the file itself; both are heap memory of the caller. */
struct cli_netfile {
    char *name;
    char *text;
    size_t len;
};

/*
 * Read `path`, a net file or a folder that holds net.py.
 *
 * VS_E_NOT_FOUND, VS_E_IO: nothing there, or it cannot be read; VS_E_FORMAT: it is no text (a NUL byte, or larger than 16 MiB).
 * The message names the file and what to do. Release `out` also after a failure.
 */
VS_MUST_USE enum vs_status cli_netfile_read(const char *path, struct cli_netfile *out,
                                            struct vs_error *err);
/*
 * The one line "NAME = …" at the left margin becomes "NAME = VALUE"; `pair` is "NAME=VALUE". VS_E_USAGE: it is no such pair, or the
 * net has no such line, or more than one.
 */
VS_MUST_USE enum vs_status cli_netfile_define(struct cli_netfile *file, const char *pair,
                                              struct vs_error *err);
/*
 * Is `path` a program, and no net? It is where it may be executed and is a binary (ELF) or begins with `#!`, unless it defines both
 * model() and batch() at the left margin.
 */
bool cli_is_program(const char *path);
/* Where a file that could not be run as a net has neither function, say in `err` how a program is recorded. */
void cli_netfile_hint(const struct cli_netfile *file, struct vs_error *err);
void cli_netfile_release(struct cli_netfile *file);

#endif
