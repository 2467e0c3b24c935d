/*
 * store/devices.c - see devices_internal.h.
 *
 * Must not know:  how events are stored.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/codec/codec.h"
#include "store/devices_internal.h"

#define SUFFIX_MAX 5

int64_t sto_devices_split(const char *path, char **file)
{
    const char *at = strrchr(path, '@');
    struct stat st;
    int64_t number = 0;

    *file = vs_strdup(path);
    if (!at || !at[1] || strlen(at) > SUFFIX_MAX || at[1 + strspn(at + 1, "0123456789")] ||
        stat(path, &st) == 0)
        return -1;
    for (const char *digit = at + 1; *digit; digit++)
        number = number * 10 + (*digit - '0');
    (*file)[at - path] = '\0';
    return number;
}

const struct sto_device *sto_devices_now(const struct sto_devices *d)
{
    return d->count ? &d->items[d->now] : NULL;
}

static bool row_take(struct sto_devices *d, sqlite3_stmt *stmt)
{
    struct sto_device *row;

    d->items = vs_grow(d->items, d->count, &d->cap, sizeof(*d->items));
    row = &d->items[d->count++];
    row->number = (uint64_t)sqlite3_column_int64(stmt, 0);
    row->first_seq = (uint64_t)sqlite3_column_int64(stmt, 1);
    row->last_seq = (uint64_t)sqlite3_column_int64(stmt, 2);
    row->blocks_before = (uint64_t)sqlite3_column_int64(stmt, 3);
    return row->first_seq > (d->count > 1 ? row[-1].last_seq : 0) &&
           row->last_seq >= row->first_seq;
}

static enum vs_status rows_read(struct sto_devices *d, const struct sto_db *db,
                                uint64_t event_count, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    bool is_sound = true;
    enum vs_status st = sto_db_prepare(
        db, "SELECT number, first_seq, last_seq, blocks_before FROM device ORDER BY first_seq",
        &stmt, err);

    while (!st && has_row && is_sound) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (!st && has_row)
            is_sound = row_take(d, stmt);
    }
    sqlite3_finalize(stmt);
    if (!st && (!is_sound || (d->count && d->items[d->count - 1].last_seq > event_count)))
        st = vs_fail(err, VS_E_DAMAGED,
                     "%s: the trace is damaged (a row of `device` makes no sense); import it again",
                     db->path);
    return st;
}

static uint64_t length(const struct sto_device *device)
{
    return device->last_seq - device->first_seq;
}

/* ---- selecting a device ---- */

/* The device with more events: device `a` (SIZE_MAX: none) or the one that event `seq` belongs to. */
static size_t longer(const struct sto_devices *d, size_t a, uint64_t seq)
{
    for (size_t i = 0; i < d->count; i++)
        if (seq >= d->items[i].first_seq && seq <= d->items[i].last_seq)
            return a == SIZE_MAX || length(&d->items[i]) > length(&d->items[a]) ? i : a;
    return a;
}

/* The same for all out-of-memory events among the `count` events from `first` on. */
static enum vs_status longer_of_chunk(const struct sto_devices *d, struct sto_chunks *chunks,
                                      uint64_t first, size_t count, size_t *found,
                                      struct vs_error *err)
{
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    enum vs_status st = sto_chunks_read(chunks, first, count, events, err);

    for (size_t i = 0; !st && i < count; i++)
        if (events[i].kind == VS_EV_OOM)
            *found = longer(d, *found, first + i);
    vs_free(events);
    return st;
}

/*
 * Set *found to the device with the most events among those that ran out of memory; SIZE_MAX if none did. Reads only
 * chunks that contain such an event.
 */
static enum vs_status ran_out_find(const struct sto_devices *d, const struct sto_db *db,
                                   struct sto_chunks *chunks, size_t *found, struct vs_error *err)
{
    const uint64_t event_count = sto_chunks_event_count(chunks);
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    enum vs_status st = sto_db_prepare(
        db, "SELECT first_seq FROM event_block WHERE kind = ? ORDER BY first_seq", &stmt, err);

    *found = SIZE_MAX;
    if (!st)
        sqlite3_bind_int(stmt, 1, VS_EV_OOM);
    while (!st && has_row) {
        uint64_t first = 0;
        uint64_t left;

        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        first = (uint64_t)sqlite3_column_int64(stmt, 0);
        left = first && first <= event_count ? event_count - first + 1 : 0;
        if (left)
            st = longer_of_chunk(
                d, chunks, first,
                (size_t)(left < STO_CHUNK_EVENTS_MAX ? left : STO_CHUNK_EVENTS_MAX), found, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

static size_t longest(const struct sto_devices *d)
{
    size_t found = 0;

    for (size_t i = 1; i < d->count; i++)
        if (length(&d->items[i]) > length(&d->items[found]))
            found = i;
    return found;
}

/* Without a device number, select the one that ran out of memory, or else the one with the most events. */
static enum vs_status choose(struct sto_devices *d, const struct sto_db *db,
                             struct sto_chunks *chunks, struct vs_error *err)
{
    size_t found = SIZE_MAX;
    enum vs_status st = d->count > 1 ? ran_out_find(d, db, chunks, &found, err) : VS_OK;

    d->now = found == SIZE_MAX ? longest(d) : found;
    return st;
}

/* A trace of one device has no table of them: its number, 0 where the trace does not say it, may be given as well. */
static enum vs_status single_check(const struct sto_db *db, int64_t wanted, struct vs_error *err)
{
    sqlite3_int64 number = 0;
    enum vs_status st = sto_db_number(
        db, "SELECT coalesce((SELECT value + 0 FROM meta WHERE key = 'device_number'), 0)", &number,
        err);

    if (!st && number != wanted)
        st = vs_fail(err, VS_E_NOT_FOUND, "%s: the trace has no device %lld; its device is %lld",
                     db->path, (long long)wanted, (long long)number);
    return st;
}

enum vs_status sto_devices_load(struct sto_devices *d, const struct sto_db *db,
                                struct sto_chunks *chunks, int64_t wanted, struct vs_error *err)
{
    sqlite3_int64 exists = 0;
    bool is_there = wanted < 0;
    enum vs_status st =
        sto_db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'device'", &exists, err);

    if (!st && exists)
        st = rows_read(d, db, sto_chunks_event_count(chunks), err);
    if (!st && wanted < 0)
        st = choose(d, db, chunks, err);
    if (!st && wanted >= 0 && !d->count)
        return single_check(db, wanted, err);
    if (st)
        return st;
    for (size_t i = 0; wanted >= 0 && i < d->count; i++)
        if (d->items[i].number == (uint64_t)wanted) {
            d->now = i;
            is_there = true;
        }
    if (!is_there)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: the trace has no device %lld", db->path,
                       (long long)wanted);
    d->before = d->count ? d->items[d->now].first_seq - 1 : 0;
    return VS_OK;
}

void sto_devices_shift(const struct sto_devices *d, struct vs_event *events, size_t count)
{
    const struct sto_device *device = sto_devices_now(d);

    for (size_t i = 0; device && device->blocks_before && i < count; i++)
        if (vs_event_has_block(&events[i]))
            vs_event_block_set(&events[i], vs_event_block(&events[i]) - device->blocks_before);
}
