/*
 * tests/recording/test_memlist.c - lists of memory events in the forms in which users write them, and malformed ones.
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

#include "recording/memlist.h"

static enum vs_status read_text(const char *text, bool is_packed, struct vs_memlist *out,
                                struct vs_error *err)
{
    char path[] = "/tmp/test_memlist.XXXXXX";
    int fd = mkstemp(path);
    enum vs_status st;
    gzFile file;

    assert_true(fd >= 0);
    file = gzdopen(fd, is_packed ? "wb" : "wbT");
    assert_non_null(file);
    assert_int_equal(gzputs(file, text), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
    memset(out, 0, sizeof(*out));
    st = rec_memlist_read(path, -1, out, err);
    unlink(path);
    return st;
}

static void must_read(const char *text, bool is_packed, struct vs_memlist *out)
{
    struct vs_error err = VS_ERROR_INIT;

    if (read_text(text, is_packed, out, &err))
        fail_msg("%s", err.text);
}

static void check_event(const struct vs_memlist *list, size_t i, enum vs_mem_kind kind,
                        uint64_t address, uint64_t bytes)
{
    assert_true(i < list->event_count);
    assert_int_equal(list->events[i].kind, kind);
    assert_int_equal(list->events[i].address, address);
    assert_int_equal(list->events[i].bytes, bytes);
}

static void commas_and_tabs_are_read(void **state)
{
    static const char *const texts[] = {
        "# made by hand\nkind,bytes,address,class,op,file,line,function,more\n"
        "alloc,100,0x200,workspace,\"a \"\"b\"\", c\",net.py,12,f,x\nfree,100,512,,,,,,\n",
        "kind\tbytes\taddress\tclass\top\tfile\tline\tfunction\r\n"
        "alloc\t100\t512\tworkspace\t\"a \"\"b\"\", c\"\tnet.py\t12\tf\r\nfree\t100\t0x200\r\n",
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct vs_memlist list;

        must_read(texts[i / 2], i % 2, &list);
        assert_int_equal(list.event_count, 3);
        check_event(&list, 0, VS_MEM_ALLOC, 512, 100);
        check_event(&list, 1, VS_MEM_FREE_REQUESTED, 512, 100);
        check_event(&list, 2, VS_MEM_FREE_COMPLETED, 512, 100);
        assert_int_equal(list.events[0].cls, VS_MEM_WORKSPACE);
        assert_string_equal(vs_memlist_text(&list, list.events[0].op), "a \"b\", c");
        assert_string_equal(vs_memlist_text(&list, list.events[0].file), "net.py");
        assert_string_equal(vs_memlist_text(&list, list.events[0].func), "f");
        assert_int_equal(list.events[0].line, 12);
        assert_true(list.has_addresses);
        assert_false(list.has_state);
        vs_memlist_release(&list);
    }
}

/* Numbers of allocations may be any text; equal texts are one allocation. */
static void names_may_be_used_as_addresses(void **state)
{
    struct vs_memlist list;

    (void)state;
    must_read("id,kind,bytes\nx,alloc,1\ny,alloc,2\nx,free_requested,1\n", false, &list);
    assert_false(list.has_addresses);
    assert_int_equal(list.event_count, 3);
    assert_int_equal(list.events[2].address, list.events[0].address);
    assert_int_not_equal(list.events[1].address, list.events[0].address);
    vs_memlist_release(&list);
}

static void the_compact_list_is_read(void **state)
{
    struct vs_memlist list;

    (void)state;
    must_read("vramscope allocator list 1\nconf max_split_size_mb:20\nstate 1 2\nS 800 4096 0 s\n"
              "a 1 100\ni 4095\nevents 5\n+ 800 4096\na 2048 100\na 1 70 w\nf 1\n",
              false, &list);
    assert_int_equal(list.event_count, 5);
    check_event(&list, 0, VS_MEM_SEGMENT_ALLOC, 0x800 * 512, 4096 * 512);
    check_event(&list, 1, VS_MEM_ALLOC, 2048 * 512, 100);
    check_event(&list, 2, VS_MEM_ALLOC, 2049 * 512, 70);
    check_event(&list, 3, VS_MEM_FREE_REQUESTED, 2049 * 512, 70);
    check_event(&list, 4, VS_MEM_FREE_COMPLETED, 2049 * 512, 70);
    assert_int_equal(list.events[1].cls, VS_MEM_TENSOR);
    assert_int_equal(list.events[2].cls, VS_MEM_WORKSPACE);
    assert_string_equal(list.conf, "max_split_size_mb:20");
    assert_int_equal(list.segment_count, 1);
    assert_int_equal(list.block_count, 2);
    assert_int_equal(list.blocks[0].requested, 100);
    assert_true(list.segments[0].is_small);
    vs_memlist_release(&list);
}

static void a_malformed_list_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"", "the file is empty"},
        {"kind,bytes\n", "line 1: a list of memory events begins with"},
        {"hello\n", "line 1: a list of memory events begins with"},
        {"kind,bytes,id\nalloc,1,x\ngrab,1,x\n", "line 3: kind cannot be `grab`"},
        {"kind,bytes,id\nalloc,-1,x\n", "line 2: bytes cannot be `-1`"},
        {"kind,bytes,id\nalloc,1.5,x\n", "line 2: bytes cannot be `1.5`"},
        {"kind,bytes,address\nalloc,1,here\n", "line 2: address cannot be `here`"},
        {"kind,bytes,id,class\nalloc,1,x,mine\n", "line 2: class cannot be `mine`"},
        {"kind,bytes,id\nalloc,1,\"x\n", "line 2: too many columns, or a quote"},
        {"vramscope allocator list 1\nconf\nstate 0 0\nevents 1\n", "other numbers of events"},
        {"vramscope allocator list 1\nconf\nstate 0 0\nevents 1\nf 1\n", "line 5 is not"},
        {"vramscope allocator list 1\nconf\nstate 0 0\nevents 1\na 1 1 q\n", "line 5 is not"},
        {"vramscope allocator list 1\nconf\nstate 0 1\na 1 1\nevents 0\n", "line 4 is not"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct vs_memlist list;

        assert_int_equal(read_text(cases[i].text, false, &list, &err), VS_E_FORMAT);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu says: %s", i, err.text);
        vs_memlist_release(&list);
    }
}

static void a_missing_file_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_memlist list = {.events = NULL};

    (void)state;
    assert_int_equal(rec_memlist_read("/nowhere/list.csv", -1, &list, &err), VS_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/list.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_tabs_are_read),
        cmocka_unit_test(names_may_be_used_as_addresses),
        cmocka_unit_test(the_compact_list_is_read),
        cmocka_unit_test(a_malformed_list_is_refused_with_its_line),
        cmocka_unit_test(a_missing_file_is_named),
    };

    return cmocka_run_group_tests_name("recording/memlist", tests, NULL, NULL);
}
