/*
 * tests/lang/syntax/test_resolve.c - slots, cells and captures compared with CPython 3.12, and the variable that each
 * use of a name refers to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lang/syntax/parser.h"
#include "tests/lang/case_file.h"
#include "tests/lang/dump.h"

#define GOLDEN "tests/golden/lang/"

struct parsed {
    struct vs_arena *arena;
    struct lang_module *module;
};

static void parse(struct parsed *x, const char *text)
{
    struct vs_error err = VS_ERROR_INIT;

    x->arena = vs_arena_new();
    if (lang_parse("net.py", text, strlen(text), x->arena, &x->module, &err))
        fail_msg("%s", err.text);
}

static void unparse(struct parsed *x)
{
    vs_arena_free(x->arena);
}

static const struct lang_code *code_of(const struct parsed *x, const char *qualname)
{
    for (uint32_t i = 0; i < x->module->code_count; i++)
        if (strcmp(x->module->codes[i]->qualname->text, qualname) == 0)
            return x->module->codes[i];
    fail_msg("no code %s", qualname);
    return NULL;
}

static void assert_ref(const struct lang_ref *ref, enum lang_scope scope, uint32_t slot)
{
    if (ref->scope != scope || ref->slot != slot)
        fail_msg("%s is in scope %d, slot %u; expected %d, %u", ref->name->text, (int)ref->scope,
                 ref->slot, (int)scope, slot);
}

/* ---- against CPython ---- */

static void slots_are_those_of_cpython(void **state)
{
    size_t want_len;
    char *want = case_file_read(GOLDEN "varnames.txt", &want_len);
    char *source;
    size_t len;
    char *got = NULL;
    size_t got_len = 0;
    FILE *out = open_memstream(&got, &got_len);
    struct parsed x;
    const char *w = want;
    const char *g;

    (void)state;
    source = case_file_read(GOLDEN "scopes.py", &len);
    parse(&x, source);
    (void)fprintf(out, "== scopes.py\n");
    dump_codes(out, x.module);
    (void)fclose(out);
    for (g = got; *w || *g;) {
        size_t w_len = strcspn(w, "\n");
        size_t g_len = strcspn(g, "\n");

        if (w_len != g_len || memcmp(w, g, w_len) != 0)
            fail_msg("CPython: %.*s\nhere:    %.*s", (int)w_len, w, (int)g_len, g);
        w += w_len + (w[w_len] == '\n');
        g += g_len + (g[g_len] == '\n');
    }
    assert_int_equal(want_len, got_len);
    free(source);
    free(want);
    free(got);
    unparse(&x);
}

/* ---- uses ---- */

static void module_level_names_are_global(void **state)
{
    struct parsed x;

    (void)state;
    parse(&x, "a = 1\nimport b.c\ndef f(): return a\n");
    assert_ref(&x.module->code->body.stmts[0]->u.assign.targets.items[0]->u.name, LANG_SCOPE_GLOBAL,
               0);
    assert_ref(&x.module->code->body.stmts[1]->u.import.names[0].bind, LANG_SCOPE_GLOBAL, 0);
    assert_string_equal(x.module->code->body.stmts[1]->u.import.names[0].bind.name->text, "b");
    assert_ref(&x.module->code->body.stmts[2]->u.def.bind, LANG_SCOPE_GLOBAL, 0);
    assert_ref(&code_of(&x, "f")->body.stmts[0]->u.expr->u.name, LANG_SCOPE_GLOBAL, 0);
    assert_int_equal(x.module->code->slot_count, 0);
    unparse(&x);
}

