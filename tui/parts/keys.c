/*
 * tui/parts/keys.c - see keys.h.
 *
 * Must not know:  what an action does.
 * Invariant:      the pending keys are a prefix of at least one sequence of the table.
 */
#include "tui/parts/keys.h"

#include <inttypes.h>
#include <string.h>

static const struct tui_action_info ACTIONS[] = {
/* clang-format off */
#define TUI_KEY(id, scope, keys, name, help) [id] = {scope, keys, name, help},
#include "tui/parts/keys.def"
#undef TUI_KEY
    /* clang-format on */
};

const struct tui_action_info *tui_action_info(enum tui_action action)
{
    return &ACTIONS[action];
}

bool tui_action_find(const char *name, enum tui_action *out)
{
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        if (*name && strcmp(ACTIONS[i].name, name) == 0) {
            *out = (enum tui_action)i;
            return true;
        }
    }
    return false;
}

const char *tui_keys_of(const struct tui_keymap *map, enum tui_action action)
{
    return map && map->keys[action] ? map->keys[action] : ACTIONS[action].keys;
}

int tui_sequence_next(const char **text, uint32_t keys[TUI_SEQUENCE_MAX])
{
    int len = 0;

    while (**text == ' ')
        (*text)++;
    while (**text && **text != ' ' && len < TUI_SEQUENCE_MAX) {
        if (strncmp(*text, "<any>", 5) == 0) {
            keys[len++] = TUI_KEY_ANY;
            *text += 5;
        } else {
            keys[len++] = tui_key_parse(text);
        }
    }
    return len;
}

/* Are the pending keys a prefix of the sequence? */
static bool begins(const struct tui_pending *pending, const uint32_t *keys, int len)
{
    if (pending->len > len)
        return false;
    for (int i = 0; i < pending->len; i++)
        if (keys[i] != TUI_KEY_ANY && keys[i] != pending->keys[i])
            return false;
    return true;
}

/* How well an action's keys match: exactly, as a beginning, not at all. */
static enum tui_typed match(const struct tui_keymap *map, const struct tui_pending *pending,
                            enum tui_action action)
{
    const char *text = tui_keys_of(map, action);
    enum tui_typed best = TUI_TYPED_NOTHING;
    uint32_t keys[TUI_SEQUENCE_MAX];
    int len;

    while ((len = tui_sequence_next(&text, keys)) != 0) {
        if (!begins(pending, keys, len))
            continue;
        if (len == pending->len)
            return TUI_TYPED_ACTION;
        best = TUI_TYPED_PART;
    }
    return best;
}

static bool takes_digit(struct tui_pending *pending, uint32_t key)
{
    if (pending->len || key < '0' || key > '9' || (key == '0' && !pending->count))
        return false;
    pending->count = pending->count * 10 + (key - '0');
    if (pending->count > TUI_COUNT_MAX)
        pending->count = TUI_COUNT_MAX;
    return true;
}

/* The action that is typed in full, of the narrowest scope; TUI_ACTION_COUNT: none. *is_part: some row goes on. */
static enum tui_action action_typed(const struct tui_keymap *map, const struct tui_pending *pending,
                                    unsigned scope, bool *is_part)
{
    enum tui_action found = TUI_ACTION_COUNT;

    *is_part = false;
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        enum tui_action action = (enum tui_action)i;
        enum tui_typed typed =
            ACTIONS[i].scope & scope ? match(map, pending, action) : TUI_TYPED_NOTHING;

        *is_part |= typed == TUI_TYPED_PART;
        if (typed == TUI_TYPED_ACTION &&
            (found == TUI_ACTION_COUNT || ACTIONS[found].scope == TUI_IN_ANY))
            found = action;
    }
    return found;
}

enum tui_typed tui_keys_type(const struct tui_keymap *map, struct tui_pending *pending,
                             uint32_t key, unsigned scope, struct tui_command *out)
{
    enum tui_action action;
    bool is_part;

    /* within a sequence <esc> only cancels it */
    if (key == TUI_KEY_ESC && (pending->len || pending->count)) {
        memset(pending, 0, sizeof(*pending));
        return TUI_TYPED_NOTHING;
    }
    if (takes_digit(pending, key))
        return TUI_TYPED_PART;
    pending->keys[pending->len++] = key;
    action = action_typed(map, pending, scope, &is_part);
    if (action != TUI_ACTION_COUNT) {
        *out = (struct tui_command){action, pending->count ? pending->count : 1,
                                    pending->count != 0, key};
        memset(pending, 0, sizeof(*pending));
        return TUI_TYPED_ACTION;
    }
    if (is_part && pending->len < TUI_SEQUENCE_MAX)
        return TUI_TYPED_PART;
    memset(pending, 0, sizeof(*pending));
    return TUI_TYPED_NOTHING;
}

/* Append one key in the notation of the help. */
static void key_text(uint32_t key, struct vs_text *out)
{
    if (key == TUI_KEY_ANY)
        vs_text_add(out, "x");
    else if (key == '<')
        vs_text_add(out, "<");
    else
        tui_key_name(key, out);
}

bool tui_keys_way_on(const struct tui_keymap *map, const struct tui_pending *pending,
                     enum tui_action action, unsigned scope, struct vs_text *out)
{
    const char *text = tui_keys_of(map, action);
    uint32_t keys[TUI_SEQUENCE_MAX];
    int len;

    if (!(ACTIONS[action].scope & scope))
        return false;
    while ((len = tui_sequence_next(&text, keys)) != 0) {
        if (len <= pending->len || !begins(pending, keys, len))
            continue;
        for (int i = pending->len; i < len; i++)
            key_text(keys[i], out);
        return true;
    }
    return false;
}

void tui_pending_text(const struct tui_pending *pending, struct vs_text *out)
{
    if (pending->count)
        vs_text_addf(out, "%" PRId64, pending->count);
    for (int i = 0; i < pending->len; i++)
        tui_key_name(pending->keys[i], out);
}

bool tui_action_keys(const struct tui_keymap *map, enum tui_action action, size_t i,
                     struct vs_text *out)
{
    const char *text = tui_keys_of(map, action);
    uint32_t keys[TUI_SEQUENCE_MAX];
    int len = 0;

    for (size_t n = 0; n <= i; n++)
        if ((len = tui_sequence_next(&text, keys)) == 0)
            return false;
    for (int k = 0; k < len; k++)
        key_text(keys[k], out);
    return true;
}
