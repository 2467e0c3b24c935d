/*
 * lang/interp/interp_def.c - def, class, import and raise statements.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  which modules and classes exist.
 * Invariant:      decorators are evaluated before anything else and stay on the stack until they are called, the last
 *                 one first.
 */
#include <stdio.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

/* ---- functions ---- */

static bool eval_defaults(struct lang_vm *vm, struct lang_frame *f, const struct lang_code *code,
                          struct lang_function *func)
{
    bool any = false;

    for (uint32_t i = 0; i < code->param_count; i++)
        any = any || code->params[i].default_value != NULL;
    if (!any)
        return true;
    func->defaults = vs_calloc(code->param_count, sizeof(func->defaults[0]));
    for (uint32_t i = 0; i < code->param_count; i++) {
        if (code->params[i].default_value == NULL)
            continue;
        if (!lang_eval(vm, f, code->params[i].default_value))
            return false;
        func->defaults[i] = lang_pop(vm);
    }
    return true;
}

bool lang_eval_function(struct lang_vm *vm, struct lang_frame *f, const struct lang_code *code)
{
    struct lang_function *func = lang_function_new(vm, lang_net_code(f->net, code));

    lang_push(vm, lang_object(func));
    if (!eval_defaults(vm, f, code, func))
        return false;
    if (code->free_count > 0) {
        func->cells = vs_calloc(code->free_count, sizeof(func->cells[0]));
        for (uint32_t i = 0; i < code->free_count; i++) {
            struct lang_value cell = f->slots[code->captures[i]];

            VS_ASSERT(cell.kind == LANG_CELL);
            func->cells[i] = lang_keep(cell).as.cell;
        }
    }
    return true;
}

/* [decorator…, object] becomes [decorated object]. */
static bool decorate(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *decorators)
{
    const struct lang_kwnames none = {0, NULL, NULL};

    for (uint32_t i = decorators->count; i-- > 0;) {
        lang_at(vm, f, decorators->items[i]);
        if (!lang_call_at(vm, vm->sp - 2, 1, &none))
            return false;
    }
    return true;
}

bool lang_exec_def(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_exprs *decorators = &s->u.def.decorators;

    for (uint32_t i = 0; i < decorators->count; i++) {
        if (!lang_eval(vm, f, decorators->items[i]))
            return false;
    }
    return lang_eval_function(vm, f, s->u.def.code) && decorate(vm, f, decorators) &&
           lang_bind(vm, f, &s->u.def.bind, lang_pop(vm));
}

/* ---- classes ---- */

/*
 * Runs the body with `names` as its names; *cell: the cell of `__class__` (a new reference), where a method needs it.
 */
static bool run_class_body(struct lang_vm *vm, struct lang_frame *f, const struct lang_code *code,
                           struct lang_dict *names, struct lang_cell **cell)
{
    const struct lang_rtcode *rt = lang_net_code(f->net, code);
    uint32_t first_free = code->slot_count - code->free_count;
    struct lang_value *slots = vm->sp;
    struct lang_frame body;
    bool ok;

    *cell = NULL;
    if (!lang_reserve(vm, code->slot_count))
        return false;
    for (uint32_t i = 0; i < code->slot_count; i++) {
        if (i >= first_free)
            lang_push(vm, lang_keep(f->slots[code->captures[i - first_free]]));
        else if (code->slots[i].is_cell)
            lang_push(vm, lang_object(lang_cell_new(vm, lang_unbound())));
        else
            lang_push(vm, lang_unbound());
    }
    if (!lang_frame_enter(vm, &body, rt, slots))
        return false;
    body.names = names;
    ok = lang_exec_block(vm, &body, &code->body) != LANG_FLOW_FAILED;
    if (ok && code->class_cell != LANG_NO_SLOT)
        *cell = lang_keep(slots[code->class_cell]).as.cell;
    lang_frame_leave(vm, &body, ok);
    return ok;
}

/* The base class on top of the stack; fails where it cannot be a base. None means no base. */
static bool check_base(struct lang_vm *vm, struct lang_value base)
{
    if (base.kind != LANG_CLASS)
        return lang_fail(vm, VS_E_TYPE, "a class can only be derived from a class, not from `%s`",
                         lang_type_name(vm, base));
    if (base.as.cls->instance_kind != LANG_INSTANCE)
        return lang_fail(vm, VS_E_UNSUPPORTED,
                         "a class derived from `%s` is not part of the net language",
                         base.as.cls->name->text);
    return true;
}

