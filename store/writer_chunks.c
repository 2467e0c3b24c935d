/*
 * store/writer_chunks.c - writes the rows of chunks.
 *
 * For:            see store/writer_internal.h.
 * Must not know:  the meaning of events.
 * Invariant:      the rows of a chunk are written in the writer's transaction, all of them or none.
 */
#include <sqlite3.h>

#include "base/mem.h"
#include "store/codec/codec.h"
#include "store/writer_internal.h"

/* chunk_idx, tensor_idx: numbers of the chunks that are not complete yet. */
struct sto_writer_chunks {
    const struct sto_db *db;
    sqlite3_stmt *block_stmt;
    sqlite3_stmt *chunk_stmt;
    struct sto_encoder *events;
    struct sto_encoder *tensors;
    uint64_t chunk_idx;
    uint64_t tensor_idx;
};

enum vs_status sto_writer_chunks_resume(struct sto_writer_chunks *c, struct vs_error *err)
{
    enum vs_status st = sto_db_prepare(
        c->db, "INSERT OR REPLACE INTO event_block VALUES (?, ?, ?, ?)", &c->block_stmt, err);

    if (!st)
        st = sto_db_prepare(c->db, "INSERT OR REPLACE INTO event_chunk VALUES (?, ?, ?, ?, ?, ?)",
                            &c->chunk_stmt, err);
    return st;
}

void sto_writer_chunks_pause(struct sto_writer_chunks *c)
{
    sqlite3_finalize(c->block_stmt);
    sqlite3_finalize(c->chunk_stmt);
    c->block_stmt = c->chunk_stmt = NULL;
}

enum vs_status sto_writer_chunks_open(const struct sto_db *db, struct sto_writer_chunks **out,
                                      struct vs_error *err)
{
    struct sto_writer_chunks *c = vs_calloc(1, sizeof(*c));
    enum vs_status st;

    *out = NULL;
    c->db = db;
    c->events = sto_encoder_new();
    c->tensors = sto_encoder_new();
    st = sto_writer_chunks_resume(c, err);
    if (!st) {
        *out = c;
        c = NULL; /* handed over */
    }
    sto_writer_chunks_close(c);
    return st;
}

void sto_writer_chunks_close(struct sto_writer_chunks *c)
{
    if (!c)
        return;
    sto_writer_chunks_pause(c);
    sto_encoder_free(c->events);
    sto_encoder_free(c->tensors);
    vs_free(c);
}

static enum vs_status block_write(struct sto_writer_chunks *c, uint64_t id, uint64_t first_seq,
                                  size_t count, struct vs_error *err)
{
    sqlite3_bind_int64(c->block_stmt, 1, (sqlite3_int64)id);
    sqlite3_bind_int64(c->block_stmt, 2, (sqlite3_int64)first_seq);
    sqlite3_bind_int64(c->block_stmt, 3, (sqlite3_int64)(id % STO_BLOCK_IDS));
    sqlite3_bind_int64(c->block_stmt, 4, (sqlite3_int64)count);
    return sto_db_run(c->db, c->block_stmt, err);
}

/* What event_chunk has of tensors. first_id: 0: their ids do not count up from one. */
struct tensor_ids {
    uint64_t first_id;
    bool has_names;
};

static enum vs_status encoded_write(struct sto_writer_chunks *c, uint64_t id, size_t count,
                                    const struct sto_encoded *encoded, struct tensor_ids ids,
                                    struct vs_error *err)
{
    sqlite3_bind_int64(c->chunk_stmt, 1, (sqlite3_int64)id);
    sqlite3_bind_int64(c->chunk_stmt, 2, (sqlite3_int64)count);
    if (encoded->reference == STO_NO_REFERENCE)
        sqlite3_bind_null(c->chunk_stmt, 3);
    else
        sqlite3_bind_int64(c->chunk_stmt, 3, encoded->reference);
    if (ids.first_id)
        sqlite3_bind_int64(c->chunk_stmt, 4, (sqlite3_int64)ids.first_id);
    else
        sqlite3_bind_null(c->chunk_stmt, 4);
    sqlite3_bind_int(c->chunk_stmt, 5, ids.has_names);
    sqlite3_bind_blob64(c->chunk_stmt, 6, encoded->bytes, encoded->len, SQLITE_STATIC);
    return sto_db_run(c->db, c->chunk_stmt, err);
}

enum vs_status sto_writer_chunks_events(struct sto_writer_chunks *c, uint64_t first_seq,
                                        const struct vs_event *events, size_t count,
                                        bool is_complete, size_t *bytes, struct vs_error *err)
{
    const uint64_t id = c->chunk_idx * STO_BLOCK_IDS;
    size_t of_kind[VS_EVENT_KIND_COUNT] = {0};
    struct sto_encoded encoded;
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < count; i++)
        of_kind[events[i].kind]++;
    for (size_t kind = 0; !st && kind < VS_EVENT_KIND_COUNT; kind++)
        if (of_kind[kind])
            st = block_write(c, id + kind, first_seq, of_kind[kind], err);
    if (st)
        return st;
    sto_encoder_chunk(c->events, events, count, (int64_t)id, is_complete, &encoded);
    *bytes += encoded.len;
    c->chunk_idx += is_complete;
    return encoded_write(c, id, count, &encoded, (struct tensor_ids){0, false}, err);
}

static struct tensor_ids ids_of(const struct vs_event *tensors, size_t count)
{
    struct tensor_ids ids = {tensors[0].raw.e, false};

    for (size_t i = 0; i < count; i++) {
        ids.has_names = ids.has_names || tensors[i].raw.c;
        if (tensors[i].raw.e != tensors[0].raw.e + i)
            ids.first_id = 0;
    }
    return ids;
}

enum vs_status sto_writer_chunks_tensors(struct sto_writer_chunks *c,
                                         const struct vs_event *tensors, size_t count,
                                         bool is_complete, size_t *bytes, struct vs_error *err)
{
    const uint64_t id = c->tensor_idx * STO_BLOCK_IDS + STO_KIND_TENSOR;
    struct sto_encoded encoded;
    enum vs_status st = block_write(c, id, c->tensor_idx * STO_CHUNK_EVENTS + 1, count, err);

    if (st)
        return st;
    sto_encoder_chunk(c->tensors, tensors, count, (int64_t)id, is_complete, &encoded);
    *bytes += encoded.len;
    c->tensor_idx += is_complete;
    return encoded_write(c, id, count, &encoded, ids_of(tensors, count), err);
}
