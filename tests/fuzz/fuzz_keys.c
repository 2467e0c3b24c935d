/*
 * tests/fuzz/fuzz_keys.c - any text is keys that are typed and a user's file of keys: names are inverse to keys, each
 * wrong line of the file is one message, and what is typed ends in commands or in nothing.
 *
 * Input: the user's file, a zero, the keys.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "tui/parts/config.h"
#include "tui/parts/keymap.h"
#include "tui/term/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of enum tui_scope. */
#define SCOPES 23

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void name_check(uint32_t key)
{
    struct vs_text name = {NULL, 0, 0};
    const char *at;

    tui_key_name(key, &name);
    at = vs_text_get(&name);
    check(*at != '\0');
    check(tui_key_parse(&at) == key && *at == '\0');
    vs_text_release(&name);
}

static void keys_type(const struct tui_keymap *map, const char *text, unsigned scope)
{
    struct tui_pending pending = {{0}, 0, 0};
    struct tui_command command;
    struct vs_text said = {NULL, 0, 0};
    const char *before = text;
    uint32_t key;

    while ((key = tui_key_parse(&text)) != 0) {
        check(text > before);
        before = text;
        name_check(key);
        if (tui_keys_type(map, &pending, key, scope, &command) == TUI_TYPED_ACTION)
            check((unsigned)command.action < TUI_ACTION_COUNT && command.count <= TUI_COUNT_MAX);
        check(pending.len <= TUI_SEQUENCE_MAX && pending.count <= TUI_COUNT_MAX);
        tui_pending_text(&pending, &said);
    }
    vs_text_release(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tui_config config;
    char *text = vs_alloc(size + 1);
    const char *keys;

    memcpy(text, data, size);
    text[size] = '\0';
    memset(&config, 0, sizeof(config));
    tui_config_parse(&config, "config", text);
    check((config.error_count > 0) == (config.errors.len > 0));
    for (int action = 0; action < TUI_ACTION_COUNT; action++) {
        struct vs_text sequence = {NULL, 0, 0};
        const char *at = tui_keys_of(&config.keys, (enum tui_action)action);
        uint32_t sequence_keys[TUI_SEQUENCE_MAX];

        while (tui_sequence_next(&at, sequence_keys) > 0)
            continue;
        (void)!tui_action_keys(&config.keys, (enum tui_action)action, 0, &sequence);
        vs_text_release(&sequence);
    }
    keys = text + strlen(text);
    keys += keys < text + size;
    (void)tui_keys_unknown(keys);
    keys_type(&config.keys, keys, 1U << size % SCOPES);
    tui_config_release(&config);
    vs_free(text);
    return 0;
}
