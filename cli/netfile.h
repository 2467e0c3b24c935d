/*
 * cli/netfile.h - finds and reads the net file a command was given.
 *
 * For:            the commands that run a net.
 * Must not know:  the net language.
 * Invariant:      the text is what the file held, byte for byte, but for what was defined.
 */
#ifndef CLI_NETFILE_H
#define CLI_NETFILE_H

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
void cli_netfile_release(struct cli_netfile *file);

#endif
