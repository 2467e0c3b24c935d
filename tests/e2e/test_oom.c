/*
 * tests/e2e/test_oom.c - the advice in the report of a run that ran out of memory: every advised change fits when it is
 * recorded, and no change that does not fit is advised.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/e2e/program.h"

#define NET "sample_nets/variables.py"
#define BATCH "64"
#define CAPACITY "300M"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Record on that device; at most two toggles more, NULL for none. Returns the exit status. */
static int recorded(const char *batch, const char *first, const char *value, const char *second,
                    const char *value2)
{
    struct program p =
        program_run("record", NET, "-fo", program_path("again.db"), "--device", "meta",
                    "--capacity", CAPACITY, "--batch", batch, first, value, second, value2, NULL);
    int status = p.status;

    program_release(&p);
    return status;
}

/* "inplace=on amp=bf16" as words for record. */
static int recorded_with(const char *label)
{
    char words[256];
    char options[2][64] = {"", ""};
    const char *values[2] = {NULL, NULL};
    char *rest = words;

    snprintf(words, sizeof(words), "%s", label);
    for (int i = 0; i < 2; i++) {
        char *pair = strtok_r(i ? NULL : words, " ", &rest);

        if (!pair)
            break;
        snprintf(options[i], sizeof(options[i]), "--%.*s", (int)strcspn(pair, "="), pair);
        values[i] = strchr(pair, '=') + 1;
    }
    return recorded(BATCH, options[0], values[0], values[1] ? options[1] : NULL, values[1]);
}

static struct program out_of_memory(void)
{
    struct program p = program_run("record", NET, "-fo", program_path("full.db"), "--device",
                                   "meta", "--batch", BATCH, "--capacity", CAPACITY, NULL);

    assert_int_equal(p.status, 1);
    return p;
}

static void every_change_the_report_advises_fits(void **state)
{
    struct program p = out_of_memory();
    const char *at = strstr(p.out, "What would fit 300.0 MiB");
    size_t rows = 0;

    (void)state;
    assert_non_null(at);
    at = strstr(at, "tried");
    assert_non_null(at);
    for (at = strchr(at, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1) {
        char label[64];
        size_t len = strcspn(at + 2, "\n");
        const char *end = strstr(at + 2, "  ");

        len = end && (size_t)(end - at - 2) < len ? (size_t)(end - at - 2) : len;
        snprintf(label, sizeof(label), "%.*s", (int)len, at + 2);
        if (recorded_with(label))
            fail_msg("%s does not fit, but: %s", label, p.out);
        rows++;
    }
    assert_true(rows > 2);
    program_release(&p);
}

/* Of four lines of the net three keep what nothing reads again, which a recording that ends there cannot know. */
static void the_report_names_unused_tensors_and_the_largest_batch(void **state)
{
    struct program p = out_of_memory();
    const char *at = strstr(p.out, "With the recorded toggles, a batch of ");
    char batch[32];
    unsigned long largest;

    (void)state;
    assert_non_null(strstr(p.out, "Without a limit its peak would be 396.0 MiB"));
    assert_non_null(strstr(p.out, "local `x1` of `Net.forward`, line 19"));
    assert_non_null(at);
    largest = strtoul(at + strlen("With the recorded toggles, a batch of "), NULL, 10);
    snprintf(batch, sizeof(batch), "%lu", largest);
    assert_int_equal(recorded(batch, NULL, NULL, NULL, NULL), 0);
    snprintf(batch, sizeof(batch), "%lu", largest + 1);
    assert_int_equal(recorded(batch, NULL, NULL, NULL, NULL), 1);
    program_release(&p);
}

/* The same for programs: every row of the text, and its figures are those of recording again. */
static void the_advice_is_in_the_json_of_the_report(void **state)
{
    struct program text = out_of_memory();
    struct program json = program_run("report", program_path("full.db"), "--json", NULL);
    int64_t halved = json_int(json.out, "$.advice.fits[1].allocated");

    (void)state;
    assert_int_equal(json.status, 0);
    assert_int_equal(json_int(json.out, "$.advice.capacity"), 300 << 20);
    assert_int_equal(json_int(json.out, "$.advice.needs.allocated") >> 20, 396);
    json_expect(json.out, "$.advice.max_batch", "integer");
    json_expect(json.out, "$.advice.fits[2].set", "object");
    json_expect(json.out, "$.advice.fits[1].set.half", "text");
    json_expect(json.out, "$.advice.closest", "null");
    program_release(&json);
    assert_int_equal(recorded(BATCH, "--half", "on", NULL, NULL), 0);
    json = program_run("report", program_path("again.db"), "--json", NULL);
    assert_int_equal(json_int(json.out, "$.peak.allocated"), halved);
    json_expect(json.out, "$.advice", "null");
    program_release(&json);
    program_release(&text);
}

/* The table says of each row whether it fits, for programs, too. */
static void each_shows_what_fits_and_what_it_needs(void **state)
{
    struct program p = out_of_memory();
    struct program each = program_run("whatif", program_path("full.db"), "--each", "--json", NULL);
    struct program text = program_run("whatif", program_path("full.db"), "--each", NULL);
    int fit = 0;
    int unfit = 0;

    (void)state;
    for (int i = 0; i < 64; i++) {
        char path[64];
        char *label;
        char *oom;

        snprintf(path, sizeof(path), "$.each[%d].toggle", i);
        label = json_text(each.out, path);
        if (!label)
            break;
        snprintf(path, sizeof(path), "$.each[%d].out_of_memory", i);
        oom = json_text(each.out, path);
        snprintf(path, sizeof(path), "$.each[%d].needs", i);
        if (oom && strcmp(oom, "0") == 0) {
            char result[64];

            snprintf(result, sizeof(result), "$.each[%d].result.allocated", i);
            assert_int_equal(json_int(each.out, path), json_int(each.out, result));
            fit++;
        } else if (oom) {
            assert_true(json_int(each.out, path) > 0);
            unfit++;
        }
        free(label);
        free(oom);
    }
    assert_true(fit > 3 && unfit > 3);
    assert_non_null(strstr(text.out, "as recorded: out of memory on 300.0 MiB; without a limit"));
    assert_non_null(strstr(text.out, "\nfits 300.0 MiB:\n"));
    assert_non_null(strstr(text.out, "\ntoo large for 300.0 MiB, so run without a limit:\n"));
    program_release(&p);
    program_release(&each);
    program_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_the_report_advises_fits),
        cmocka_unit_test(the_report_names_unused_tensors_and_the_largest_batch),
        cmocka_unit_test(the_advice_is_in_the_json_of_the_report),
        cmocka_unit_test(each_shows_what_fits_and_what_it_needs),
    };

    return cmocka_run_group_tests_name("e2e/oom", tests, NULL, cleanup);
}
