/*
 * recording/pickle_value.c - see pickle_internal.h: creates and reads values.
 *
 * Must not know:  opcodes.
 * Invariant:      a shared row never changes: before items are added to a list with a shared row, the row is copied.
 */
#include <string.h>

#include "base/hash.h"
#include "recording/pickle_internal.h"

/* Longer rows are not shared, because they rarely repeat. */
#define SHARED_MAX 255
#define HEAD 2 /* words before the items of a row: count and mark */

/* The rows that every pickle has: for empty lists and empty dicts, which have separate marks. */
enum { EMPTY_ITEMS = 0, EMPTY_VALUES = HEAD };

/* ---- the budget ---- */

static bool take(struct rec_pickle *p, uint64_t bytes)
{
    if (bytes > p->budget - p->used)
        return false;
    p->used += bytes;
    return true;
}

/* Make space for `count` more elements; grows by half. */
static bool reserve(struct rec_pickle *p, void *vec, size_t used, size_t count, size_t *cap,
                    size_t elem_size)
{
    size_t more = *cap ? *cap / 2 : 64;
    void *grown;

    if (count <= *cap - used)
        return true;
    if (more < count)
        more = count;
    if (!take(p, (uint64_t)more * elem_size))
        return false;
    memcpy(&grown, vec, sizeof(grown));
    grown = vs_realloc(grown, *cap + more, elem_size);
    memcpy(vec, &grown, sizeof(grown));
    *cap += more;
    return true;
}

bool rec_pickle_more(struct rec_pickle *p, void *vec, size_t *cap, size_t elem_size)
{
    return reserve(p, vec, *cap, 1, cap, elem_size);
}

static bool table_reserve(struct rec_pickle *p, struct vs_table *table)
{
    const size_t wanted = table->slot_count ? table->slot_count : 64;

    if (table->count < table->slot_count / 2)
        return true;
    if (!take(p, (uint64_t)wanted * 2 * sizeof(*table->slots)))
        return false;
    vs_table_reserve(table, wanted);
    return true;
}

/* ---- numbers and texts ---- */

bool rec_pickle_int(struct rec_pickle *p, int64_t n, struct rec_value *out)
{
    *out = rec_value_of(TAG_INT, (uint32_t)n);
    return (n >= -REC_INT_LIMIT && n < REC_INT_LIMIT) ||
           rec_pickle_wide(p, TAG_WIDE, (uint64_t)n, out);
}

bool rec_pickle_wide(struct rec_pickle *p, enum rec_tag tag, uint64_t bits, struct rec_value *out)
{
    if (p->wide_count >= REC_PAYLOAD_MAX ||
        !rec_pickle_grow(p, &p->wide, p->wide_count, &p->wide_cap, sizeof(*p->wide)))
        return false;
    *out = rec_value_of(tag, (uint32_t)p->wide_count);
    p->wide[p->wide_count++] = bits;
    return true;
}

static const char *text_at(const struct rec_pickle *p, struct rec_text text)
{
    return text.at < p->bytes_len ? p->bytes + text.at : p->side + (text.at - p->bytes_len);
}

/* The id of a text; REC_NO_KEY if there is none. */
static uint32_t text_find(const struct rec_pickle *p, const char *at, size_t len, uint64_t hash)
{
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&p->text_table, &probe)) {
        const struct rec_text text = p->texts[probe.item];

        if (text.len == len && (!len || memcmp(text_at(p, text), at, len) == 0))
            return probe.item;
    }
    return REC_NO_KEY;
}

bool rec_pickle_text(struct rec_pickle *p, uint64_t at, uint32_t len, struct rec_value *out)
{
    /* an empty text may be at the very end of the input, where offsets into `side` begin */
    const struct rec_text text = {.at = len ? at : 0, .len = len};
    const uint64_t hash = vs_hash_bytes(text_at(p, text), len);
    uint32_t number = text_find(p, text_at(p, text), len, hash);

    if (number == REC_NO_KEY) {
        if (p->text_count >= REC_PAYLOAD_MAX || !table_reserve(p, &p->text_table) ||
            !rec_pickle_grow(p, &p->texts, p->text_count, &p->text_cap, sizeof(*p->texts)))
            return false;
        number = (uint32_t)p->text_count;
        p->texts[p->text_count++] = text;
        vs_table_add(&p->text_table, hash, number);
    }
    *out = rec_value_of(TAG_TEXT, number);
    return true;
}

