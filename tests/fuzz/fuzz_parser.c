/*
 * tests/fuzz/fuzz_parser.c - parses any bytes as a net file: the result is one error message or a tree that satisfies
 * its invariants.
 *
 * Seeds: tests/golden/lang/ and sample_nets/ hold every construct; tests/fuzz/seeds/parser has short ones.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/syntax/diag.h"
#include "lang/syntax/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

/* A use of a name that needs a slot has one of the right sort. */
static void check_ref(const struct lang_code *code, const struct lang_ref *ref)
{
    if (ref->scope == LANG_SCOPE_LOCAL)
        check(ref->slot < code->local_count && !code->slots[ref->slot].is_free);
    if (ref->scope == LANG_SCOPE_CELL || ref->scope == LANG_SCOPE_CLASS_CELL)
        check(ref->slot < code->slot_count &&
              (code->slots[ref->slot].is_cell || code->slots[ref->slot].is_free));
}

static void check_code(const struct lang_code *code)
{
    check(code->name && code->qualname);
    check(code->local_count + code->cell_count + code->free_count == code->slot_count);
    check(code->param_count <= code->local_count);
    for (uint32_t i = 0; i < code->param_count; i++)
        check(code->slots[i].name == code->params[i].name);
    for (uint32_t i = 0; i < code->slot_count; i++)
        check(code->slots[i].is_free == (i >= code->slot_count - code->free_count));
    for (uint32_t i = 0; i < code->free_count; i++) {
        const struct lang_code *around = code->parent;
        const struct lang_slot *slot;

        check(around && code->captures[i] < around->slot_count);
        slot = &around->slots[code->captures[i]];
        check(slot->is_cell || slot->is_free);
        check(slot->name == code->slots[code->slot_count - code->free_count + i].name);
    }
    if (code->class_cell != LANG_NO_SLOT)
        check(code->class_cell < code->slot_count);
    for (uint32_t i = 0; i < code->body.count; i++) {
        const struct lang_stmt *stmt = code->body.stmts[i];

        check(stmt->span.line > 0 && stmt->span.end_line >= stmt->span.line);
        if (stmt->kind == LANG_STMT_DEF)
            check_ref(code, &stmt->u.def.bind);
        if (stmt->kind == LANG_STMT_EXPR && stmt->u.expr->kind == LANG_EXPR_NAME)
            check_ref(code, &stmt->u.expr->u.name);
        if (stmt->kind == LANG_STMT_ASSIGN && stmt->u.assign.value->kind == LANG_EXPR_NAME)
            check_ref(code, &stmt->u.assign.value->u.name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_arena *arena = vs_arena_new();
    struct vs_error err = VS_ERROR_INIT;
    struct lang_module *module = NULL;
    enum vs_status st;

    st = lang_parse("fuzz.py", (const char *)data, size, arena, &module, &err);
    if (st) {
        check(!module && err.status == st && st == VS_E_SYNTAX);
        check(strncmp(err.text, "fuzz.py:", 8) == 0);
        for (const char *s = err.text; *s; s++)
            check((unsigned char)*s >= 0x20 || *s == '\n' || *s == '\t');
    } else {
        check(module && module->code_count > 0);
        for (uint32_t i = 0; i < module->code_count; i++)
            check_code(module->codes[i]);
    }
    vs_arena_free(arena);
    return 0;
}
