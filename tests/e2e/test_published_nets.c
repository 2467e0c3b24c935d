/*
 * tests/e2e/test_published_nets.c - peaks that others measured on real GPUs, as nets: the engine gives the same bytes.
 *
 * A row of tests/programs/published/peaks.tsv is a net of tests/nets/published with the row's constants and the toggles
 * `target` and `torch`; what is compared is the peak of its last step. Where PyTorch over the simulated GPU has another
 * figure than the real GPU (README.md beside the rows), that figure is expected. All rows are in a table, TABLE, which
 * is compared, or written under VRAMSCOPE_GOLDEN=write (`make golden`).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "tests/e2e/program.h"

#define PEAKS "tests/programs/published/peaks.tsv"
#define TABLE "tests/programs/published/table.md"
#define NETS "tests/nets/published/"
#define LINE_MAX_BYTES 1024
#define ROWS_WITHOUT_NET 12 /* fused_linear_orpo_loss, distill_jsd_loss */
/*
 * The first three configurations of embedding with D 4096: a net begins with an empty cache, and a block of it is given
 * out whole; on the GPU and over the simulated one other measurements left a block that fits. README.md: split.
 */
#define SPLIT_FIRST 16
#define SPLIT_LAST 18
#define SPLIT_BYTES 425984

enum column {
    KERNEL,
    PROVIDER,
    MODE,
    X_NAME,
    X,
    PEAK,
    CONFIG,
    GPU,
    DATE,
    VERSION,
    TORCH,
    MEASURED,
    CAUSE,
    COLUMNS
};

struct row {
    char line[LINE_MAX_BYTES];
    const char *text[COLUMNS];
};

static void row_split(struct row *row)
{
    char *at = row->line;

    for (int i = 0; i < COLUMNS; i++) {
        row->text[i] = at;
        at += strcspn(at, "\t\n");
        if (*at)
            *at++ = '\0';
    }
}

static bool is(const struct row *row, enum column column, const char *text)
{
    return strcmp(row->text[column], text) == 0;
}

/* The net of a row, below NETS without .py; NULL: there is none. */
static const char *net_of(const struct row *row)
{
    if (is(row, KERNEL, "fused_linear_orpo_loss") || is(row, KERNEL, "distill_jsd_loss"))
        return NULL;
    if (is(row, KERNEL, "jsd") && is(row, X_NAME, "BT"))
        return "jsd_tokens";
    if (is(row, KERNEL, "geglu") && is(row, MODE, "forward"))
        return "geglu_forward";
    if (is(row, KERNEL, "geglu") && is(row, MODE, "backward"))
        return "geglu_backward";
    return row->text[KERNEL];
}

static const char *target_of(const struct row *row)
{
    static const char *const TARGETS[][2] = {{"A100", "a100-80"},
                                             {"H100 PCIe", "h100-pcie"},
                                             {"H100", "h100"},
                                             {"3090", "rtx3090"},
                                             {"B200", "b200"}};

    for (size_t i = 0; i < sizeof(TARGETS) / sizeof(TARGETS[0]); i++)
        if (strstr(row->text[GPU], TARGETS[i][0]))
            return TARGETS[i][1];
    fail_msg("no target is %s", row->text[GPU]);
    return NULL;
}

/* Where `NAME = ` begins a line of `text`: the value; or NULL. */
static char *constant_of(char *text, const char *name)
{
    char wanted[64];
    char *at;

    snprintf(wanted, sizeof(wanted), "\n%s = ", name);
    at = strstr(text, wanted);
    return at ? at + strlen(wanted) : NULL;
}

/* Replace the value of a constant, under each name that the nets have for it. */
static void constant_set(char *text, size_t size, const char *name, const char *value, size_t len)
{
    static const char *const ALIASES[][2] = {{"H", "hidden_size"}, {"seq_len", "T"}};
    char *at = constant_of(text, name);

    if (at) {
        const size_t old = strcspn(at, "\n");

        assert_true(strlen(text) + len < size);
        memmove(at + len, at + old, strlen(at + old) + 1);
        memcpy(at, value, len);
        return;
    }
    for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++)
        if (strcmp(ALIASES[i][0], name) == 0 && constant_of(text, ALIASES[i][1]))
            constant_set(text, size, ALIASES[i][1], value, len);
}

/* The constants of {"NAME": VALUE, …}; texts are left alone but "torch.…". */
static void config_set(char *text, size_t size, const char *config)
{
    while ((config = strchr(config, '"')) != NULL) {
        const size_t name_len = strcspn(config + 1, "\"");
        const char *value = config + 1 + name_len + strlen("\": ");
        const bool is_text = *value == '"';
        const size_t len = is_text ? strcspn(value + 1, "\"") : strcspn(value, ",}");
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)name_len, config + 1);
        constant_set(text, size, name, value + is_text, len);
        config = value + len + 2 * is_text;
    }
}

static const char *net_write(const struct row *row, const char *name)
{
    char path[128];
    char text[8192];
    FILE *file;
    size_t len;

    snprintf(path, sizeof(path), NETS "%s.py", name);
    file = fopen(path, "r");
    if (!file)
        fail_msg("%s is not there", path);
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    config_set(text, sizeof(text), row->text[CONFIG]);

    constant_set(text, sizeof(text), row->text[X_NAME], row->text[X], strlen(row->text[X]));
    return program_file("net.py", text);
}

/* The benchmark has MiB as float32. */
static int64_t as_published(int64_t bytes)
{
    return (int64_t)llround((double)(float)((double)bytes / 1048576) * 1048576);
}

