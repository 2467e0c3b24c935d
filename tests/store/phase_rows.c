/*
 * tests/store/phase_rows.c - see phase_rows.h.
 */
#include "tests/store/phase_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

static uint64_t number(sqlite3_stmt *stmt, int column)
{
    return (uint64_t)sqlite3_column_int64(stmt, column);
}

static struct sto_phase_stat row_of(sqlite3_stmt *stmt, uint64_t before)
{
    return (struct sto_phase_stat){
        .step = sqlite3_column_int64(stmt, 0),
        .phase = (enum vs_phase)sqlite3_column_int(stmt, 1),
        .first_seq = number(stmt, 2) - before,
        .last_seq = number(stmt, 3) - before,
        .allocated_end = number(stmt, 4),
        .allocated_peak = number(stmt, 5),
        .requested_end = number(stmt, 6),
        .requested_peak = number(stmt, 7),
        .reserved_end = number(stmt, 8),
        .reserved_peak = number(stmt, 9),
        .peak_seq = number(stmt, 10) - before,
    };
}

size_t phase_rows(const struct sto_reader *r, struct sto_phase_stat *out, size_t max)
{
    uint64_t before = sto_reader_device_count(r)
                          ? sto_reader_device_at(r, sto_reader_device_now(r))->first_seq - 1
                          : 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    size_t count = 0;

    assert_int_equal(sqlite3_open_v2(sto_reader_path(r), &db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            db,
            "SELECT step, phase, first_seq, last_seq, allocated_end, allocated_peak, "
            "requested_end, requested_peak, reserved_end, reserved_peak, peak_seq "
            "FROM phase_stat WHERE first_seq > ? AND first_seq <= ? ORDER BY first_seq",
            -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)before);
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64)(before + sto_reader_event_count(r)));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        assert_true(count < max);
        out[count++] = row_of(stmt, before);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return count;
}