uint32_t rec_pickle_key(const struct rec_pickle *p, const char *name)
{
    return text_find(p, name, strlen(name), vs_hash_bytes(name, strlen(name)));
}

const char *rec_value_text(const struct rec_pickle *p, struct rec_value v, size_t *len)
{
    *len = 0;
    if (rec_tag_of(v) != TAG_TEXT)
        return NULL;
    *len = p->texts[rec_payload_of(v)].len;
    return text_at(p, p->texts[rec_payload_of(v)]);
}

bool rec_value_is_text(const struct rec_pickle *p, struct rec_value v, const char *text)
{
    size_t len;
    const char *found = rec_value_text(p, v, &len);

    return found && len == strlen(text) && memcmp(found, text, len) == 0;
}

/* ---- rows ---- */

/* Add a row with capacity for `cap` words and copy `count` words to it. */
static bool row_add(struct rec_pickle *p, size_t cap, const void *from, size_t count, uint32_t *out)
{
    uint32_t *row;

    if (cap > UINT32_MAX - HEAD - p->word_count ||
        !reserve(p, &p->words, p->word_count, HEAD + cap, &p->word_cap, sizeof(*p->words)))
        return false;
    row = p->words + p->word_count;
    row[0] = (uint32_t)count;
    row[1] = 0;
    if (count)
        memcpy(row + HEAD, from, count * sizeof(*row));
    *out = (uint32_t)p->word_count;
    p->word_count += HEAD + cap;
    return true;
}

/* Return the shared row with these words, adding it if it is new. Long rows are always added. */
static bool row_share(struct rec_pickle *p, const void *from, size_t count, uint32_t *out)
{
    const uint64_t hash = vs_hash_bytes(from, count * sizeof(*p->words));
    struct vs_probe probe = vs_probe(hash);

    *out = EMPTY_ITEMS;
    if (!count)
        return true;
    if (count > SHARED_MAX)
        return row_add(p, count, from, count, out);
    while (vs_table_next(&p->row_table, &probe)) {
        const uint32_t *row = p->words + probe.item;

        *out = probe.item;
        if (*row == count && memcmp(row + HEAD, from, count * sizeof(*row)) == 0)
            return true;
    }
    if (!table_reserve(p, &p->row_table) || !row_add(p, count, from, count, out))
        return false;
    vs_table_add(&p->row_table, hash, *out);
    return true;
}

/* Replace *row by a copy with capacity for `cap` words. */
static bool row_widen(struct rec_pickle *p, uint32_t *row, size_t count, size_t cap)
{
    const uint32_t from = *row;

    if (!row_add(p, cap, NULL, 0, row))
        return false;
    memcpy(p->words + *row + HEAD, p->words + from + HEAD, count * sizeof(*p->words));
    return true;
}

/* New capacity: exact for the first items, since most containers are filled in one step; doubled later. */
static size_t wider(size_t count, size_t more)
{
    return count > more ? 2 * count : count + more;
}

/* ---- lists, tuples, dicts ---- */

bool rec_pickle_begin(struct rec_pickle *p)
{
    uint32_t row;

    return row_add(p, 0, NULL, 0, &row) && row_add(p, 0, NULL, 0, &row);
}

bool rec_pickle_box(struct rec_pickle *p, enum rec_tag tag, struct rec_value *out)
{
    if (p->box_count > REC_PAYLOAD_MAX ||
        !rec_pickle_grow(p, &p->boxes, p->box_count, &p->box_cap, sizeof(*p->boxes)))
        return false;
    *out = rec_value_of(tag, (uint32_t)p->box_count);
    p->boxes[p->box_count++] = tag == TAG_DICT
                                   ? (struct rec_box){.row = EMPTY_VALUES, .keys = EMPTY_ITEMS}
                                   : (struct rec_box){.row = EMPTY_ITEMS};
    return true;
}

bool rec_pickle_tuple(struct rec_pickle *p, const struct rec_value *items, size_t count,
                      struct rec_value *out)
{
    uint32_t row;

    if (!row_share(p, items, count, &row) || row > REC_PAYLOAD_MAX)
        return false;
    *out = rec_value_of(TAG_TUPLE, row);
    return true;
}