bool lang_exec_class(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    const struct lang_code *code = s->u.class_def.code;
    const struct lang_exprs *decorators = &s->u.class_def.decorators;
    struct lang_cell *cell;
    struct lang_class *cls;
    struct lang_dict *names;

    for (uint32_t i = 0; i < decorators->count; i++) {
        if (!lang_eval(vm, f, decorators->items[i]))
            return false;
    }
    if (s->u.class_def.base != NULL) {
        if (!lang_eval(vm, f, s->u.class_def.base))
            return false;
        f->at = s->u.class_def.base;
        if (!check_base(vm, vm->sp[-1]))
            return false;
    } else {
        vm->cls.object->head.refs++;
        lang_push(vm, lang_object(vm->cls.object));
    }
    names = lang_dict_new(vm);
    lang_push(vm, lang_object(names));
    if (code->doc != NULL)
        lang_dict_put(vm, names, lang_name(vm, LANG_N_doc),
                      lang_keep((struct lang_value){.kind = LANG_STR,
                                                    .as.str = f->net->names[code->doc->id]}));
    if (!run_class_body(vm, f, code, names, &cell))
        return false;
    cls = lang_class_new(vm, code->name->text, vm->sp[-2].as.cls);
    cls->qualname = lang_net_code(f->net, code)->qualname;
    lang_drop_obj(vm, cls->names);
    cls->names = lang_pop(vm).as.dict;
    lang_replace(vm, 1, lang_object(cls));
    if (cell != NULL) {
        lang_assign(vm, &cell->value, lang_keep(vm->sp[-1]));
        lang_drop_obj(vm, cell);
    }
    return decorate(vm, f, decorators) && lang_bind(vm, f, &s->u.class_def.bind, lang_pop(vm));
}

/* ---- imports ---- */

/* What to do about a module that articles import; NULL: nothing special. */
static const char *instead_of(const char *path, size_t len)
{
    static const char *const KNOWN[][2] = {
        {"apex", "write torch.amp instead, or use the toggle `amp`, which has opt_level O0 to O3"},
        {"numpy", "leave it out: torch.manual_seed() seeds all random numbers of a net"},
        {"random", "leave it out: torch.manual_seed() seeds all random numbers of a net"},
        {"os", "leave it out: what it sets, a toggle or an option of the command line sets"},
        {"time", "leave it out: a trace has the time of each event"},
        {"torch.distributed.fsdp",
         "FSDP is not modelled: `vramscope record -- python3 script.py` records it"},
        {"torch.distributed.optim", "leave it out and use the toggle `shard=zero1`, with `world`"},
        {"torch.distributed", "leave it out and use the toggle `shard`, with `world`"},
        {"torch.nn.parallel", "leave it out and use the toggle `shard=ddp`, with `world`"},
        {"fairscale", "leave it out and use the toggle `shard`: zero1 is its OSS, with `world`"},
        {"deepspeed", "leave it out and use the toggle `shard`: deepspeed-zero1, "
                      "deepspeed-zero2 and deepspeed-zero3, with `world`"},
        {"torchvision", "write the net file with sample_nets/tools/torch2net.py"},
        {"timm", "write the net file with sample_nets/tools/torch2net.py"},
        {"transformers", "write the net file with sample_nets/tools/torch2net.py"},
    };

    for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++) {
        size_t known = strlen(KNOWN[i][0]);

        if (known <= len && memcmp(KNOWN[i][0], path, known) == 0 &&
            (known == len || path[known] == '.'))
            return KNOWN[i][1];
    }
    return NULL;
}

static bool find_space(struct lang_vm *vm, const char *path, size_t len, struct lang_value *out)
{
    struct lang_value *v = lang_dict_find(vm->spaces, lang_intern(vm, path, len));
    const char *hint;

    if (v != NULL && (path[0] != '_' || (vm->frame != NULL && !vm->frame->is_user))) {
        *out = *v;
        return true;
    }
    hint = instead_of(path, len);
    if (hint == NULL)
        hint = lang_suggest(vm, vm->spaces, path);
    return lang_fail_hint(vm, VS_E_NOT_FOUND,
                          hint != NULL
                              ? hint
                              : "a net file imports torch and its modules, math, copy, "
                                "collections, functools and gc; see docs/guide/net-language.md",
                          "there is no module `%.*s` here", (int)len, path);
}