static void locals_and_parameters_point_to_their_slots(void **state)
{
    struct parsed x;
    const struct lang_code *f;

    (void)state;
    parse(&x, "def f(a, *args, b, **kw):\n    c = a\n    return print\n");
    f = code_of(&x, "f");
    assert_int_equal(f->slot_count, 5);
    assert_string_equal(f->params[1].name->text, "b");
    assert_string_equal(f->params[2].name->text, "args");
    assert_string_equal(f->params[3].name->text, "kw");
    assert_true(f->has_args && f->has_kwargs);
    assert_int_equal(f->positional_count, 1);
    assert_int_equal(f->keyword_only_count, 1);
    assert_ref(&f->body.stmts[0]->u.assign.targets.items[0]->u.name, LANG_SCOPE_LOCAL, 4);
    assert_ref(&f->body.stmts[0]->u.assign.value->u.name, LANG_SCOPE_LOCAL, 0);
    assert_ref(&f->body.stmts[1]->u.expr->u.name, LANG_SCOPE_GLOBAL, 0);
    assert_false(f->makes_cells);
    unparse(&x);
}

static void a_captured_variable_is_a_cell_in_both_functions(void **state)
{
    struct parsed x;
    const struct lang_code *f;
    const struct lang_code *g;
    const struct lang_code *h;

    (void)state;
    /* f: slot 0 x (parameter and cell), 1 g (local), 2 y (cell). g: 0 h, 1 x and 2 y (captured). h: 0 x, 1 y. */
    parse(&x, "def f(x):\n"
              "    y = x\n"
              "    def g():\n"
              "        def h():\n"
              "            return y, x\n"
              "        return h\n"
              "    return g\n");
    f = code_of(&x, "f");
    g = code_of(&x, "f.<locals>.g");
    h = code_of(&x, "f.<locals>.g.<locals>.h");
    assert_int_equal(f->local_count, 2);
    assert_int_equal(f->cell_count, 1);
    assert_true(f->makes_cells);
    assert_true(f->slots[0].is_cell && !f->slots[1].is_cell && f->slots[2].is_cell);
    assert_ref(&f->body.stmts[0]->u.assign.targets.items[0]->u.name, LANG_SCOPE_CELL, 2);
    assert_ref(&f->body.stmts[0]->u.assign.value->u.name, LANG_SCOPE_CELL, 0);
    assert_int_equal(g->free_count, 2);
    assert_int_equal(g->captures[0], 0);
    assert_int_equal(g->captures[1], 2);
    assert_false(g->makes_cells);
    assert_int_equal(h->captures[0], 1);
    assert_int_equal(h->captures[1], 2);
    assert_ref(&h->body.stmts[0]->u.expr->u.list.items[0]->u.name, LANG_SCOPE_CELL, 1);
    assert_ref(&h->body.stmts[0]->u.expr->u.list.items[1]->u.name, LANG_SCOPE_CELL, 0);
    assert_ptr_equal(h->parent, g);
    unparse(&x);
}

static void names_of_a_class_body_are_looked_up_in_its_dict(void **state)
{
    struct parsed x;
    const struct lang_code *c;

    (void)state;
    parse(&x, "def f(a, b):\n"
              "    class C:\n"
              "        a = b\n"
              "        c = (a, print)\n"
              "        def m(self): return a\n"
              "    return C\n");
    c = code_of(&x, "f.<locals>.C");
    assert_ref(&c->body.stmts[0]->u.assign.targets.items[0]->u.name, LANG_SCOPE_CLASS, 0);
    assert_ref(&c->body.stmts[0]->u.assign.value->u.name, LANG_SCOPE_CLASS_CELL, 1);
    assert_ref(&c->body.stmts[1]->u.assign.value->u.list.items[0]->u.name, LANG_SCOPE_CLASS, 0);
    assert_ref(&c->body.stmts[1]->u.assign.value->u.list.items[1]->u.name, LANG_SCOPE_CLASS, 0);
    assert_int_equal(c->free_count, 2); /* a for the method, b for the body */
    assert_ref(&code_of(&x, "f.<locals>.C.m")->body.stmts[0]->u.expr->u.name, LANG_SCOPE_CELL, 1);
    assert_true(code_of(&x, "f.<locals>.C.m")->is_method_like);
    unparse(&x);
}