bool rec_pickle_append(struct rec_pickle *p, struct rec_value v, const struct rec_value *items,
                       size_t count)
{
    struct rec_box *box = &p->boxes[rec_payload_of(v)];
    const size_t old = p->words[box->row];

    if (!old && count <= SHARED_MAX)
        return row_share(p, items, count, &box->row);
    if (old + count > box->cap) {
        const size_t cap = wider(old, count);

        if (!row_widen(p, &box->row, old, cap))
            return false;
        box->cap = (uint32_t)cap;
    }
    memcpy(p->words + box->row + HEAD + old, items, count * sizeof(*items));
    p->words[box->row] = (uint32_t)(old + count);
    return true;
}

/* Copy every other word of the pairs: the keys, or from pairs + 1 on the values. */
static void column_copy(uint32_t *to, const struct rec_value *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = pairs[2 * i].bits;
}

/*
 * Add keys to a row. A row too long to be shared has the capacity `cap` of the values' row; is_new: that row has just
 * been created.
 */
static bool keys_add(struct rec_pickle *p, uint32_t *row, const struct rec_value *pairs,
                     size_t count, size_t cap, bool is_new)
{
    const size_t old = p->words[*row];
    uint32_t keys[SHARED_MAX];

    if (old + count <= SHARED_MAX) {
        memcpy(keys, p->words + *row + HEAD, old * sizeof(*keys));
        column_copy(keys + old, pairs, count);
        return row_share(p, keys, old + count, row);
    }
    if ((is_new || old <= SHARED_MAX) && !row_widen(p, row, old, cap))
        return false;
    column_copy(p->words + *row + HEAD + old, pairs, count);
    p->words[*row] = (uint32_t)(old + count);
    return true;
}

bool rec_pickle_set(struct rec_pickle *p, struct rec_value v, const struct rec_value *pairs,
                    size_t count)
{
    struct rec_box *box = &p->boxes[rec_payload_of(v)];
    const size_t old = p->words[box->keys];
    size_t cap = p->words[box->row];
    const bool is_new = old + count > cap;

    if (is_new) {
        cap = wider(old, count);
        if (!row_widen(p, &box->row, old, cap))
            return false;
        p->words[box->row] = (uint32_t)cap;
    }
    column_copy(p->words + box->row + HEAD + old, pairs + 1, count);
    return keys_add(p, &box->keys, pairs, count, cap, is_new);
}

/* ---- reading ---- */

enum rec_value_type rec_value_type(struct rec_value v)
{
    static const enum rec_value_type TYPES[] = {
        [TAG_PLAIN] = REC_BOOL,  [TAG_INT] = REC_INT,   [TAG_WIDE] = REC_INT,
        [TAG_FLOAT] = REC_FLOAT, [TAG_TEXT] = REC_TEXT, [TAG_LIST] = REC_LIST,
        [TAG_TUPLE] = REC_TUPLE, [TAG_DICT] = REC_DICT,
    };

    return v.bits == PLAIN_NONE ? REC_NONE : TYPES[rec_tag_of(v)];
}

bool rec_value_bool(struct rec_value v, bool *out)
{
    *out = rec_tag_of(v) == TAG_PLAIN && rec_payload_of(v) == PLAIN_TRUE;
    return rec_tag_of(v) == TAG_PLAIN && rec_payload_of(v) != PLAIN_NONE;
}

bool rec_value_int(const struct rec_pickle *p, struct rec_value v, uint64_t *out)
{
    if (rec_tag_of(v) == TAG_INT) {
        *out = (rec_payload_of(v) ^ (uint64_t)REC_INT_LIMIT) - (uint64_t)REC_INT_LIMIT;
        return true;
    }
    if (rec_tag_of(v) != TAG_WIDE || rec_payload_of(v) == REC_PAYLOAD_MAX)
        return false;
    *out = p->wide[rec_payload_of(v)];
    return true;
}

bool rec_value_float(const struct rec_pickle *p, struct rec_value v, double *out)
{
    if (rec_tag_of(v) != TAG_FLOAT)
        return false;
    memcpy(out, &p->wide[rec_payload_of(v)], sizeof(*out));
    return true;
}

