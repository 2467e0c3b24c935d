/*
 * tui/views/op_search.c - see op_search.h.
 *
 * Must not know:  lists, screens.
 */
#include "tui/views/op_search.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "replay/inspect/step.h"

#define DIGITS "0123456789"
/* Numbers of ops have fewer digits. */
#define DIGITS_MAX 19
/* Numbers between two calls of `progress`. */
#define NUMBERS_A_TIME 65536

/* All ops of one name and one location: has_word: their name and module have it; goes_on: they have what follows its
 * digits, behind the number. */
struct kind {
    uint32_t name;
    uint32_t location;
    bool has_word;
    bool goes_on;
};

/*
 * word    searched for; digits: how many it begins with; value, scale: their number, and 10 to the power of `digits`
 * kinds   `count` of them, by their hash in by_hash
 */
struct search {
    const struct rpl_trace *trace;
    const char *word;
    size_t digits;
    uint64_t value;
    uint64_t scale;
    struct kind *kinds;
    size_t count;
    size_t cap;
    struct vs_table by_hash;
    struct vs_text text;
};

/* ---- numbers ---- */

static bool number_ends(const struct search *s, uint64_t number)
{
    /* behind zeros in front there is another digit */
    return number % s->scale == s->value && (*s->word != '0' || number >= s->scale);
}

/* The whole word is digits, and the number has them. */
static bool number_has(const struct search *s, uint64_t number)
{
    for (; number >= s->value && number; number /= 10)
        if (number_ends(s, number))
            return true;
    return false;
}

/* ---- names ---- */

static bool any_string_has(const struct rpl_trace *trace, const char *word, size_t len)
{
    const uint32_t count = rpl_trace_string_count(trace);
    char *part = vs_strndup(word, len);
    bool has = false;

    for (uint32_t i = 1; i <= count && !has; i++)
        has = strcasestr(rpl_trace_string(trace, i), part) != NULL;
    vs_free(part);
    return has;
}

/* Each part between blanks is in a number, or in one of the strings: otherwise no row has the word. */
static bool can_be_there(const struct search *s)
{
    for (const char *part = s->word; *part;) {
        const size_t len = strcspn(part, " ");

        const bool is_number = part == s->word && s->digits == len;

        if (len && !is_number && !any_string_has(s->trace, part, len))
            return false;
        part += len + (part[len] == ' ');
    }
    return true;
}

/* What is known of the ops of this name and location. */
static const struct kind *kind_of(struct search *s, uint32_t name, uint32_t location)
{
    const uint64_t key = (uint64_t)location << 32 | name;
    const uint64_t hash = vs_hash_bytes(&key, sizeof(key));
    struct vs_probe probe = vs_probe(hash);
    const char *text;

    while (vs_table_next(&s->by_hash, &probe))
        if (s->kinds[probe.item].name == name && s->kinds[probe.item].location == location)
            return &s->kinds[probe.item];
    vs_table_add(&s->by_hash, hash, s->count);
    s->kinds = vs_grow(s->kinds, s->count, &s->cap, sizeof(*s->kinds));
    vs_text_clear(&s->text);
    vs_text_addf(&s->text, " %s %s", rpl_trace_string(s->trace, name),
                 rpl_trace_string(s->trace, rpl_trace_location(s->trace, location)->module));
    text = vs_text_get(&s->text);
    s->kinds[s->count] = (struct kind){
        name, location, strcasestr(text, s->word) != NULL,
        s->digits && strncasecmp(text, s->word + s->digits, strlen(s->word) - s->digits) == 0};
    return &s->kinds[s->count++];
}

static bool is_wanted(void *user, uint64_t number, const struct vs_event *begin)
{
    struct search *s = user;
    const struct kind *kind = kind_of(s, (uint32_t)begin->op.name, begin->location);

    if (kind->has_word || !kind->goes_on)
        return kind->has_word;
    return s->word[s->digits] ? number_ends(s, number) : number_has(s, number);
}

/* ---- the search ---- */

/* Only numbers can have the word: no event is read. */
static enum vs_status number_find(const struct search *s, uint64_t from, bool is_backward,
                                  uint64_t total, rpl_progress_fn *progress, void *user,
                                  uint64_t *out, struct vs_error *err)
{
    uint64_t left = is_backward ? (from ? from - 1 : 0) : total - from;
    uint64_t number = from;

    if (s->value > total)
        return VS_OK;
    for (; left; left--) {
        number = is_backward ? number - 1 : number + 1;
        if (number_has(s, number)) {
            *out = number;
            return VS_OK;
        }
        if (progress && left % NUMBERS_A_TIME == 0 && !progress(user, total - left, total))
            return vs_fail(err, VS_E_STOPPED, "stopped while searching");
    }
    return VS_OK;
}

enum vs_status tui_op_find(struct rpl_index *index, const char *word, uint64_t from,
                           bool is_backward, rpl_progress_fn *progress, void *user, uint64_t *out,
                           struct vs_error *err)
{
    struct search s = {.trace = rpl_index_trace(index), .word = word, .scale = 1};
    const uint64_t total = rpl_step_total(index, RPL_VERB_OP);
    enum vs_status st = VS_OK;

    VS_ASSERT(*word && from <= total + is_backward);
    *out = 0;
    s.digits = strspn(word, DIGITS);
    if (s.digits > DIGITS_MAX)
        s.digits = 0;
    for (size_t i = 0; i < s.digits; i++) {
        s.value = s.value * 10 + (uint64_t)(word[i] - '0');
        s.scale *= 10;
    }
    if (!can_be_there(&s))
        return VS_OK;
    if (s.digits && !word[s.digits] && !any_string_has(s.trace, word, s.digits))
        return number_find(&s, from, is_backward, total, progress, user, out, err);
    st = rpl_step_op_find(index, from, is_backward, is_wanted, &s, progress, user, out, err);
    vs_table_release(&s.by_hash);
    vs_free(s.kinds);
    vs_text_release(&s.text);
    return st;
}
