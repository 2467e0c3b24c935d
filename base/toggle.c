/*
 * base/toggle.c - see toggle.h.
 *
 * Must not know:  how a toggle is applied.
 * Invariant:      every value written here is canonical: one spelling for each meaning.
 */
#include "base/toggle.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/target.h"
#include "base/text.h"

/* Fits in an int64 tensor size, and is far more than any training run uses. */
#define COUNT_MAX UINT64_C(2147483647)

/* clang-format off */
static const struct vs_toggle_info ROWS[VS_TOGGLE_COUNT] = {
#define VS_TOGGLE(id, name, legal, initial, candidates, flags, help, cost) \
    [id] = {name, legal, initial, candidates, flags, help, cost},
#include "base/toggle.def"
#undef VS_TOGGLE
};
/* clang-format on */

/* Finds word number `i` of "a|b|c". Returns whether it exists, with its beginning and length. */
static bool word_at(const char *words, size_t i, const char **start, size_t *len)
{
    const char *p = words;

    if (!*p)
        return false;
    for (; i; i--) {
        p = strchr(p, '|');
        if (!p)
            return false;
        p++;
    }
    *start = p;
    *len = strcspn(p, "|");
    return true;
}

/* Whether the whole `text` is a count from 1. */
static bool parse_count(const char *text, uint64_t *out)
{
    uint64_t n = 0;

    if (!*text)
        return false;
    for (const char *p = text; *p; p++) {
        if (!isdigit((unsigned char)*p))
            return false;
        n = n * 10 + (uint64_t)(*p - '0');
        if (n > COUNT_MAX)
            return false;
    }
    *out = n;
    return n > 0;
}

/* Whether the legal word [word, word + len) ends with ":BYTES". */
static bool has_size(const char *word, size_t len)
{
    return len > 6 && memcmp(word + len - 6, ":BYTES", 6) == 0;
}

/* Writes "word:SIZE", with the largest unit that the size is a whole number of. */
static bool fits_size(const char *word, size_t len, const char *value, char *buf)
{
    static const char UNITS[] = "TGMK";
    size_t word_len = len - 5;
    uint64_t bytes;

    if (strncmp(value, word, word_len) != 0 || !vs_bytes_parse(value + word_len, &bytes) ||
        bytes == 0)
        return false;
    for (int i = 0; UNITS[i]; i++) {
        uint64_t unit = UINT64_C(1) << (40 - 10 * i);

        if (bytes % unit == 0) {
            snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s%" PRIu64 "%c", (int)word_len, word,
                     bytes / unit, UNITS[i]);
            return true;
        }
    }
    snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s%" PRIu64, (int)word_len, word, bytes);
    return true;
}

/* If `value` has the form of the legal word [word, word + len), writes its canonical form. */
static bool fits_word(const char *word, size_t len, const char *value, char *buf)
{
    uint64_t n;

    if (has_size(word, len))
        return fits_size(word, len, value, buf);
    if (len && word[len - 1] == 'N' && (len == 1 || word[len - 2] == '=')) {
        if (strncmp(value, word, len - 1) != 0 || !parse_count(value + len - 1, &n))
            return false;
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s%" PRIu64, (int)(len - 1), word, n);
        return true;
    }
    if (strlen(value) != len || memcmp(value, word, len) != 0)
        return false;
    snprintf(buf, VS_TOGGLE_VALUE_MAX, "%s", value);
    return true;
}

/* Parses a comma-separated list of dotted names; blanks around names are dropped. */
static bool fits_paths(const char *value, char *buf)
{
    size_t out = 0;
    bool in_name = false;

    for (const char *p = value; *p; p++) {
        if (*p == ' ')
            continue;
        if (*p == ',' && !in_name)
            return false;
        if (*p != ',' && !isalnum((unsigned char)*p) && *p != '_' && *p != '.')
            return false;
        if (out + 1 >= VS_TOGGLE_VALUE_MAX)
            return false;
        in_name = *p != ',';
        buf[out++] = *p;
    }
    buf[out] = '\0';
    return in_name;
}

const struct vs_toggle_info *vs_toggle_info(enum vs_toggle toggle)
{
    VS_ASSERT((unsigned)toggle < VS_TOGGLE_COUNT);
    return &ROWS[toggle];
}

