/*
 * tests/standin/test_stub.c - the dynamic linker loads a written stub library: symbols, versions, targets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "standin/elf.h"
#include "standin/stub.h"
#include "tests/standin/shared.h"

static int add_one(int a)
{
    return a + 1;
}

static int twice(int a)
{
    return 2 * a;
}

static void target_set(struct sti_entry *entry, int (*function)(int))
{
    uintptr_t address;

    memcpy(&address, &function, sizeof(address));
    entry->target = address;
}

static int call(void *function, int a)
{
    int (*as_function)(int);

    assert_non_null(function);
    memcpy(&as_function, &function, sizeof(as_function));
    return as_function(a);
}

static void *load(const struct sti_stub *stub, struct sti_table **table)
{
    void *handle = shared_stub_load(stub);

    *table = dlsym(handle, STI_TABLE_SYMBOL);
    assert_non_null(*table);
    assert_true((*table)->magic == STI_TABLE_MAGIC);
    assert_int_equal((*table)->count, stub->count);
    return handle;
}

static void a_function_of_a_stub_jumps_to_its_target(void **state)
{
    static const struct sti_stub_symbol SYMBOLS[] = {{"first", NULL}, {"second", NULL}};
    const struct sti_stub stub = {"libstub_plain.so.1", SYMBOLS, 2};
    struct sti_table *table;
    void *handle = load(&stub, &table);

    (void)state;
    target_set(&table->entries[0], add_one);
    target_set(&table->entries[1], twice);
    assert_int_equal(call(dlsym(handle, "first"), 20), 21);
    assert_int_equal(call(dlsym(handle, "second"), 20), 40);
    assert_null(dlsym(handle, "third"));
    assert_string_equal(sti_table_name(table, table->entries[1].name), "second");
    assert_string_equal(sti_table_name(table, table->soname), "libstub_plain.so.1");
    dlclose(handle);
}

/* How many sections of a type a stub library has. */
static int sections_of(const struct sti_stub *stub, uint32_t type)
{
    struct vs_text bytes = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    Elf64_Ehdr header;
    int count = 0;

    assert_int_equal(sti_stub_make(stub, &bytes, &err), VS_OK);
    memcpy(&header, bytes.data, sizeof(header));
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;

        memcpy(&section, bytes.data + header.e_shoff + i * sizeof(section), sizeof(section));
        count += section.sh_type == type;
    }
    vs_text_release(&bytes);
    return count;
}

/* Compilers link with stub libraries, and refuse a table of versions that is empty. */
static void a_library_without_versions_has_no_version_tables(void **state)
{
    static const struct sti_stub_symbol PLAIN[] = {{"f", NULL}};
    static const struct sti_stub_symbol VERSIONED[] = {{"f", "VERSION_1"}};
    const struct sti_stub plain = {"libplain.so.1", PLAIN, 1};
    const struct sti_stub versioned = {"libversioned.so.1", VERSIONED, 1};

    (void)state;
    assert_int_equal(sections_of(&plain, SHT_GNU_versym), 0);
    assert_int_equal(sections_of(&plain, SHT_GNU_verdef), 0);
    assert_int_equal(sections_of(&plain, SHT_DYNSYM), 1);
    assert_int_equal(sections_of(&versioned, SHT_GNU_versym), 1);
    assert_int_equal(sections_of(&versioned, SHT_GNU_verdef), 1);
}

static void versions_of_a_function_are_distinguished(void **state)
{
    static const struct sti_stub_symbol SYMBOLS[] = {
        {"f", "VERSION_1"}, {"f", "VERSION_2"}, {"g", NULL}};
    const struct sti_stub stub = {"libstub_versions.so.1", SYMBOLS, 3};
    struct sti_table *table;
    void *handle = load(&stub, &table);

    (void)state;
    target_set(&table->entries[0], add_one);
    target_set(&table->entries[1], twice);
    target_set(&table->entries[2], twice);
    assert_int_equal(call(dlvsym(handle, "f", "VERSION_1"), 7), 8);
    assert_int_equal(call(dlvsym(handle, "f", "VERSION_2"), 7), 14);
    assert_null(dlvsym(handle, "f", "VERSION_3"));
    assert_int_equal(call(dlsym(handle, "g"), 7), 14);
    dlclose(handle);
}

/* More functions than a page of code holds, so that every table has several pages. */
static void each_of_many_functions_is_found(void **state)
{
    enum { COUNT = 3000 };
    static char names[COUNT][24];
    static struct sti_stub_symbol symbols[COUNT];
    const struct sti_stub stub = {"libstub_many.so.1", symbols, COUNT};
    struct sti_table *table;
    void *handle;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "function_%d", i);
        symbols[i] = (struct sti_stub_symbol){names[i], i % 3 ? "V" : NULL};
    }
    handle = load(&stub, &table);
    for (int i = 0; i < COUNT; i++)
        target_set(&table->entries[i], i % 2 ? add_one : twice);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(call(dlsym(handle, names[i]), 5), i % 2 ? 6 : 10);
    dlclose(handle);
}

static void a_library_without_functions_can_be_loaded(void **state)
{
    const struct sti_stub stub = {"libstub_empty.so.1", NULL, 0};
    struct sti_table *table;

    (void)state;
    dlclose(load(&stub, &table));
}

static void a_stub_is_loaded_in_place_of_the_library_of_its_name(void **state)
{
    static const struct sti_stub_symbol SYMBOLS[] = {{"f", NULL}};
    const struct sti_stub stub = {"libstub_named.so.7", SYMBOLS, 1};
    void *handle = shared_stub_load(&stub);
    void *again = dlopen("libstub_named.so.7", RTLD_NOW | RTLD_NOLOAD);

    (void)state;
    assert_ptr_equal(again, handle);
    dlclose(again);
    dlclose(handle);
}

static void the_elf_reader_reads_a_stub(void **state)
{
    static const struct sti_stub_symbol SYMBOLS[] = {{"f", "V"}};
    const struct sti_stub stub = {"libstub_read.so.1", SYMBOLS, 1};
    struct vs_error err = VS_ERROR_INIT;
    struct sti_elf elf;
    const char *path = shared_stub_write(&stub);

    (void)state;
    assert_int_equal(sti_elf_read(path, false, &elf, &err), VS_OK);
    assert_string_equal(elf.soname, "libstub_read.so.1");
    assert_int_equal(elf.needed_count, 0);
    assert_int_equal(elf.import_count, 0);
    sti_elf_release(&elf);
}

static void too_many_functions_are_refused(void **state)
{
    static struct sti_stub_symbol symbols[65536];
    const struct sti_stub stub = {"libstub_big.so.1", symbols, 65536};
    struct vs_text bytes = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(sti_stub_make(&stub, &bytes, &err), VS_E_OVERFLOW);
    assert_non_null(strstr(err.text, "libstub_big.so.1"));
    vs_text_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_of_a_stub_jumps_to_its_target),
        cmocka_unit_test(versions_of_a_function_are_distinguished),
        cmocka_unit_test(each_of_many_functions_is_found),
        cmocka_unit_test(a_library_without_versions_has_no_version_tables),
        cmocka_unit_test(a_library_without_functions_can_be_loaded),
        cmocka_unit_test(a_stub_is_loaded_in_place_of_the_library_of_its_name),
        cmocka_unit_test(the_elf_reader_reads_a_stub),
        cmocka_unit_test(too_many_functions_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, shared_cleanup);
}