static void super_uses_the_class_cell(void **state)
{
    struct parsed x;
    const struct lang_code *c;
    const struct lang_code *with;
    const struct lang_code *without;

    (void)state;
    parse(&x, "class C:\n"
              "    def a(self, x): super().a(x)\n"
              "    def b(self): pass\n"
              "class D:\n"
              "    def b(self): pass\n");
    c = code_of(&x, "C");
    with = code_of(&x, "C.a");
    without = code_of(&x, "C.b");
    assert_int_equal(c->class_cell, 0);
    assert_true(c->slots[0].is_cell);
    assert_int_equal(with->class_cell, 2);
    assert_true(with->slots[2].is_free);
    assert_int_equal(with->captures[0], 0);
    assert_int_equal(without->class_cell, LANG_NO_SLOT);
    assert_int_equal(code_of(&x, "D")->class_cell, LANG_NO_SLOT);
    unparse(&x);
}

static void variables_of_a_comprehension_are_hidden_slots_of_the_frame(void **state)
{
    struct parsed x;
    const struct lang_code *f;
    const struct lang_comp *outer;
    const struct lang_comp *inner;

    (void)state;
    /* slots: x 0, a 1, b 2 */
    parse(&x, "def f(x):\n    x = [[a for b in a] for a in x]\n");
    f = code_of(&x, "f");
    outer = &f->body.stmts[0]->u.assign.value->u.comp;
    inner = &outer->elt->u.comp;
    assert_int_equal(f->slot_count, 3);
    assert_int_equal(outer->hidden_count, 2);
    assert_int_equal(outer->hidden[0].slot, 1);
    assert_int_equal(outer->hidden[1].slot, 2);
    assert_false(outer->hidden[0].make_cell);
    assert_int_equal(inner->hidden_count, 1);
    assert_int_equal(inner->hidden[0].slot, 2);
    assert_ref(&outer->fors[0].iter->u.name, LANG_SCOPE_LOCAL, 0);
    assert_ref(&outer->fors[0].target->u.name, LANG_SCOPE_LOCAL, 1);
    assert_ref(&inner->fors[0].iter->u.name, LANG_SCOPE_LOCAL, 1);
    assert_null(outer->code);
    unparse(&x);
}

static void a_comprehension_variable_may_shadow_a_local(void **state)
{
    struct parsed x;
    const struct lang_code *f;
    const struct lang_comp *comp;

    (void)state;
    parse(&x, "def f(x):\n    y = [x for x in x]\n    return x, y\n");
    f = code_of(&x, "f");
    comp = &f->body.stmts[0]->u.assign.value->u.comp;
    assert_int_equal(f->slot_count, 2);
    assert_int_equal(comp->hidden[0].slot, 0);
    assert_ref(&comp->elt->u.name, LANG_SCOPE_LOCAL, 0);
    unparse(&x);
}

static void a_captured_comprehension_variable_gets_a_new_cell_per_iteration(void **state)
{
    struct parsed x;
    const struct lang_code *f;
    const struct lang_comp *comp;

    (void)state;
    parse(&x, "def f(x):\n    return [lambda: a for a in x]\n");
    f = code_of(&x, "f");
    comp = &f->body.stmts[0]->u.expr->u.comp;
    assert_int_equal(f->local_count, 2);
    assert_true(f->slots[1].is_cell);
    assert_true(comp->hidden[0].make_cell);
    assert_ref(&comp->fors[0].target->u.name, LANG_SCOPE_CELL, 1);
    assert_int_equal(code_of(&x, "f.<locals>.<lambda>")->captures[0], 1);
    unparse(&x);
}

