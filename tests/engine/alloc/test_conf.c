/*
 * tests/engine/alloc/test_conf.c - parsing PyTorch's allocator settings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/alloc/conf.h"

#define MIB UINT64_C(1048576)

static struct eng_alloc_conf parsed(const char *text)
{
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    eng_alloc_conf_init(&conf);
    if (eng_alloc_conf_parse(text, &conf, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    assert_int_equal(err.status, VS_OK);
    return conf;
}

/* Rejected with `status`, nothing changed, and the message contains `part`. */
static void refused(const char *text, enum vs_status status, const char *part)
{
    struct eng_alloc_conf conf;
    struct eng_alloc_conf before;
    struct vs_error err = VS_ERROR_INIT;

    memset(&conf, 0, sizeof(conf));
    eng_alloc_conf_init(&conf);
    before = conf;
    if (eng_alloc_conf_parse(text, &conf, &err) != status)
        fail_msg("'%s' gave %s, not %s", text, vs_status_name(err.status), vs_status_name(status));
    if (!strstr(err.text, part))
        fail_msg("'%s': '%s' is not in the message: %s", text, part, err.text);
    assert_memory_equal(&conf, &before, sizeof(conf));
}

static void an_empty_configuration_means_pytorchs_defaults(void **state)
{
    const struct eng_alloc_conf conf = parsed("");

    (void)state;
    assert_true(conf.max_split_bytes == ENG_NO_LIMIT);
    assert_true(conf.memory_fraction == 1.0);
    assert_true(conf.gc_threshold == 0.0);
    assert_int_equal(conf.large_segment_bytes, 20 * MIB);
    assert_false(conf.expandable_segments);
    for (int i = 0; i < ENG_ROUNDUP_INTERVALS; i++)
        assert_int_equal(conf.roundup_divisions[i], 0);
}

static void every_key_is_read(void **state)
{
    struct eng_alloc_conf conf =
        parsed("max_split_size_mb:128, max_non_split_rounding_mb:64,garbage_collection_threshold:"
               "0.8,expandable_segments:True,large_segment_size_mb:12,per_process_memory_fraction:"
               "0.25,throw_on_cudamalloc_oom:True,expandable_segments_reserve:40G");

    (void)state;
    assert_int_equal(conf.max_split_bytes, 128 * MIB);
    assert_int_equal(conf.max_non_split_rounding, 64 * MIB);
    assert_true(conf.gc_threshold == 0.8);
    assert_true(conf.expandable_segments);
    assert_int_equal(conf.large_segment_bytes, 12 * MIB);
    assert_true(conf.memory_fraction == 0.25);
    assert_true(conf.throw_on_cudamalloc_oom);
    assert_true(conf.expandable_reserve_bytes == UINT64_C(40) << 30);
    conf = parsed("expandable_segments_reserve:0.5");
    assert_true(conf.expandable_reserve == 0.5);
    assert_int_equal(conf.expandable_reserve_bytes, 0);
    conf = parsed("expandable_segments:True,expandable_segments:False");
    assert_false(conf.expandable_segments);
    conf = parsed("max_split_size_mb:17592186044415"); /* (2^64 - 1) / 2^20 */
    assert_true(conf.max_split_bytes == UINT64_MAX - (MIB - 1));
}

static void keys_without_effect_on_memory_are_accepted(void **state)
{
    (void)state;
    parsed(
        "backend:native,release_lock_on_cudamalloc:True,graph_capture_record_stream_reuse:False");
    parsed("pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
           "pinned_reserve_segment_size_mb:64,pinned_use_background_threads:True");
}

static void spaces_and_a_last_comma_do_not_matter(void **state)
{
    (void)state;
    assert_int_equal(parsed("  max_split_size_mb : 2 0 0 ,").max_split_bytes, 200 * MIB);
    parsed("   ");
}

static void a_single_division_applies_to_every_size(void **state)
{
    const struct eng_alloc_conf conf = parsed("roundup_power2_divisions:8");

    (void)state;
    for (int i = 0; i < ENG_ROUNDUP_INTERVALS; i++)
        assert_int_equal(conf.roundup_divisions[i], 8);
}

/*
 * 64 MiB is interval 6, 256 is 8: the first covers everything below too, 128 (7) stays off, '>' starts at the last one
 * given.
 */
static void a_list_of_divisions_covers_its_size_intervals(void **state)
{
    static const uint32_t expected[ENG_ROUNDUP_INTERVALS] = {2, 2, 2, 2, 2, 2, 2, 0,
                                                             4, 4, 4, 4, 4, 4, 4, 4};
    struct eng_alloc_conf conf = parsed("roundup_power2_divisions:[64:2,256:8,>:4]");

    (void)state;
    assert_memory_equal(conf.roundup_divisions, expected, sizeof(expected));
    conf = parsed("roundup_power2_divisions:[1048576:16],max_split_size_mb:30");
    assert_int_equal(conf.roundup_divisions[0],
                     16); /* the first entry covers all intervals below the last one */
    assert_int_equal(conf.roundup_divisions[15], 16);
    assert_int_equal(conf.max_split_bytes, 30 * MIB);
    conf = parsed("roundup_power2_divisions:[1:0,2:1]");
    assert_int_equal(conf.roundup_divisions[1], 1);
}