/* The row of a list's or tuple's items or of a dict's values; NULL for other types. */
static uint32_t *row_of(const struct rec_pickle *p, struct rec_value v)
{
    if (rec_tag_of(v) == TAG_TUPLE)
        return p->words + rec_payload_of(v);
    if (rec_tag_of(v) != TAG_LIST && rec_tag_of(v) != TAG_DICT)
        return NULL;
    return p->words + p->boxes[rec_payload_of(v)].row;
}

/* The row of a dict's keys, whose count is that of the dict; an empty row for other types. */
static const uint32_t *keys_of(const struct rec_pickle *p, struct rec_value v)
{
    return p->words +
           (rec_tag_of(v) == TAG_DICT ? p->boxes[rec_payload_of(v)].keys : (uint32_t)EMPTY_ITEMS);
}

size_t rec_value_count(const struct rec_pickle *p, struct rec_value v)
{
    const uint32_t *row = rec_tag_of(v) == TAG_DICT ? keys_of(p, v) : row_of(p, v);

    return row ? *row : 0;
}

struct rec_value rec_value_at(const struct rec_pickle *p, struct rec_value v, size_t i)
{
    VS_ASSERT(i < rec_value_count(p, v));
    return (struct rec_value){row_of(p, v)[HEAD + i]};
}

const char *rec_value_key(const struct rec_pickle *p, struct rec_value v, size_t i, size_t *len)
{
    const uint32_t *keys = keys_of(p, v);

    VS_ASSERT(i < *keys);
    return rec_value_text(p, (struct rec_value){keys[HEAD + i]}, len);
}

bool rec_value_get(const struct rec_pickle *p, struct rec_value v, uint32_t key,
                   struct rec_value *out)
{
    const uint32_t *keys = keys_of(p, v);
    const uint32_t wanted = rec_value_of(TAG_TEXT, key).bits;

    for (size_t i = key == REC_NO_KEY ? 0 : *keys; i-- > 0;)
        if (keys[HEAD + i] == wanted) {
            *out = rec_value_at(p, v, i);
            return true;
        }
    return false;
}

/* ---- several values of a dict ---- */

struct rec_columns {
    size_t text_count;
    uint8_t of_text[]; /* by text id: column + 1 */
};

struct rec_columns *rec_columns_new(const struct rec_pickle *p, const char *const *names,
                                    size_t count)
{
    struct rec_columns *columns = vs_calloc(1, sizeof(*columns) + p->text_count);

    VS_ASSERT(count < REC_COLUMNS_MAX);
    columns->text_count = p->text_count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t key = rec_pickle_key(p, names[i]);

        if (key != REC_NO_KEY)
            columns->of_text[key] = (uint8_t)(i + 1);
    }
    return columns;
}

void rec_columns_free(struct rec_columns *columns)
{
    vs_free(columns);
}

uint64_t rec_value_row(const struct rec_pickle *p, struct rec_value v,
                       const struct rec_columns *columns, struct rec_value *out)
{
    const uint32_t *keys = keys_of(p, v);
    const uint32_t *values = row_of(p, v);
    uint64_t found = 0;

    VS_ASSERT(columns->text_count == p->text_count);
    for (size_t i = 0; i < *keys; i++) {
        const uint8_t column = columns->of_text[keys[HEAD + i] >> REC_TAG_BITS];

        if (column) {
            out[column - 1] = (struct rec_value){values[HEAD + i]};
            found |= UINT64_C(1) << (column - 1);
        }
    }
    return found;
}

/* ---- marks ---- */

uint32_t rec_value_mark(const struct rec_pickle *p, struct rec_value v)
{
    const uint32_t *row = row_of(p, v);

    return row ? row[1] : 0;
}

void rec_value_mark_set(struct rec_pickle *p, struct rec_value v, uint32_t mark)
{
    uint32_t *row = row_of(p, v);

    if (row)
        row[1] = mark;
}

struct rec_value rec_pickle_top(const struct rec_pickle *p)
{
    return p->top;
}

void rec_pickle_free(struct rec_pickle *p)
{
    if (!p)
        return;
    vs_free(p->side);
    vs_free(p->wide);
    vs_free(p->texts);
    vs_free(p->boxes);
    vs_free(p->words);
    vs_table_release(&p->text_table);
    vs_table_release(&p->row_table);
    vs_free(p);
}