/* `import a.b.c` binds a, `import a.b.c as x` binds a.b.c. */
static bool import_one(struct lang_vm *vm, struct lang_frame *f,
                       const struct lang_import_name *name)
{
    const struct lang_str *path = name->path;
    const char *dot = memchr(path->text, '.', path->len);
    struct lang_value space;

    if (!find_space(vm, path->text, path->len, &space))
        return false;
    if (!name->is_as && dot != NULL &&
        !find_space(vm, path->text, (size_t)(dot - path->text), &space))
        return false;
    return lang_bind(vm, f, &name->bind, lang_keep(space));
}

static bool import_from(struct lang_vm *vm, struct lang_frame *f, const struct lang_str *module,
                        const struct lang_import_name *name)
{
    struct lang_string *wanted = f->net->names[name->path->id];
    struct lang_value space;
    struct lang_value v;
    struct lang_value *sub;
    char path[256];

    if (!find_space(vm, module->text, module->len, &space) || !lang_findattr(vm, space, wanted, &v))
        return false;
    if (lang_is_bound(v))
        return lang_bind(vm, f, &name->bind, v);
    (void)snprintf(path, sizeof(path), "%s.%s", module->text, wanted->text);
    sub = lang_dict_find(vm->spaces, lang_intern_text(vm, path));
    if (sub != NULL)
        return lang_bind(vm, f, &name->bind, lang_keep(*sub));
    return lang_getattr(vm, space, wanted, &v); /* fails, with a suggestion */
}

bool lang_exec_import(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    for (uint32_t i = 0; i < s->u.import.count; i++) {
        const struct lang_import_name *name = &s->u.import.names[i];
        bool ok = s->kind == LANG_STMT_IMPORT ? import_one(vm, f, name)
                                              : import_from(vm, f, s->u.import.module, name);

        if (!ok)
            return false;
    }
    return true;
}

/* ---- raise ---- */

/* The status for a class of exceptions. */
static enum vs_status status_of(const char *name)
{
    static const struct {
        const char *name;
        enum vs_status status;
    } table[] = {
        {"ValueError", VS_E_VALUE},
        {"IndexError", VS_E_VALUE},
        {"KeyError", VS_E_VALUE},
        {"TypeError", VS_E_TYPE},
        {"NameError", VS_E_NAME},
        {"AttributeError", VS_E_NAME},
        {"NotImplementedError", VS_E_UNSUPPORTED},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].name, name) == 0)
            return table[i].status;
    }
    return VS_E_RAISED;
}

bool lang_exec_raise(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    struct lang_value v;
    struct lang_value text;
    const struct lang_class *cls;

    f->at = NULL;
    if (s->u.raise.value == NULL)
        return lang_fail(vm, VS_E_RAISED,
                         "`raise` needs something to raise: no error is being handled here");
    if (!lang_eval(vm, f, s->u.raise.value))
        return false;
    f->at = NULL;
    v = vm->sp[-1];
    if (v.kind == LANG_CLASS && (v.as.cls->class_flags & LANG_CLASS_EXCEPTION) != 0)
        return lang_fail(vm, status_of(v.as.cls->name->text), "%s", v.as.cls->name->text);
    if (v.kind != LANG_INSTANCE || (v.as.instance->cls->class_flags & LANG_CLASS_EXCEPTION) == 0)
        return lang_fail(vm, VS_E_TYPE, "only exceptions can be raised, not `%s`",
                         lang_type_name(vm, v));
    cls = v.as.instance->cls;
    if (!lang_to_str(vm, v, &text))
        return false;
    if (text.as.str->len == 0)
        lang_fail(vm, status_of(cls->name->text), "%s", cls->name->text);
    else
        lang_fail(vm, status_of(cls->name->text), "%s: %s", cls->name->text, text.as.str->text);
    lang_drop(vm, text);
    return false;
}
