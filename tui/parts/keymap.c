/*
 * tui/parts/keymap.c - see keymap.h.
 *
 * Must not know:  files, what an action does.
 * Invariant:      a refused row leaves the map as it was.
 */
#include "tui/parts/keymap.h"

#include <string.h>

#include "base/mem.h"

/* A sequence of keys, with its text in the row that has it. */
struct sequence {
    uint32_t keys[TUI_SEQUENCE_MAX];
    int len;
    const char *text;
    int text_len;
};

/* The next sequence of *text; false at the end. */
static bool next(const char **text, struct sequence *out)
{
    *text += strspn(*text, " ");
    out->text = *text;
    out->len = tui_sequence_next(text, out->keys);
    out->text_len = (int)(*text - out->text);
    return out->len != 0;
}

/* Whether the shorter one is the beginning of the longer one. */
static bool overlaps(const struct sequence *a, const struct sequence *b)
{
    int len = a->len < b->len ? a->len : b->len;

    for (int i = 0; i < len; i++)
        if (a->keys[i] != b->keys[i] && a->keys[i] != TUI_KEY_ANY && b->keys[i] != TUI_KEY_ANY)
            return false;
    return true;
}

static int any_count(const struct sequence *sequence)
{
    int count = 0;

    for (int i = 0; i < sequence->len; i++)
        count += sequence->keys[i] == TUI_KEY_ANY;
    return count;
}

/* ---- a row ---- */

/* The action that is called so, or whose first key in the table is so. */
static bool action_find(const char *name, enum tui_action *out)
{
    if (tui_action_find(name, out))
        return true;
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const char *text = tui_action_info((enum tui_action)i)->keys;
        struct sequence first;

        if (next(&text, &first) && strlen(name) == (size_t)first.text_len &&
            strncmp(name, first.text, (size_t)first.text_len) == 0) {
            *out = (enum tui_action)i;
            return true;
        }
    }
    return false;
}

static enum vs_status action_missing(const char *name, struct vs_error *err)
{
    const char *near = NULL;
    unsigned best = vs_word_distance_limit(name) + 1;

    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const char *other = tui_action_info((enum tui_action)i)->name;
        unsigned distance = *other ? vs_word_distance(name, other) : best;

        if (distance < best) {
            best = distance;
            near = other;
        }
    }
    if (near)
        return vs_fail(err, VS_E_VALUE, "there is no action `%s`; is `%s` meant?", name, near);
    return vs_fail(err, VS_E_VALUE, "there is no action `%s`; the key ? lists them", name);
}

/* Whether one sequence can be typed. anys: how many keys of any kind the action takes. */
static enum vs_status sequence_check(const struct sequence *s, int anys, struct vs_error *err)
{
    if (s->text[s->text_len] && s->text[s->text_len] != ' ')
        return vs_fail(err, VS_E_VALUE, "`%.*s…` has more than %d keys", s->text_len, s->text,
                       TUI_SEQUENCE_MAX);
    if (s->keys[0] >= '1' && s->keys[0] <= '9')
        return vs_fail(err, VS_E_VALUE, "`%.*s` begins with a digit, which is a count", s->text_len,
                       s->text);
    if (any_count(s) != anys || s->keys[0] == TUI_KEY_ANY)
        return vs_fail(err, VS_E_VALUE,
                       anys ? "`%.*s` needs <any> behind its keys, as in the table of keys"
                            : "`%.*s` cannot have <any>: the action takes no further key",
                       s->text_len, s->text);
    for (int i = 0; i < s->len; i++) {
        if (s->keys[i] >= TUI_KEY_RESIZE && s->keys[i] != TUI_KEY_ANY)
            return vs_fail(err, VS_E_VALUE, "`%.*s` is not a key that can be typed", s->text_len,
                           s->text);
        if (i && s->keys[i] == TUI_KEY_ESC)
            return vs_fail(err, VS_E_VALUE, "`%.*s`: <esc> within a sequence cancels it",
                           s->text_len, s->text);
    }
    return VS_OK;
}

/* `keys` with every <any> taken out, which is no name of a key. The caller frees it. */
static char *without_any(const char *keys)
{
    struct vs_text text = {NULL, 0, 0};

    while (*keys) {
        if (strncmp(keys, "<any>", 5) == 0)
            keys += 5;
        else
            vs_text_add_char(&text, *keys++);
    }
    return vs_text_take(&text);
}

static enum vs_status keys_check(const char *keys, enum tui_action action, struct vs_error *err)
{
    const char *text = tui_action_info(action)->keys;
    char *plain = without_any(keys);
    const char *unknown = tui_keys_unknown(plain);
    enum vs_status st = VS_OK;
    struct sequence s;
    int anys = 0;

    if (unknown)
        st = vs_fail(err, VS_E_VALUE, "there is no key `%.*s`", (int)strcspn(unknown, ">") + 1,
                     unknown);
    vs_free(plain);
    if (next(&text, &s))
        anys = any_count(&s);
    while (!st && next(&keys, &s))
        st = sequence_check(&s, anys, err);
    return st;
}

/* ---- other actions ---- */

/* A row of a view takes precedence over one of all views, so both may have the same keys. */
static bool same_precedence(enum tui_action a, enum tui_action b)
{
    unsigned scope_a = tui_action_info(a)->scope;
    unsigned scope_b = tui_action_info(b)->scope;

    return (scope_a & scope_b) && (scope_a == TUI_IN_ANY) == (scope_b == TUI_IN_ANY);
}

/* The name of an action, or the help of one that has none. */
static const char *called(enum tui_action action)
{
    const struct tui_action_info *info = tui_action_info(action);

    return *info->name ? info->name : info->help;
}

