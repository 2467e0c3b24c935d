/*
 * tests/gpu/check.c - see check.h.
 *
 *     check ops|nets|events|steps [--json FILE] [--seconds N] [--only TEXT] [--few]
 *
 * Exit status 0: everything is equal, 1: something differs, 3: the device does not exist. A case that was not started
 * because the time was up does not count as a difference.
 */
#include "tests/gpu/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    void (*run)(struct check *c);
} PARTS[] = {
    {"ops", check_ops}, {"nets", check_nets}, {"events", check_events}, {"steps", check_steps}};
#define PART_COUNT (sizeof(PARTS) / sizeof(PARTS[0]))

double check_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool check_wants(struct check *c, const char *name)
{
    bool has_time = check_clock() < c->deadline;

    if (c->only && !strstr(name, c->only))
        return false;
    c->late += !has_time;
    return has_time;
}

void check_begin(struct vs_json *json, struct vs_text *text, const char *name)
{
    vs_json_init(json, text);
    vs_json_object_flat(json);
    vs_json_put_string(json, "case", name);
}

void check_end(struct check *c, struct vs_json *json, struct vs_text *text, const char *name,
               const char *why)
{
    vs_json_put_bool(json, "same", !*why);
    if (*why)
        vs_json_put_string(json, "why", why);
    vs_json_end(json);
    if (c->file) {
        fputs(vs_text_get(text), c->file);
        fflush(c->file);
    }
    if (*why)
        printf("%-52s %s\n", name, why);
    fflush(stdout);
    c->same += !*why;
    c->differ += *why != '\0';
    vs_text_release(text);
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: check ops|nets|events|steps [--json FILE] [--seconds N] [--only TEXT] [--few]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct check c = {.deadline = 1e300};
    size_t part = 0;

    while (part < PART_COUNT && (argc < 2 || strcmp(PARTS[part].name, argv[1]) != 0))
        part++;
    if (part == PART_COUNT)
        return usage();
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--few"))
            c.is_few = true;
        else if (!strcmp(argv[i], "--json") && i + 1 < argc)
            c.file = fopen(argv[++i], "w");
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            c.only = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            c.deadline = check_clock() + strtod(argv[++i], NULL);
        else
            return usage();
    }
    gpu_open(&c.device);
    PARTS[part].run(&c);
    printf("%s on %s: %u same, %u differ", PARTS[part].name, c.device.info.name, c.same, c.differ);
    if (c.late)
        printf(", no time for %u", c.late);
    printf("\n");
    c.device.close();
    if (c.file)
        fclose(c.file);
    return c.differ || !c.same;
}
