/*
 * tui/parts/keys.h - maps keys to actions, by the table keys.def.
 *
 * For:            app.c; the help view; docs.
 * Must not know:  what an action does.
 * Invariant:      in each scope a key sequence means one action, and no sequence is a prefix of another.
 */
#ifndef TUI_KEYS_H
#define TUI_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/text.h"
#include "tui/term/input.h"

/* Views, as bits of a scope. */
enum tui_scope {
    TUI_IN_TIMELINE = 1 << 0,
    TUI_IN_SOURCE = 1 << 1,
    TUI_IN_BLOCKS = 1 << 2,
    TUI_IN_WHY = 1 << 3,
    TUI_IN_PEAK = 1 << 4,
    TUI_IN_WHATIF = 1 << 5,
    TUI_IN_OPS = 1 << 6,
    TUI_IN_MODULES = 1 << 7,
    TUI_IN_SEGMENTS = 1 << 8,
    TUI_IN_HELP = 1 << 9,
    TUI_IN_SWEEP = 1 << 10,
    TUI_IN_BREAKS = 1 << 11,
    TUI_IN_DIFF = 1 << 12,
    TUI_IN_PAIRS = 1 << 13,
    TUI_IN_CURVE = 1 << 14,
    TUI_IN_SIZES = 1 << 15,
    TUI_IN_STEPS = 1 << 16,
    TUI_IN_RETAINED = 1 << 17,
    TUI_IN_WAITING = 1 << 18,
    TUI_IN_SQL = 1 << 19,
    TUI_IN_CALLS = 1 << 20,
    TUI_IN_RANKS = 1 << 21,
    TUI_IN_RESULTS = 1 << 22,
    TUI_IN_ANY = (1 << 23) - 1,
};

enum tui_action {
/* clang-format off */
#define TUI_KEY(id, scope, keys, name, help) id,
#include "tui/parts/keys.def"
#undef TUI_KEY
    /* clang-format on */
    TUI_ACTION_COUNT
};

struct tui_action_info {
    unsigned scope;
    const char *keys;
    const char *name;
    const char *help;
};
const struct tui_action_info *tui_action_info(enum tui_action action);
/* Find the action called `name`; false if there is none. */
VS_MUST_USE bool tui_action_find(const char *name, enum tui_action *out);

/*
 * Keys that replace those of the table. Zero-initialise; tui_keymap_release empties it. Where a function takes one,
 * NULL stands for the table.
 *
 * keys   sequences of an action, in the table's notation; NULL: those of the table
 * lines  line of the user's file that bound them; 0: none did
 */
struct tui_keymap {
    char *keys[TUI_ACTION_COUNT];
    unsigned lines[TUI_ACTION_COUNT];
};

/* The sequences of an action, borrowed from the table or from `map`. */
const char *tui_keys_of(const struct tui_keymap *map, enum tui_action action);
/*
 * Read the next sequence of *text into `keys` and move *text past it: its length, 0 at the end. A sequence longer than
 * TUI_SEQUENCE_MAX is read in pieces. TUI_KEY_ANY stands for <any>.
 */
#define TUI_SEQUENCE_MAX 4
#define TUI_KEY_ANY UINT32_MAX
int tui_sequence_next(const char **text, uint32_t keys[TUI_SEQUENCE_MAX]);

/* A complete command. count: 1 if none was typed. arg: the key typed for <any>. */
struct tui_command {
    enum tui_action action;
    int64_t count;
    bool has_count;
    uint32_t arg;
};

/* The keys of an incomplete sequence, and the count typed before them. Zero-initialise. */
struct tui_pending {
    uint32_t keys[TUI_SEQUENCE_MAX];
    int len;
    int64_t count;
};

enum tui_typed {
    TUI_TYPED_NOTHING, /* the keys mean nothing in this scope and were discarded */
    TUI_TYPED_PART,    /* more keys are needed */
    TUI_TYPED_ACTION,
};
#define TUI_COUNT_MAX 9999999
/* Process one more key in the view(s) of `scope`. *out is set if the result is TUI_TYPED_ACTION. */
enum tui_typed tui_keys_type(const struct tui_keymap *map, struct tui_pending *pending,
                             uint32_t key, unsigned scope, struct tui_command *out);
/* Append the keys that complete `action` after those already typed, in the view(s) of `scope` ("t" after "g"). False:
 * no sequence of the action begins with the typed keys. */
VS_MUST_USE bool tui_keys_way_on(const struct tui_keymap *map, const struct tui_pending *pending,
                                 enum tui_action action, unsigned scope, struct vs_text *out);
/* Append the keys typed so far ("12g"), for the status line. */
void tui_pending_text(const struct tui_pending *pending, struct vs_text *out);
/* Append key sequence number `i` of an action in readable form ("gg", "<pgdn>"); false past the end. */
VS_MUST_USE bool tui_action_keys(const struct tui_keymap *map, enum tui_action action, size_t i,
                                 struct vs_text *out);
#endif
