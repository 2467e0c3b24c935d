/*
 * tests/recording/test_file_bytes.c - reading files: a compressed file is decompressed, in each compression, or
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "recording/file_bytes.h"

#define LEN 300000

/* Text that packs well, and some that does not. */
static char *plain_make(void)
{
    char *plain = vs_alloc(LEN);
    uint64_t random = 1;

    for (size_t i = 0; i < LEN; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        plain[i] = i % 3000 < 2000 ? (char)('a' + i % 17) : (char)(random >> 40);
    }
    return plain;
}

/* One piece, appended at *len. */
static void piece_add(unsigned char *packed, size_t *len, size_t cap, const char *plain,
                      size_t plain_len)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)plain,
                  .avail_in = (unsigned)plain_len,
                  .next_out = packed + *len,
                  .avail_out = (unsigned)(cap - *len)};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *len = (size_t)(z.next_out - packed);
    deflateEnd(&z);
}

static enum vs_status bytes_read(const void *bytes, size_t count, char **out, size_t *len,
                                 struct vs_error *err)
{
    char path[] = "/tmp/test_file_bytes.XXXXXX";
    int fd = mkstemp(path);
    enum vs_status st;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
    st = rec_file_bytes_read(path, out, len, err);
    unlink(path);
    return st;
}

static void check_read(const void *bytes, size_t count, const char *plain, size_t plain_len)
{
    struct vs_error err = VS_ERROR_INIT;
    char *out;
    size_t len;

    if (bytes_read(bytes, count, &out, &len, &err))
        fail_msg("%s", err.text);
    assert_int_equal(len, plain_len);
    assert_memory_equal(out, plain, plain_len);
    assert_int_equal(out[len], 0);
    vs_free(out);
}

static void check_refused(const void *bytes, size_t count, const char *says)
{
    struct vs_error err = VS_ERROR_INIT;
    char *out;
    size_t len;

    assert_int_equal(bytes_read(bytes, count, &out, &len, &err), VS_E_IO);
    assert_null(out);
    if (!strstr(err.text, says))
        fail_msg("says: %s; should: %s", err.text, says);
}

static void an_uncompressed_file_is_read_unchanged(void **state)
{
    char *plain = plain_make();

    (void)state;
    check_read(plain, LEN, plain, LEN);
    check_read(plain, 1, plain, 1);
    check_read("", 0, "", 0);
    vs_free(plain);
}

static void a_compressed_file_is_decompressed(void **state)
{
    char *plain = plain_make();
    unsigned char *packed = vs_alloc(2 * LEN);
    size_t len = 0;

    (void)state;
    piece_add(packed, &len, 2 * LEN, plain, LEN);
    check_read(packed, len, plain, LEN);
    memset(packed + len, 0, 100); /* behind it, as tapes have */
    check_read(packed, len + 100, plain, LEN);
    len = 0;
    piece_add(packed, &len, 2 * LEN, "", 0);
    check_read(packed, len, "", 0);
    vs_free(packed);
    vs_free(plain);
}

static void concatenated_gzip_members_are_one_file(void **state)
{
    char *plain = plain_make();
    unsigned char *packed = vs_alloc(2 * LEN);
    size_t len = 0;

    (void)state;
    piece_add(packed, &len, 2 * LEN, plain, 1000);
    piece_add(packed, &len, 2 * LEN, plain + 1000, LEN - 1000);
    check_read(packed, len, plain, LEN);
    vs_free(packed);
    vs_free(plain);
}

static void damaged_or_truncated_compression_is_refused(void **state)
{
    char *plain = plain_make();
    unsigned char *packed = vs_alloc(2 * LEN);
    size_t len = 0;

    (void)state;
    piece_add(packed, &len, 2 * LEN, plain, LEN);
    for (size_t cut = 2; cut < len; cut += cut < 40 || cut > len - 40 ? 1 : len / 50)
        check_refused(packed, cut, "cut off");
    for (size_t at = len - 8; at < len; at++) { /* sum and size */
        packed[at] ^= 0x40;
        check_refused(packed, len, "damaged");
        packed[at] ^= 0x40;
    }
    packed[len / 2] ^= 0x40;
    check_refused(packed, len, "damaged");
    vs_free(packed);
    vs_free(plain);
}

static void a_missing_file_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char *out;
    size_t len;

    (void)state;
    assert_int_equal(rec_file_bytes_read("/nowhere/x", &out, &len, &err), VS_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/x: "));
    assert_int_equal(rec_file_bytes_read("/tmp", &out, &len, &err), VS_E_IO);
    assert_non_null(strstr(err.text, "/tmp: cannot be read: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_uncompressed_file_is_read_unchanged),
        cmocka_unit_test(a_compressed_file_is_decompressed),
        cmocka_unit_test(concatenated_gzip_members_are_one_file),
        cmocka_unit_test(damaged_or_truncated_compression_is_refused),
        cmocka_unit_test(a_missing_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