/* Whether `mine`, which `action` is to have, leaves the keys of `other` as they are or only takes the same ones. */
static enum vs_status other_check(const struct tui_keymap *map, enum tui_action action,
                                  const struct sequence *mine, enum tui_action other,
                                  struct vs_error *err)
{
    const char *text = tui_keys_of(map, other);
    struct sequence s;

    if (!(tui_action_info(action)->scope & tui_action_info(other)->scope))
        return VS_OK;
    while (next(&text, &s)) {
        if (!overlaps(mine, &s))
            continue;
        if (mine->len != s.len)
            return vs_fail(err, VS_E_VALUE, "`%.*s` begins as `%.*s` does, which is `%s`",
                           mine->text_len, mine->text, s.text_len, s.text, called(other));
        if (same_precedence(action, other) && map->lines[other])
            return vs_fail(err, VS_E_VALUE, "`%.*s` is `%s` already, by line %u", mine->text_len,
                           mine->text, called(other), map->lines[other]);
    }
    return VS_OK;
}

/* Take the sequence from `other`. */
static void take_from(struct tui_keymap *map, const struct sequence *mine, enum tui_action other)
{
    const char *text = tui_keys_of(map, other);
    struct vs_text left = {NULL, 0, 0};
    bool is_taken = false;
    struct sequence s;

    while (next(&text, &s)) {
        if (mine->len == s.len && overlaps(mine, &s)) {
            is_taken = true;
            continue;
        }
        if (left.len)
            vs_text_add_char(&left, ' ');
        vs_text_add_n(&left, s.text, (size_t)s.text_len);
    }
    if (is_taken) {
        vs_free(map->keys[other]);
        map->keys[other] = vs_text_take(&left);
    } else {
        vs_text_release(&left);
    }
}

static enum vs_status others_check(const struct tui_keymap *map, enum tui_action action,
                                   const char *keys, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    struct sequence s;

    while (!st && next(&keys, &s))
        for (int i = 0; i < TUI_ACTION_COUNT && !st; i++)
            if (i != (int)action)
                st = other_check(map, action, &s, (enum tui_action)i, err);
    return st;
}

enum vs_status tui_keymap_bind(struct tui_keymap *map, const char *words, unsigned line,
                               struct vs_error *err)
{
    size_t name_len = strcspn(words, " ");
    char *name = vs_strndup(words, name_len);
    const char *keys = words + name_len;
    enum tui_action action = TUI_ACTION_COUNT;
    enum vs_status st = action_find(name, &action) ? VS_OK : action_missing(name, err);
    struct sequence s;

    if (!st && map->lines[action])
        st =
            vs_fail(err, VS_E_VALUE, "line %u has keys for `%s` already", map->lines[action], name);
    if (!st)
        st = keys_check(keys, action, err);
    if (!st)
        st = others_check(map, action, keys, err);
    vs_free(name);
    if (st)
        return st;
    keys += strspn(keys, " ");
    vs_free(map->keys[action]);
    map->keys[action] = vs_strdup(keys);
    map->lines[action] = line;
    while (next(&keys, &s))
        for (int i = 0; i < TUI_ACTION_COUNT; i++)
            if (i != (int)action && same_precedence(action, (enum tui_action)i))
                take_from(map, &s, (enum tui_action)i);
    return VS_OK;
}

void tui_keymap_release(struct tui_keymap *map)
{
    for (int i = 0; i < TUI_ACTION_COUNT; i++)
        vs_free(map->keys[i]);
    memset(map, 0, sizeof(*map));
}

/* ---- the last row ---- */

/* The action that has `keys` in the table, of the narrowest scope; false: none. */
static bool action_of_keys(unsigned scope, const char *keys, size_t len, enum tui_action *out)
{
    bool is_found = false;

    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const struct tui_action_info *info = tui_action_info((enum tui_action)i);
        const char *text = info->keys;
        struct sequence s;

        while (info->scope & scope && next(&text, &s)) {
            bool is_named = s.text[0] == '<' && (size_t)s.text_len == len + 2;

            if (!(is_named && strncmp(s.text + 1, keys, len) == 0) &&
                !((size_t)s.text_len == len && strncmp(s.text, keys, len) == 0))
                continue;
            if (!is_found || info->scope != TUI_IN_ANY)
                *out = (enum tui_action)i;
            is_found = true;
        }
    }
    return is_found;
}

/* Whether the user's file has any row: without one no keys of the table need to be compared. */
static bool has_row(const struct tui_keymap *map)
{
    for (int i = 0; i < TUI_ACTION_COUNT; i++)
        if (map->keys[i])
            return true;
    return false;
}

static void hint_add(const struct tui_keymap *map, unsigned scope, const char *keys, size_t len,
                     struct vs_text *out)
{
    enum tui_action action;

    if (has_row(map) && action_of_keys(scope, keys, len, &action) && map->keys[action]) {
        if (!tui_action_keys(map, action, 0, out))
            vs_text_addf(out, ":%s", called(action));
        return;
    }
    vs_text_add_n(out, keys, len);
}

void tui_keymap_hint(const struct tui_keymap *map, unsigned scope, const char *keys,
                     struct vs_text *out)
{
    const char *slash = *keys ? strchr(keys + 1, '/') : NULL;

    if (!slash) {
        hint_add(map, scope, keys, strlen(keys), out);
        return;
    }
    hint_add(map, scope, keys, (size_t)(slash - keys), out);
    vs_text_add_char(out, '/');
    hint_add(map, scope, slash + 1, strlen(slash + 1), out);
}
