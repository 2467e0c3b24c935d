/*
 * cli/version.h - the version of vramscope.
 *
 * For:            `vramscope --version`, `vramscope doctor`, and the wheel, for which the Makefile reads this file.
 * Must not know:  anything.
 * Invariant:      one line defines it.
 */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#define CLI_VERSION "0.1.0"

#endif