bool vs_toggle_find(const char *name, enum vs_toggle *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        if (strcmp(ROWS[i].name, name) == 0) {
            *out = (enum vs_toggle)i;
            return true;
        }
    }
    return false;
}

const char *vs_toggle_legal_text(enum vs_toggle toggle, char *buf)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);
    struct vs_text text = {NULL, 0, 0};
    const char *word = NULL;
    const char *more = NULL;
    size_t len = 0;
    size_t more_len = 0;

    for (size_t i = 0; word_at(info->legal, i, &word, &len); i++) {
        bool is_last = !word_at(info->legal, i + 1, &more, &more_len);

        if (i)
            vs_text_add(&text, is_last && !(info->flags & (VS_TOGGLE_PATHS | VS_TOGGLE_TEXT))
                                   ? " or "
                                   : ", ");
        if (len == 1 && *word == 'N')
            vs_text_add(&text, "a count from 1");
        else if (word[len - 1] == 'N' && word[len - 2] == '=')
            vs_text_addf(&text, "%.*sK", (int)(len - 1), word);
        else if (has_size(word, len))
            vs_text_addf(&text, "%.*sSIZE", (int)(len - 5), word);
        else
            vs_text_add_n(&text, word, len);
    }
    if (info->flags & VS_TOGGLE_PATHS)
        vs_text_add(&text, ", or module paths");
    if (info->flags & VS_TOGGLE_TEXT)
        vs_text_add(&text, ", or settings");
    snprintf(buf, VS_TOGGLE_LEGAL_MAX, "%s", vs_text_get(&text));
    vs_text_release(&text);
    return buf;
}

bool vs_toggle_choice(enum vs_toggle toggle, size_t i, char *buf)
{
    const char *word;
    size_t len;

    if (!word_at(vs_toggle_info(toggle)->legal, i, &word, &len) ||
        (i == 0 && len == 1 && *word == 'N'))
        return false;
    if (len == 1 && *word == 'N')
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "1");
    else if (word[len - 1] == 'N')
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s2", (int)(len - 1), word);
    else if (has_size(word, len))
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s8G", (int)(len - 5), word);
    else
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s", (int)len, word);
    return true;
}

bool vs_toggle_try(enum vs_toggle toggle, const char *now, size_t i, char *buf)
{
    const char *candidates = vs_toggle_info(toggle)->candidates;
    const char *word;
    size_t len;
    uint64_t n;

    for (size_t at = 0; word_at(candidates, at, &word, &len); at++) {
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%.*s", (int)len, word);
        if (*word == '/' || *word == '*') {
            if (!parse_count(now, &n) || (*word == '/' && n < 2) || n > COUNT_MAX / 2)
                continue;
            snprintf(buf, VS_TOGGLE_VALUE_MAX, "%" PRIu64, *word == '/' ? n / 2 : n * 2);
        }
        if (strcmp(buf, now) != 0 && i-- == 0)
            return true;
    }
    return false;
}

/* What a value is called here that goes by another name elsewhere; begins with "; ", or is empty. */
static const char *other_name(enum vs_toggle toggle, const char *value)
{
    if (toggle == VS_TOGGLE_SHARD && strcmp(value, "zero2") == 0)
        return "; PyTorch's is shard=fsdp with reshard=off";
    if (toggle == VS_TOGGLE_SHARD && strcmp(value, "zero3") == 0)
        return "; PyTorch's is shard=fsdp";
    return "";
}

enum vs_status vs_toggle_check(enum vs_toggle toggle, const char *value, char *buf,
                               struct vs_error *err)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);
    char legal[VS_TOGGLE_LEGAL_MAX];
    const char *word;
    size_t len;

    for (size_t i = 0; word_at(info->legal, i, &word, &len); i++)
        if (fits_word(word, len, value, buf))
            return VS_OK;
    if ((info->flags & VS_TOGGLE_PATHS) && fits_paths(value, buf))
        return VS_OK;
    if ((info->flags & VS_TOGGLE_TEXT) && *value && strlen(value) < VS_TOGGLE_VALUE_MAX) {
        snprintf(buf, VS_TOGGLE_VALUE_MAX, "%s", value);
        return VS_OK;
    }
    /* the form of a count that is too large is right, so the message gives the maximum */
    vs_toggle_legal_text(toggle, legal);
    if (*info->legal == 'N' && strlen(value) > 1 && value[strspn(value, "0123456789")] == '\0')
        return vs_fail(err, VS_E_VALUE, "toggle `%s` cannot be `%s`; legal: %s to %" PRIu64,
                       info->name, value, legal, COUNT_MAX);
    return vs_fail(err, VS_E_VALUE, "toggle `%s` cannot be `%s`; legal: %s%s", info->name, value,
                   legal, other_name(toggle, value));
}