static int64_t peak_of_last_step(const char *json)
{
    int64_t peak = 0;
    char path[64];
    char *text;

    for (int i = 0;; i++) {
        snprintf(path, sizeof(path), "$.steps[#-1].phases[%d].allocated_peak", i);
        text = json_text(json, path);
        if (!text)
            return peak;
        if (strtoll(text, NULL, 10) > peak)
            peak = strtoll(text, NULL, 10);
        free(text);
    }
}

/* The peak of a row's net, as the benchmark rounds it. */
static int64_t peak_of_net(const struct row *row, const char *name, int number)
{
    const char *net = net_write(row, name);
    struct program p =
        program_run("record", net, "--device", "meta", "--target", target_of(row), "--torch",
                    row->text[TORCH], "-f", "-o", program_path("net.db"), NULL);
    int64_t peak;

    if (p.status != 0)
        fail_msg("line %d of " PEAKS ", %s: status %d: %s", number, name, p.status, p.err);
    program_release(&p);
    p = program_run("report", "--json", program_path("net.db"), NULL);
    peak = as_published(peak_of_last_step(p.out));
    program_release(&p);
    return peak;
}

/* Prints a difference and returns false. */
static bool row_is_equal(const struct row *row, const char *name, int number, int64_t peak)
{
    const bool is_split = number >= SPLIT_FIRST && number <= SPLIT_LAST;
    const int64_t expected = strtoll(row->text[MEASURED], NULL, 10) + (is_split ? SPLIT_BYTES : 0);

    if (peak != expected)
        print_error("line %d of " PEAKS ", %s, %s %s: %" PRId64 ", not %" PRId64 "\n", number, name,
                    row->text[X_NAME], row->text[X], peak, expected);
    return peak == expected;
}

/* ---- the table ---- */

static void table_begin(struct vs_text *table)
{
    vs_text_add(table,
                "# The 127 rows\n\n"
                "Written by `VRAMSCOPE_GOLDEN=write build/tests/e2e/test_published_nets`. "
                "`row` is the line of\n"
                "[peaks.tsv](peaks.tsv), which has all constants; `simulated` how many bytes "
                "more or less PyTorch of that version has\n"
                "over the simulated GPU (`check.sh`), `net` the engine; - where there is no "
                "net. [README.md](README.md) names the causes.\n\n"
                "| row | kernel | mode | x | GPU | PyTorch | published bytes | simulated | "
                "net | cause |\n"
                "|---|---|---|---|---|---|---|---|---|---|\n");
}

static void difference_add(struct vs_text *table, int64_t bytes)
{
    char digits[VS_BYTES_TEXT_MAX];

    vs_text_addf(table, " %s%s |",
                 bytes > 0   ? "+"
                 : bytes < 0 ? "-"
                             : "",
                 vs_bytes_exact_text((uint64_t)llabs(bytes), digits));
}

/* peak: of the net; below 0: there is none */
static void table_add(struct vs_text *table, const struct row *row, int number, int64_t peak)
{
    const int64_t bytes = strtoll(row->text[PEAK], NULL, 10);
    char digits[VS_BYTES_TEXT_MAX];

    vs_text_addf(table, "| %d | %s | %s | %s %s | %s | %s | %s |", number, row->text[KERNEL],
                 row->text[MODE], row->text[X_NAME], row->text[X], target_of(row), row->text[TORCH],
                 vs_bytes_exact_text((uint64_t)bytes, digits));
    difference_add(table, strtoll(row->text[MEASURED], NULL, 10) - bytes);
    if (peak < 0)
        vs_text_add(table, " - |");
    else
        difference_add(table, peak - bytes);
    vs_text_addf(table, " %s |\n", row->text[CAUSE]);
}

static void table_compare(const struct vs_text *table)
{
    const char *wish = getenv("VRAMSCOPE_GOLDEN");
    const bool is_writing = wish && strcmp(wish, "write") == 0;
    FILE *file = fopen(TABLE, is_writing ? "w" : "r");
    char *known;

    if (!file)
        fail_msg("there is no " TABLE "; `make golden` writes it");
    if (is_writing) {
        fputs(vs_text_get(table), file);
        fclose(file);
        return;
    }
    known = vs_calloc(1, table->len + 2);
    (void)fread(known, 1, table->len + 1, file);
    fclose(file);
    if (strcmp(known, vs_text_get(table)) != 0)
        fail_msg(TABLE " is not what the rows and nets give; `make golden` writes it");
    vs_free(known);
}

static void each_row_has_its_peak_as_a_net(void **state)
{
    FILE *file = fopen(PEAKS, "r");
    struct vs_text table = {NULL, 0, 0};
    struct row row;
    int without = 0;
    int different = 0;

    (void)state;
    assert_non_null(file);
    assert_non_null(fgets(row.line, sizeof(row.line), file)); /* names of columns */
    table_begin(&table);
    for (int number = 2; fgets(row.line, sizeof(row.line), file); number++) {
        const char *name;
        int64_t peak = -1;

        row_split(&row);
        name = net_of(&row);
        if (name) {
            peak = peak_of_net(&row, name, number);
            different += !row_is_equal(&row, name, number, peak);
        }
        without += name == NULL;
        table_add(&table, &row, number, peak);
    }
    fclose(file);
    table_compare(&table);
    vs_text_release(&table);
    assert_int_equal(different, 0);
    assert_int_equal(without, ROWS_WITHOUT_NET);
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_its_peak_as_a_net),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
