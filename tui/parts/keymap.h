/*
 * tui/parts/keymap.h - keys of the user's own, in place of those of the table.
 *
 * For:            config.c; screen.c, whose last row names keys.
 * Must not know:  files, what an action does.
 * Invariant:      as in the table, in each scope a sequence means one action, and none is a prefix of another.
 */
#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include "base/attr.h"
#include "base/error.h"
#include "tui/parts/keys.h"

/*
 * Bind the keys of `words`, which is a row of the table in its own notation: the action's name, or for one without a
 * name its first key, and then all sequences that it has from now on ("op s <C-n>"). No sequence: the action has no
 * key. A sequence that belonged to an action of the table is taken from it.
 *
 * line  of the user's file, from 1; it is named where a later line binds the same keys
 *
 * VS_E_VALUE: there is no such action or key; the keys are those of an earlier line, or begin or continue other ones.
 * The map is unchanged then.
 */
VS_MUST_USE enum vs_status tui_keymap_bind(struct tui_keymap *map, const char *words, unsigned line,
                                           struct vs_error *err);
void tui_keymap_release(struct tui_keymap *map);

/*
 * Append `keys`, which name keys of the table as the last row of the screen does ("gp", "]/[", "tab"), as they are
 * bound now for the view(s) of `scope`.
 */
void tui_keymap_hint(const struct tui_keymap *map, unsigned scope, const char *keys,
                     struct vs_text *out);

#endif