void vs_toggles_release(struct vs_toggles *set)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        vs_free(set->value[i]);
        set->value[i] = NULL;
    }
}

void vs_toggles_copy(struct vs_toggles *to, const struct vs_toggles *from)
{
    struct vs_toggles copy = {{NULL}};

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (from->value[i])
            copy.value[i] = vs_strdup(from->value[i]);
    vs_toggles_release(to);
    *to = copy;
}

enum vs_status vs_toggles_set(struct vs_toggles *set, enum vs_toggle toggle, const char *value,
                              struct vs_error *err)
{
    char buf[VS_TOGGLE_VALUE_MAX];
    enum vs_status st = vs_toggle_check(toggle, value, buf, err);

    if (st)
        return st;
    vs_free(set->value[toggle]);
    set->value[toggle] = vs_strdup(buf);
    return VS_OK;
}

enum vs_status vs_toggles_set_named(struct vs_toggles *set, const char *name, const char *value,
                                    struct vs_error *err)
{
    enum vs_toggle toggle;
    const char *nearest = NULL;
    unsigned best = vs_word_distance_limit(name) + 1;

    if (vs_toggle_find(name, &toggle))
        return vs_toggles_set(set, toggle, value, err);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        unsigned distance = vs_word_distance(name, ROWS[i].name);

        if (distance < best) {
            best = distance;
            nearest = ROWS[i].name;
        }
    }
    if (nearest)
        return vs_fail(err, VS_E_NOT_FOUND, "there is no toggle `%s`; did you mean `%s`?", name,
                       nearest);
    return vs_fail(err, VS_E_NOT_FOUND, "there is no toggle `%s`; `vramscope toggles` lists them",
                   name);
}

enum vs_status vs_toggles_set_pair(struct vs_toggles *set, const char *pair, struct vs_error *err)
{
    const char *equals = strchr(pair, '=');
    char *name;
    enum vs_status st;

    if (!equals)
        return vs_fail(err, VS_E_VALUE, "`%s` is not of the form TOGGLE=VALUE", pair);
    name = vs_strndup(pair, (size_t)(equals - pair));
    st = vs_toggles_set_named(set, name, equals + 1, err);
    vs_free(name);
    return st;
}

const char *vs_toggles_get(const struct vs_toggles *set, enum vs_toggle toggle)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);

    return set->value[toggle] ? set->value[toggle] : info->initial;
}

bool vs_toggles_is_set(const struct vs_toggles *set, enum vs_toggle toggle)
{
    VS_ASSERT((unsigned)toggle < VS_TOGGLE_COUNT);
    return set->value[toggle] != NULL;
}

uint64_t vs_toggles_count(const struct vs_toggles *set, enum vs_toggle toggle)
{
    uint64_t n = 0;
    bool is_count = parse_count(vs_toggles_get(set, toggle), &n);

    VS_ASSERT(is_count);
    return n;
}

bool vs_toggles_is(const struct vs_toggles *set, enum vs_toggle toggle, const char *word)
{
    return strcmp(vs_toggles_get(set, toggle), word) == 0;
}

bool vs_toggles_is_paths(const struct vs_toggles *set, enum vs_toggle toggle)
{
    const struct vs_toggle_info *info = vs_toggle_info(toggle);
    const char *value = vs_toggles_get(set, toggle);
    char buf[VS_TOGGLE_VALUE_MAX];
    const char *word;
    size_t len;

    if (!(info->flags & VS_TOGGLE_PATHS))
        return false;
    for (size_t i = 0; word_at(info->legal, i, &word, &len); i++)
        if (fits_word(word, len, value, buf))
            return false;
    return true;
}
