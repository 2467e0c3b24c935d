/*
 * tests/standin/test_elf.c - the imports of a library are read from its ELF file, and no file makes the reader read out
 * of bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "standin/elf.h"
#include "tests/standin/shared.h"

static const struct sti_import *import_find(const struct sti_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->import_count; i++)
        if (strcmp(elf->imports[i].name, name) == 0)
            return &elf->imports[i];
    fail_msg("%s is not among the imports", name);
    return NULL;
}

static bool needs(const struct sti_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->needed_count; i++)
        if (strcmp(elf->needed[i], name) == 0)
            return true;
    return false;
}

static char *fake_bytes(size_t *len)
{
    FILE *file = fopen(shared_fake_torch(), "rb");
    char *bytes = vs_alloc(1 << 20);

    assert_non_null(file);
    *len = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    assert_true(*len > sizeof(Elf64_Ehdr) && *len < 1 << 20);
    return bytes;
}

/* The status of reading these bytes as a library. */
static enum vs_status status_of(const char *bytes, size_t len, struct vs_error *err)
{
    struct sti_elf elf;
    enum vs_status st = sti_elf_read(shared_file("library.so", bytes, len), false, &elf, err);

    sti_elf_release(&elf);
    return st;
}

static void imports_have_their_library_and_version(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sti_elf elf;
    const struct sti_import *import;

    (void)state;
    if (sti_elf_read(shared_fake_torch(), false, &elf, &err))
        fail_msg("%s", err.text);
    assert_string_equal(elf.soname, "libtorch_cuda.so");
    assert_true(needs(&elf, "libcudart.so.13"));
    assert_true(needs(&elf, "libnccl.so.2"));
    assert_true(needs(&elf, "libplain.so.1"));
    import = import_find(&elf, "cudaMalloc");
    assert_string_equal(import->library, "libcudart.so.13");
    assert_string_equal(import->version, "libcudart.so.13");
    import = import_find(&elf, "ncclGetVersion");
    assert_null(import->library);
    assert_null(import->version);
    import_find(&elf, "plain_function");
    for (size_t i = 0; i < elf.import_count; i++)
        assert_true(strncmp(elf.imports[i].name, "fake_", 5) != 0); /* these it defines */
    sti_elf_release(&elf);
}

static void needed_libraries_are_read_without_imports_on_request(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sti_elf elf;

    (void)state;
    assert_int_equal(sti_elf_read(shared_fake_torch(), true, &elf, &err), VS_OK);
    assert_true(needs(&elf, "libcudart.so.13"));
    assert_int_equal(elf.import_count, 0);
    sti_elf_release(&elf);
}

static void a_library_without_section_headers_is_read(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sti_elf elf;
    Elf64_Ehdr header;
    size_t len;
    char *bytes = fake_bytes(&len);

    (void)state;
    memcpy(&header, bytes, sizeof(header));
    header.e_shnum = 0;
    header.e_shoff = 0;
    memcpy(bytes, &header, sizeof(header));
    assert_int_equal(sti_elf_read(shared_file("library.so", bytes, len), false, &elf, &err), VS_OK);
    assert_string_equal(import_find(&elf, "cudaMalloc")->version, "libcudart.so.13");
    sti_elf_release(&elf);
    vs_free(bytes);
}

static void other_architectures_and_other_files_are_refused(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sti_elf elf;
    Elf64_Ehdr header;
    size_t len;
    char *bytes = fake_bytes(&len);

    (void)state;
    memcpy(&header, bytes, sizeof(header));
    header.e_machine = EM_AARCH64;
    memcpy(bytes, &header, sizeof(header));
    assert_int_equal(status_of(bytes, len, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "aarch64"));
    vs_free(bytes);
    assert_int_equal(status_of("int main;", 9, &err), VS_E_UNSUPPORTED);
    assert_int_equal(sti_elf_read(shared_path("none.so"), false, &elf, &err), VS_E_NOT_FOUND);
    assert_int_equal(sti_elf_read(shared_folder(), false, &elf, &err), VS_E_UNSUPPORTED);
}

/* Cut anywhere, it is refused or read: no read outside, which sanitizers and the sizes of heap blocks would show. */
static void a_truncated_library_is_refused(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    size_t len;
    char *bytes = fake_bytes(&len);

    (void)state;
    assert_int_equal(status_of(bytes, 300, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "library.so"));
    for (size_t cut = 0; cut < len; cut += 61)
        (void)!status_of(bytes, cut, &err);
    vs_free(bytes);
}

/* Every byte of the tables damaged in turn, in a way that makes small numbers large. */
static void damaged_tables_cause_no_failure(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    size_t len;
    char *bytes = fake_bytes(&len);
    size_t end = len < 8192 ? len : 8192;

    (void)state;
    for (size_t i = 4; i < end; i += 3) {
        const char old = bytes[i];

        bytes[i] = (char)(old ^ (char)0xff);
        (void)!status_of(bytes, len, &err);
        bytes[i] = old;
    }
    assert_int_equal(status_of(bytes, len, &err), VS_OK);
    vs_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_have_their_library_and_version),
        cmocka_unit_test(needed_libraries_are_read_without_imports_on_request),
        cmocka_unit_test(a_library_without_section_headers_is_read),
        cmocka_unit_test(other_architectures_and_other_files_are_refused),
        cmocka_unit_test(a_truncated_library_is_refused),
        cmocka_unit_test(damaged_tables_cause_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, shared_cleanup);
}