static void a_value_that_is_not_legal_is_refused_by_name(void **state)
{
    static const char *const wrong[][2] = {
        {"max_split_size_mb:19", "max_split_size_mb cannot be '19'"},
        {"max_split_size_mb:-1", "at least 20"},
        {"max_split_size_mb:20x", "max_split_size_mb"},
        {"max_split_size_mb:17592186044416", "max_split_size_mb"},
        {"max_split_size_mb:99999999999999999999", "max_split_size_mb"},
        {"max_split_size_mb:", "max_split_size_mb cannot be ''"},
        {"max_split_size_mb", "':' and a value expected"},
        {"max_split_size_mb:30:40", "',' expected after the value of max_split_size_mb"},
        {"max_split_size_mb:30 expandable_segments:True", "max_split_size_mb"},
        {"max_non_split_rounding_mb:10", "at least 20"},
        {"garbage_collection_threshold:0", "above 0 and below 1"},
        {"garbage_collection_threshold:1.0", "above 0 and below 1"},
        {"garbage_collection_threshold:nan", "above 0 and below 1"},
        {"per_process_memory_fraction:1.01", "from 0 to 1"},
        {"per_process_memory_fraction:-0.5", "from 0 to 1"},
        {"expandable_segments:true", "True or False"},
        {"expandable_segments:1", "True or False"},
        {"throw_on_cudamalloc_oom:yes", "True or False"},
        {"large_segment_size_mb:10", "above 10"},
        {"roundup_power2_divisions:3", "power of two"},
        {"roundup_power2_divisions:0", "power of two"},
        {"roundup_power2_divisions:[3:2]", "cannot be '3'"},
        {"roundup_power2_divisions:[4:3]", "cannot be '3'"},
        {"roundup_power2_divisions:[4:2", "roundup_power2_divisions"},
        {"roundup_power2_divisions:[4,2]", "roundup_power2_divisions"},
        {"roundup_power2_divisions:[4:2 8:2]", "roundup_power2_divisions"},
        {"roundup_power2_divisions:[", "roundup_power2_divisions"},
        {"expandable_segments_reserve:0", "expandable_segments_reserve"},
        {"expandable_segments_reserve:G", "expandable_segments_reserve"},
        {"backend:cuda", "it takes native"},
        {"pinned_num_register_threads:3", "power of two from 1 to 128"},
        {"pinned_num_register_threads:256", "power of two from 1 to 128"},
        {"pinned_reserve_segment_size_mb:0", "above 0"},
        {"max_split_size:30", "unknown key 'max_split_size'; known are: max_split_size_mb,"},
        {",max_split_size_mb:30", "unknown key ','"},
        {"expandable_segments:True,,", "unknown key ','"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        refused(wrong[i][0], VS_E_VALUE, wrong[i][1]);
}

static void settings_of_pytorch_that_are_not_supported_are_refused(void **state)
{
    (void)state;
    refused("backend:cudaMallocAsync", VS_E_UNSUPPORTED, "backend:native");
    refused("expandable_segments_reserve_by_class:[a:0.5]", VS_E_UNSUPPORTED,
            "expandable_segments_reserve");
}

/* A good key before a bad one must not take effect. */
static void a_refused_configuration_changes_nothing(void **state)
{
    (void)state;
    refused("expandable_segments:True,max_split_size_mb:1", VS_E_VALUE, "max_split_size_mb");
}

static void the_keys_are_listed_with_their_legal_values(void **state)
{
    unsigned count = 0;
    const struct eng_alloc_conf_key *key;

    (void)state;
    for (; (key = eng_alloc_conf_key_get(count)); count++) {
        char text[80] = "";

        assert_true(strlen(key->name) > 3 && strlen(key->legal) > 3 && strlen(key->text) > 3);
        strncat(text, key->name, 60);
        strcat(text, ":?");
        if (strcmp(key->name, "expandable_segments_reserve_by_class") != 0)
            refused(text, VS_E_VALUE, key->legal);
    }
    assert_true(count >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_configuration_means_pytorchs_defaults),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(keys_without_effect_on_memory_are_accepted),
        cmocka_unit_test(spaces_and_a_last_comma_do_not_matter),
        cmocka_unit_test(a_single_division_applies_to_every_size),
        cmocka_unit_test(a_list_of_divisions_covers_its_size_intervals),
        cmocka_unit_test(a_value_that_is_not_legal_is_refused_by_name),
        cmocka_unit_test(settings_of_pytorch_that_are_not_supported_are_refused),
        cmocka_unit_test(a_refused_configuration_changes_nothing),
        cmocka_unit_test(the_keys_are_listed_with_their_legal_values),
    };

    return cmocka_run_group_tests_name("engine/alloc_conf", tests, NULL, NULL);
}
