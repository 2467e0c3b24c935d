/*
 * tests/lang/dump.c - see dump.h.
 */
#include "tests/lang/dump.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static void dump_str(FILE *out, const struct lang_str *str)
{
    fputc('\'', out);
    for (uint32_t i = 0; i < str->len; i++) {
        unsigned char c = (unsigned char)str->text[i];

        if (c <= ' ' || c >= 0x7F || c == '\'' || c == '%')
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
    fputc('\'', out);
}

static void dump_list(FILE *out, const char *head, const struct lang_exprs *list)
{
    fprintf(out, "(%s", head);
    for (uint32_t i = 0; i < list->count; i++) {
        fputc(' ', out);
        dump_expr(out, list->items[i]);
    }
    fputc(')', out);
}

static void dump_maybe(FILE *out, const struct lang_expr *expr)
{
    fputc(' ', out);
    if (expr)
        dump_expr(out, expr);
    else
        fputc('_', out);
}

static void dump_params(FILE *out, const struct lang_code *code)
{
    static const char *const marks[] = {"/", "", "=", "*", "**"};

    fputs("(params", out);
    for (uint32_t i = 0; i < code->param_count; i++) {
        const struct lang_param *param = &code->params[i];

        fprintf(out, " %s%s", marks[param->kind], param->name->text);
        if (param->annotation) {
            fputc(':', out);
            dump_expr(out, param->annotation);
        }
        if (param->default_value) {
            fputc('=', out);
            dump_expr(out, param->default_value);
        }
    }
    fputc(')', out);
}

static void dump_comp(FILE *out, const struct lang_comp *comp)
{
    static const char *const kinds[] = {"listcomp", "dictcomp", "generator"};

    fprintf(out, "(%s ", kinds[comp->kind]);
    dump_expr(out, comp->elt);
    if (comp->value)
        dump_maybe(out, comp->value);
    for (uint32_t i = 0; i < comp->for_count; i++) {
        fputs(" (for ", out);
        dump_expr(out, comp->fors[i].target);
        dump_maybe(out, comp->fors[i].iter);
        for (uint32_t k = 0; k < comp->fors[i].conds.count; k++)
            dump_maybe(out, comp->fors[i].conds.items[k]);
        fputc(')', out);
    }
    fputc(')', out);
}

static void dump_call(FILE *out, const struct lang_expr *expr)
{
    fputs("(call ", out);
    dump_expr(out, expr->u.call.func);
    for (uint32_t i = 0; i < expr->u.call.args.count; i++)
        dump_maybe(out, expr->u.call.args.items[i]);
    for (uint32_t i = 0; i < expr->u.call.keyword_count; i++) {
        const struct lang_keyword *keyword = &expr->u.call.keywords[i];

        fprintf(out, " %s=", keyword->name ? keyword->name->text : "**");
        dump_expr(out, keyword->value);
    }
    fputc(')', out);
}

static void dump_fstring(FILE *out, const struct lang_expr *expr)
{
    fputs("(fstring", out);
    for (uint32_t i = 0; i < expr->u.fstring.count; i++) {
        const struct lang_fpart *part = &expr->u.fstring.parts[i];

        fputc(' ', out);
        if (part->text) {
            dump_str(out, part->text);
            continue;
        }
        fputs("(field", out);
        if (part->conversion)
            fprintf(out, "!%c", part->conversion);
        dump_maybe(out, part->value);
        if (part->spec)
            dump_maybe(out, part->spec);
        fputc(')', out);
    }
    fputc(')', out);
}

/* Left to right: ((a + b) + c). */
static void dump_chain(FILE *out, const struct lang_expr *first, const struct lang_step *steps,
                       uint32_t count)
{
    for (uint32_t i = count; i-- > 0;)
        fprintf(out, "(%s ", lang_op_text(steps[i].op));
    dump_expr(out, first);
    for (uint32_t i = 0; i < count; i++) {
        fputc(' ', out);
        dump_expr(out, steps[i].operand);
        fputc(')', out);
    }
}

static void dump_compare(FILE *out, const struct lang_expr *expr)
{
    fputs("(compare ", out);
    dump_expr(out, expr->u.compare.first);
    for (uint32_t i = 0; i < expr->u.compare.count; i++) {
        fprintf(out, " %s ", lang_op_text(expr->u.compare.steps[i].op));
        dump_expr(out, expr->u.compare.steps[i].operand);
    }
    fputc(')', out);
}

static void dump_dict(FILE *out, const struct lang_expr *expr)
{
    fputs("(dict", out);
    for (uint32_t i = 0; i < expr->u.dict.count; i++) {
        fputc(' ', out);
        if (expr->u.dict.items[i].key)
            dump_expr(out, expr->u.dict.items[i].key);
        else
            fputs("**", out);
        fputc(':', out);
        dump_expr(out, expr->u.dict.items[i].value);
    }
    fputc(')', out);
}

static void dump_float(FILE *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    fprintf(out, "f%016" PRIx64, bits);
}

void dump_expr(FILE *out, const struct lang_expr *expr)
{
    switch (expr->kind) {
    case LANG_EXPR_NONE:
        fputs("None", out);
        return;
    case LANG_EXPR_TRUE:
        fputs("True", out);
        return;
    case LANG_EXPR_FALSE:
        fputs("False", out);
        return;
    case LANG_EXPR_ELLIPSIS:
        fputs("...", out);
        return;
    case LANG_EXPR_INT:
        fprintf(out, "%" PRId64, expr->u.int_value);
        return;
    case LANG_EXPR_FLOAT:
        dump_float(out, expr->u.float_value);
        return;
    case LANG_EXPR_STR:
        dump_str(out, expr->u.str);
        return;
    case LANG_EXPR_FSTRING:
        dump_fstring(out, expr);
        return;
    case LANG_EXPR_NAME:
        fputs(expr->u.name.name->text, out);
        return;
    case LANG_EXPR_ATTR:
        fputs("(. ", out);
        dump_expr(out, expr->u.attr.value);
        fprintf(out, " %s)", expr->u.attr.name->text);
        return;
    case LANG_EXPR_INDEX:
        fputs("([] ", out);
        dump_expr(out, expr->u.index.value);
        dump_maybe(out, expr->u.index.index);
        fputc(')', out);
        return;
    case LANG_EXPR_SLICE:
        fputs("(slice", out);
        dump_maybe(out, expr->u.slice.lower);
        dump_maybe(out, expr->u.slice.upper);
        dump_maybe(out, expr->u.slice.step);
        fputc(')', out);
        return;
    case LANG_EXPR_CALL:
        dump_call(out, expr);
        return;
    case LANG_EXPR_UNARY:
        fprintf(out, "(%s", lang_op_text(expr->u.unary.op));
        dump_maybe(out, expr->u.unary.operand);
        fputc(')', out);
        return;
    case LANG_EXPR_BINARY:
        dump_chain(out, expr->u.binary.first, expr->u.binary.steps, expr->u.binary.count);
        return;
    case LANG_EXPR_COMPARE:
        dump_compare(out, expr);
        return;
    case LANG_EXPR_AND:
        dump_list(out, "and", &expr->u.list);
        return;
    case LANG_EXPR_OR:
        dump_list(out, "or", &expr->u.list);
        return;
    case LANG_EXPR_COND:
        fputs("(if", out);
        dump_maybe(out, expr->u.cond.test);
        dump_maybe(out, expr->u.cond.then);
        dump_maybe(out, expr->u.cond.otherwise);
        fputc(')', out);
        return;
    case LANG_EXPR_LAMBDA:
        fputs("(lambda ", out);
        dump_params(out, expr->u.lambda);
        dump_maybe(out, expr->u.lambda->value);
        fputc(')', out);
        return;
    case LANG_EXPR_LIST:
        dump_list(out, "list", &expr->u.list);
        return;
    case LANG_EXPR_TUPLE:
        dump_list(out, "tuple", &expr->u.list);
        return;
    case LANG_EXPR_SET:
        dump_list(out, "set", &expr->u.list);
        return;
    case LANG_EXPR_DICT:
        dump_dict(out, expr);
        return;
    case LANG_EXPR_COMP:
        dump_comp(out, &expr->u.comp);
        return;
    case LANG_EXPR_STARRED:
        fputs("(*", out);
        dump_maybe(out, expr->u.starred);
        fputc(')', out);
        return;
    case LANG_EXPR_NAMED:
        fputs("(:=", out);
        dump_maybe(out, expr->u.named.target);
        dump_maybe(out, expr->u.named.value);
        fputc(')', out);
        return;
    }
}

/* ---- statements ---- */

static void dump_block(FILE *out, const struct lang_block *block, int depth);

static void line(FILE *out, int depth, uint32_t number, const char *word)
{
    fprintf(out, "%*s%" PRIu32 " %s", 2 * depth, "", number, word);
}

static void sub_block(FILE *out, const char *word, const struct lang_block *block, int depth)
{
    if (!block->count)
        return;
    fprintf(out, "%*s%s\n", 2 * depth, "", word);
    dump_block(out, block, depth + 1);
}

static void dump_doc(FILE *out, const struct lang_code *code, int depth)
{
    if (!code->doc)
        return;
    fprintf(out, "%*sdoc ", 2 * depth, "");
    dump_str(out, code->doc);
    fputc('\n', out);
}

static void dump_if(FILE *out, const struct lang_stmt *stmt, int depth)
{
    for (uint32_t i = 0; i < stmt->u.branch.count; i++) {
        const struct lang_clause *clause = &stmt->u.branch.clauses[i];

        if (i == 0)
            line(out, depth, stmt->span.line, "if");
        else
            fprintf(out, "%*selif", 2 * depth, "");
        dump_maybe(out, clause->test);
        fputc('\n', out);
        dump_block(out, &clause->body, depth + 1);
    }
    sub_block(out, "else", &stmt->u.branch.otherwise, depth);
}

static void dump_with(FILE *out, const struct lang_stmt *stmt, int depth)
{
    line(out, depth, stmt->span.line, "with");
    for (uint32_t i = 0; i < stmt->u.with.count; i++) {
        dump_maybe(out, stmt->u.with.items[i].context);
        if (stmt->u.with.items[i].target) {
            fputs(" as", out);
            dump_maybe(out, stmt->u.with.items[i].target);
        }
    }
    fputc('\n', out);
    dump_block(out, &stmt->u.with.body, depth + 1);
}

static void dump_decorators(FILE *out, const struct lang_exprs *decorators, int depth)
{
    for (uint32_t i = 0; i < decorators->count; i++) {
        fprintf(out, "%*s@ ", 2 * depth, "");
        dump_expr(out, decorators->items[i]);
        fputc('\n', out);
    }
}

static void dump_def(FILE *out, const struct lang_stmt *stmt, int depth)
{
    const struct lang_code *code = stmt->u.def.code;

    dump_decorators(out, &stmt->u.def.decorators, depth);
    line(out, depth, stmt->span.line, "def ");
    fprintf(out, "%s ", stmt->u.def.bind.name->text);
    dump_params(out, code);
    if (code->returns) {
        fputs(" ->", out);
        dump_maybe(out, code->returns);
    }
    fputc('\n', out);
    dump_doc(out, code, depth + 1);
    dump_block(out, &code->body, depth + 1);
}

static void dump_class(FILE *out, const struct lang_stmt *stmt, int depth)
{
    const struct lang_code *code = stmt->u.class_def.code;

    dump_decorators(out, &stmt->u.class_def.decorators, depth);
    line(out, depth, stmt->span.line, "class ");
    fputs(stmt->u.class_def.bind.name->text, out);
    if (stmt->u.class_def.base)
        dump_maybe(out, stmt->u.class_def.base);
    fputc('\n', out);
    dump_doc(out, code, depth + 1);
    dump_block(out, &code->body, depth + 1);
}

static void dump_import(FILE *out, const struct lang_stmt *stmt, int depth)
{
    line(out, depth, stmt->span.line, "import");
    if (stmt->u.import.module)
        fprintf(out, " from %s", stmt->u.import.module->text);
    for (uint32_t i = 0; i < stmt->u.import.count; i++) {
        const struct lang_import_name *name = &stmt->u.import.names[i];

        fprintf(out, " %s", name->path->text);
        if (name->is_as)
            fprintf(out, "=%s", name->bind.name->text);
    }
    fputc('\n', out);
}

static void dump_names(FILE *out, const struct lang_stmt *stmt, int depth)
{
    line(out, depth, stmt->span.line, stmt->kind == LANG_STMT_GLOBAL ? "global" : "nonlocal");
    for (uint32_t i = 0; i < stmt->u.names.count; i++)
        fprintf(out, " %s", stmt->u.names.names[i]->text);
    fputc('\n', out);
}

static void simple(FILE *out, const struct lang_stmt *stmt, int depth, const char *word,
                   const struct lang_expr *a, const struct lang_expr *b)
{
    line(out, depth, stmt->span.line, word);
    if (a)
        dump_maybe(out, a);
    if (b)
        dump_maybe(out, b);
    fputc('\n', out);
}

static void dump_targets(FILE *out, const struct lang_stmt *stmt, int depth, const char *word,
                         const struct lang_exprs *targets, const struct lang_expr *value)
{
    line(out, depth, stmt->span.line, word);
    for (uint32_t i = 0; i < targets->count; i++)
        dump_maybe(out, targets->items[i]);
    if (value)
        dump_maybe(out, value);
    fputc('\n', out);
}

static void dump_annotate(FILE *out, const struct lang_stmt *stmt, int depth)
{
    line(out, depth, stmt->span.line, stmt->u.annotate.is_simple ? "ann" : "ann()");
    dump_maybe(out, stmt->u.annotate.target);
    dump_maybe(out, stmt->u.annotate.annotation);
    dump_maybe(out, stmt->u.annotate.value);
    fputc('\n', out);
}

static void dump_augment(FILE *out, const struct lang_stmt *stmt, int depth)
{
    line(out, depth, stmt->span.line, lang_op_text(stmt->u.augment.op));
    fputc('=', out);
    dump_maybe(out, stmt->u.augment.target);
    dump_maybe(out, stmt->u.augment.value);
    fputc('\n', out);
}

static void dump_stmt(FILE *out, const struct lang_stmt *stmt, int depth)
{
    switch (stmt->kind) {
    case LANG_STMT_EXPR:
        simple(out, stmt, depth, "expr", stmt->u.expr, NULL);
        return;
    case LANG_STMT_ASSIGN:
        dump_targets(out, stmt, depth, "assign", &stmt->u.assign.targets, stmt->u.assign.value);
        return;
    case LANG_STMT_AUGMENT:
        dump_augment(out, stmt, depth);
        return;
    case LANG_STMT_ANNOTATE:
        dump_annotate(out, stmt, depth);
        return;
    case LANG_STMT_RETURN:
        simple(out, stmt, depth, "return", stmt->u.expr, NULL);
        return;
    case LANG_STMT_DEL:
        dump_targets(out, stmt, depth, "del", &stmt->u.targets, NULL);
        return;
    case LANG_STMT_IF:
        dump_if(out, stmt, depth);
        return;
    case LANG_STMT_FOR:
        simple(out, stmt, depth, "for", stmt->u.for_loop.target, stmt->u.for_loop.iter);
        dump_block(out, &stmt->u.for_loop.body, depth + 1);
        sub_block(out, "else", &stmt->u.for_loop.otherwise, depth);
        return;
    case LANG_STMT_WHILE:
        simple(out, stmt, depth, "while", stmt->u.while_loop.test, NULL);
        dump_block(out, &stmt->u.while_loop.body, depth + 1);
        sub_block(out, "else", &stmt->u.while_loop.otherwise, depth);
        return;
    case LANG_STMT_BREAK:
        simple(out, stmt, depth, "break", NULL, NULL);
        return;
    case LANG_STMT_CONTINUE:
        simple(out, stmt, depth, "continue", NULL, NULL);
        return;
    case LANG_STMT_PASS:
        simple(out, stmt, depth, "pass", NULL, NULL);
        return;
    case LANG_STMT_ASSERT:
        simple(out, stmt, depth, "assert", stmt->u.assertion.test, stmt->u.assertion.message);
        return;
    case LANG_STMT_RAISE:
        simple(out, stmt, depth, "raise", stmt->u.raise.value, stmt->u.raise.cause);
        return;
    case LANG_STMT_WITH:
        dump_with(out, stmt, depth);
        return;
    case LANG_STMT_DEF:
        dump_def(out, stmt, depth);
        return;
    case LANG_STMT_CLASS:
        dump_class(out, stmt, depth);
        return;
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
        dump_import(out, stmt, depth);
        return;
    case LANG_STMT_GLOBAL:
    case LANG_STMT_NONLOCAL:
        dump_names(out, stmt, depth);
        return;
    }
}

static void dump_block(FILE *out, const struct lang_block *block, int depth)
{
    for (uint32_t i = 0; i < block->count; i++)
        dump_stmt(out, block->stmts[i], depth);
}

void dump_tree(FILE *out, const struct lang_module *module)
{
    dump_doc(out, module->code, 0);
    dump_block(out, &module->code->body, 0);
}

/* ---- slots ---- */

void dump_codes(FILE *out, const struct lang_module *module)
{
    for (uint32_t i = 0; i < module->code_count; i++) {
        const struct lang_code *code = module->codes[i];
        bool is_function = code->kind != LANG_CODE_MODULE && code->kind != LANG_CODE_CLASS;

        fprintf(out, "%s:", code->qualname->text);
        for (uint32_t k = 0; is_function && k < code->local_count; k++)
            fprintf(out, " %s", code->slots[k].name->text);
        fputs(" |", out);
        for (uint32_t k = 0; k < code->slot_count; k++)
            if (code->slots[k].is_cell)
                fprintf(out, " %s", code->slots[k].name->text);
        fputs(" |", out);
        for (uint32_t k = 0; k < code->slot_count; k++)
            if (code->slots[k].is_free)
                fprintf(out, " %s", code->slots[k].name->text);
        fputc('\n', out);
    }
}