/* In CPython 3.12.1 this reads the emptied slot of the first comprehension; the language says that x is the global. */
static void comprehension_variables_are_not_visible_to_the_next_comprehension(void **state)
{
    struct parsed x;
    const struct lang_code *f;

    (void)state;
    parse(&x, "def f(y):\n    a = [x for x in y]\n    b = [x for _ in y]\n");
    f = code_of(&x, "f");
    assert_ref(&f->body.stmts[0]->u.assign.value->u.comp.elt->u.name, LANG_SCOPE_LOCAL, 1);
    assert_ref(&f->body.stmts[1]->u.assign.value->u.comp.elt->u.name, LANG_SCOPE_GLOBAL, 0);
    unparse(&x);
    parse(&x, "def g():\n"
              "    x = 1\n"
              "    def f(y):\n"
              "        a = [x for x in y]\n"
              "        return lambda: x\n"
              "    return f\n");
    f = code_of(&x, "g.<locals>.f");
    assert_int_equal(f->free_count, 1);
    assert_int_equal(code_of(&x, "g.<locals>.f.<locals>.<lambda>")->captures[0], f->slot_count - 1);
    unparse(&x);
}

static void a_generator_expression_has_its_own_code_object(void **state)
{
    struct parsed x;
    const struct lang_code *f;
    const struct lang_comp *comp;

    (void)state;
    parse(&x, "def f(x, k):\n    return sum(a * k for a in x)\n");
    f = code_of(&x, "f");
    comp = &f->body.stmts[0]->u.expr->u.call.args.items[0]->u.comp;
    assert_ptr_equal(comp->code, code_of(&x, "f.<locals>.<genexpr>"));
    assert_int_equal(comp->hidden_count, 0);
    assert_string_equal(comp->code->slots[0].name->text, ".0");
    assert_ref(&comp->fors[0].iter->u.name, LANG_SCOPE_LOCAL, 0); /* evaluated in f */
    assert_ref(&comp->fors[0].target->u.name, LANG_SCOPE_LOCAL, 1);
    assert_true(f->slots[1].is_cell);
    assert_int_equal(comp->code->captures[0], 1);
    unparse(&x);
}

static void comprehensions_in_a_class_body_do_not_see_its_names(void **state)
{
    struct parsed x;
    const struct lang_code *c;
    const struct lang_comp *comp;

    (void)state;
    parse(&x, "class C:\n    a = 1\n    b = [a + i for i in a]\n");
    c = code_of(&x, "C");
    comp = &c->body.stmts[1]->u.assign.value->u.comp;
    assert_ref(&comp->fors[0].iter->u.name, LANG_SCOPE_CLASS, 0);
    assert_ref(&comp->elt->u.binary.first->u.name, LANG_SCOPE_GLOBAL, 0);
    assert_ref(&comp->elt->u.binary.steps[0].operand->u.name, LANG_SCOPE_LOCAL, 0);
    assert_int_equal(c->slot_count, 1);
    unparse(&x);
}

static void global_and_nonlocal_bind_in_the_named_scope(void **state)
{
    struct parsed x;

    (void)state;
    parse(&x, "def f():\n"
              "    a = b = 1\n"
              "    def g():\n"
              "        global a\n"
              "        nonlocal b\n"
              "        a = 2\n"
              "        b = 2\n"
              "        def h(): return a\n"
              "    return g\n");
    assert_ref(&code_of(&x, "f.<locals>.g")->body.stmts[2]->u.assign.targets.items[0]->u.name,
               LANG_SCOPE_GLOBAL, 0);
    assert_ref(&code_of(&x, "f.<locals>.g")->body.stmts[3]->u.assign.targets.items[0]->u.name,
               LANG_SCOPE_CELL, 1);
    assert_ref(&code_of(&x, "f.<locals>.g.<locals>.h")->body.stmts[0]->u.expr->u.name,
               LANG_SCOPE_GLOBAL, 0);
    unparse(&x);
}

