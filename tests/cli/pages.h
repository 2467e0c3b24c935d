/*
 * tests/cli/pages.h - the man page, the page of commands and the completions of the shells, generated from the tables.
 *
 * For:            test_pages.c, which compares them with the files that are installed, and `make golden`, which
 *                 writes those.
 * Must not know:  where the files lie.
 * Invariant:      no command, option or toggle is named here; each text has all that the tables have.
 */
#ifndef TESTS_CLI_PAGES_H
#define TESTS_CLI_PAGES_H

#include "base/text.h"

/* Each adds a whole file to `out`. */
void page_man(struct vs_text *out);
void page_commands(struct vs_text *out);
void page_bash(struct vs_text *out);
void page_zsh(struct vs_text *out);
void page_fish(struct vs_text *out);

/* Legal values of a toggle or an option, with blanks between; nothing is added where they are not words. */
void page_toggle_words(size_t toggle, struct vs_text *out);
const char *page_option_words(const char *option);

#endif