static void private_names_are_mangled_with_their_class(void **state)
{
    struct parsed x;
    const struct lang_stmt *assign;

    (void)state;
    parse(&x, "class _C:\n    def f(self, __a):\n        self.__b = __a + self.__c__ + f(__d=1)\n"
              "class __:\n    def g(self): return self.__x\n");
    assign = code_of(&x, "_C.f")->body.stmts[0];
    assert_string_equal(assign->u.assign.targets.items[0]->u.attr.name->text, "_C__b");
    assert_string_equal(code_of(&x, "_C.f")->params[1].name->text, "_C__a");
    assert_string_equal(assign->u.assign.value->u.binary.steps[0].operand->u.attr.name->text,
                        "__c__");
    assert_string_equal(
        assign->u.assign.value->u.binary.steps[1].operand->u.call.keywords[0].name->text, "__d");
    assert_string_equal(code_of(&x, "__.g")->body.stmts[0]->u.expr->u.attr.name->text, "__x");
    unparse(&x);
}

static void qualified_names_are_those_of_cpython(void **state)
{
    struct parsed x;

    (void)state;
    parse(&x, "class A:\n"
              "    class B:\n"
              "        def f(self):\n"
              "            return lambda: [lambda: 1 for x in y]\n"
              "def g():\n"
              "    global h\n"
              "    def h(): pass\n"
              "    class C:\n"
              "        def __m(self): pass\n"
              "f(lambda: 1)\n");
    (void)code_of(&x, "<module>");
    (void)code_of(&x, "A.B.f.<locals>.<lambda>.<locals>.<lambda>");
    (void)code_of(&x, "h");
    (void)code_of(&x, "g.<locals>.C.__m");
    (void)code_of(&x, "<lambda>");
    unparse(&x);
}

static void docstrings_are_not_part_of_the_code(void **state)
{
    struct parsed x;

    (void)state;
    parse(
        &x,
        "'module' ' doc'\ndef f():\n    'f'\ndef g():\n    f'no'\nclass C:\n    'c'\n    x = 1\n");
    assert_string_equal(x.module->code->doc->text, "module doc");
    assert_string_equal(code_of(&x, "f")->doc->text, "f");
    assert_int_equal(code_of(&x, "f")->body.count, 0);
    assert_null(code_of(&x, "g")->doc);
    assert_int_equal(code_of(&x, "g")->body.count, 1);
    assert_string_equal(code_of(&x, "C")->doc->text, "c");
    assert_int_equal(code_of(&x, "C")->body.count, 1);
    unparse(&x);
}

static void ids_of_strings_are_dense(void **state)
{
    struct parsed x;

    (void)state;
    parse(&x, "a = 'a'\nb = f'{a}c'\n");
    for (uint32_t i = 0; i < x.module->str_count; i++)
        assert_int_equal(x.module->strs[i]->id, i);
    assert_ptr_equal(x.module->code->body.stmts[0]->u.assign.value->u.str,
                     x.module->code->body.stmts[0]->u.assign.targets.items[0]->u.name.name);
    unparse(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_cpython),
        cmocka_unit_test(module_level_names_are_global),
        cmocka_unit_test(locals_and_parameters_point_to_their_slots),
        cmocka_unit_test(a_captured_variable_is_a_cell_in_both_functions),
        cmocka_unit_test(names_of_a_class_body_are_looked_up_in_its_dict),
        cmocka_unit_test(super_uses_the_class_cell),
        cmocka_unit_test(variables_of_a_comprehension_are_hidden_slots_of_the_frame),
        cmocka_unit_test(a_comprehension_variable_may_shadow_a_local),
        cmocka_unit_test(a_captured_comprehension_variable_gets_a_new_cell_per_iteration),
        cmocka_unit_test(comprehension_variables_are_not_visible_to_the_next_comprehension),
        cmocka_unit_test(a_generator_expression_has_its_own_code_object),
        cmocka_unit_test(comprehensions_in_a_class_body_do_not_see_its_names),
        cmocka_unit_test(global_and_nonlocal_bind_in_the_named_scope),
        cmocka_unit_test(private_names_are_mangled_with_their_class),
        cmocka_unit_test(qualified_names_are_those_of_cpython),
        cmocka_unit_test(docstrings_are_not_part_of_the_code),
        cmocka_unit_test(ids_of_strings_are_dense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
