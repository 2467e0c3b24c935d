/*
 * lang/torch/nn_module_tree.c - traversal of modules: children, parameters and buffers, with or without names.
 *
 * For:            lang/torch/nn_module.h.
 * Must not know:  which layers exist.
 * Invariant:      the order is PyTorch's: a module before its children, its own parameters before theirs, each object
 *                 once.
 */
#include <string.h>

#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/torch/nn_module.h"
#include "lang/value/hold.h"

/* ---- traversal ---- */

static const char *join_path(struct lang_vm *vm, const char *prefix, const char *name)
{
    char text[512];
    size_t len = strnlen(prefix, sizeof(text) - 1);
    size_t more = strlen(name);

    if (len == 0)
        return lang_intern(vm, name, more < sizeof(text) ? more : sizeof(text) - 1)->text;
    memcpy(text, prefix, len);
    text[len++] = '.';
    if (more > sizeof(text) - len)
        more = sizeof(text) - len;
    memcpy(text + len, name, more);
    return lang_intern(vm, text, len + more)->text;
}

static struct lang_value module_value(struct lang_module_instance *m)
{
    return (struct lang_value){.kind = LANG_INSTANCE, .as.instance = &m->base};
}

/* Adds v to `seen`; *fresh: it was not in it. */
static bool remember(struct lang_vm *vm, struct lang_dict *seen, struct lang_value v, bool *fresh)
{
    uint32_t before = seen->live;
    bool ok = lang_dict_store(vm, seen, v, lang_none());

    *fresh = seen->live > before;
    return ok;
}

static bool walk(struct lang_vm *vm, struct lang_module_instance *m, const char *path,
                 struct lang_dict *seen, lang_module_visit_fn *visit, void *user)
{
    struct lang_entry *e;
    uint32_t at = 0;
    bool fresh;

    if (!lang_check_depth(vm) || !remember(vm, seen, module_value(m), &fresh))
        return false;
    if (!fresh)
        return true;
    if (!visit(vm, user, m, path))
        return false;
    while (m->modules != NULL && (e = lang_dict_next(m->modules, &at)) != NULL) {
        struct lang_module_instance *child = lang_as_module(e->value);

        if (child != NULL &&
            !walk(vm, child, path ? join_path(vm, path, e->key.as.str->text) : NULL, seen, visit,
                  user))
            return false;
    }
    return true;
}

bool lang_module_walk(struct lang_vm *vm, struct lang_module_instance *m, const char *prefix,
                      lang_module_visit_fn *visit, void *user)
{
    struct lang_dict *seen = lang_dict_new(vm);
    bool ok = walk(vm, m, prefix, seen, visit, user);

    lang_drop_obj(vm, seen);
    return ok;
}

/* ---- parameters(), named_modules() and similar methods ---- */

enum part { PART_PARAMS, PART_BUFFERS, PART_MODULES, PART_CHILDREN };

/* The result of a traversal so far. `seen` prevents duplicates. */
struct gather {
    struct lang_list *list;
    struct lang_dict *seen;
    enum part part;
    bool named;
    bool keep_duplicates;
};

static void add_item(struct lang_vm *vm, const struct gather *g, const char *path,
                     struct lang_value v)
{
    struct lang_value item = lang_keep(v);

    if (g->named)
        item = lang_object(lang_tuple_pair(vm, lang_str(vm, path), item));
    lang_list_append(vm, g->list, item);
}

static bool gather_members(struct lang_vm *vm, struct gather *g, const struct lang_dict *dict,
                           const char *path)
{
    struct lang_entry *e;
    uint32_t at = 0;
    bool fresh = true;

    while (dict != NULL && (e = lang_dict_next(dict, &at)) != NULL) {
        if (e->value.kind == LANG_NONE)
            continue;
        if (!g->keep_duplicates && !remember(vm, g->seen, e->value, &fresh))
            return false;
        if (fresh)
            add_item(vm, g, g->named ? join_path(vm, path, e->key.as.str->text) : "", e->value);
    }
    return true;
}

static bool visit_gather(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                         const char *path)
{
    struct gather *g = user;

    switch (g->part) {
    case PART_PARAMS:
        return gather_members(vm, g, m->params, path);
    case PART_BUFFERS:
        return gather_members(vm, g, m->buffers, path);
    case PART_MODULES:
        add_item(vm, g, path, module_value(m));
        return true;
    case PART_CHILDREN:
        break;
    }
    return true;
}

/* All eight methods of this kind; the builtin's data says which part of a module it lists and whether with names. */
struct listing {
    enum part part;
    bool named;
};

static bool m_list(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct listing *what = call->builtin->data;
    const char *prefix = "";
    struct lang_module_instance *m;
    struct lang_value a[4];
    struct gather g;
    bool recurse;
    bool ok;

    if (!lang_module_self(vm, call, &m) || !LANG_ARGS(vm, call, call->builtin->name, 1, a, "self",
                                                      "*prefix", "recurse", "remove_duplicate"))
        return false;
    if (lang_is_bound(a[1]) && a[1].kind == LANG_STR)
        prefix = lang_intern_str(vm, a[1].as.str)->text;
    recurse = !lang_is_bound(a[2]) || a[2].as.i != 0;
    g = (struct gather){lang_list_new(vm, 0), lang_dict_new(vm), what->part, what->named,
                        lang_is_bound(a[3]) && a[3].as.i == 0};
    if (what->part == PART_CHILDREN)
        ok = gather_members(vm, &g, m->modules, prefix);
    else if (recurse)
        ok = lang_module_walk(vm, m, what->named ? prefix : NULL, visit_gather, &g);
    else
        ok = visit_gather(vm, &g, m, prefix);
    lang_drop_obj(vm, g.seen);
    if (!ok) {
        lang_drop_obj(vm, g.list);
        return false;
    }
    *out = lang_object(lang_iter_new(vm, LANG_ITER_LIST, lang_object(g.list)));
    return true;
}

/* ---- by name ---- */

static bool m_get_name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;

    if (!lang_module_self(vm, call, &m) || !lang_args_exact(vm, call, "_get_name", 1))
        return false;
    *out = lang_object(lang_intern_text(vm, lang_type_name(vm, call->args[0])));
    return true;
}

static bool m_get_submodule(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[2];
    const char *at;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, "get_submodule", 2, a, "self", "target"))
        return false;
    if (a[1].kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "get_submodule() takes a path, such as \"layer1.0\"");
    for (at = a[1].as.str->text; *at != '\0';) {
        size_t len = strcspn(at, ".");
        struct lang_value *child = lang_dict_find(m->modules, lang_intern(vm, at, len));
        const char *hint = NULL;

        m = child != NULL ? lang_as_module(*child) : NULL;
        if (m == NULL)
            return lang_fail_hint(vm, VS_E_NAME, hint, "there is no module `%s`",
                                  a[1].as.str->text);
        at += len + (at[len] == '.');
    }
    *out = lang_keep(module_value(m));
    return true;
}

/* state_dict(): from names to the module's tensors, which are not copied. */
static bool visit_state(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                        const char *path)
{
    const struct lang_dict *parts[2] = {m->params, m->buffers};
    struct lang_value *temporary =
        lang_dict_find(m->base.attrs, lang_name(vm, LANG_N_not_persistent));

    for (int i = 0; i < 2; i++) {
        struct lang_entry *e;
        uint32_t at = 0;

        while (parts[i] != NULL && (e = lang_dict_next(parts[i], &at)) != NULL) {
            struct eng_tensor *alias;

            if (e->value.kind != LANG_TENSOR ||
                (i == 1 && temporary != NULL &&
                 lang_dict_find(temporary->as.dict, e->key.as.str) != NULL))
                continue;
            alias = eng_alias(e->value.as.tensor);
            lang_dict_put(vm, user, lang_intern_text(vm, join_path(vm, path, e->key.as.str->text)),
                          lang_tensor(alias));
        }
    }
    return true;
}

static bool m_state_dict(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_dict *dict;

    if (!lang_module_self(vm, call, &m) || !lang_args_exact(vm, call, "state_dict", 1))
        return false;
    dict = lang_dict_new(vm);
    *out = lang_object(dict);
    if (lang_module_walk(vm, m, "", visit_state, dict))
        return true;
    lang_drop_obj(vm, dict);
    return false;
}

static bool visit_path(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                       const char *path)
{
    (void)user;
    lang_module_set_path(vm, m, path);
    return true;
}

/* torch._name_modules(model): sets the path of each module. */
static bool f_name_modules(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;

    if (!lang_module_self(vm, call, &m))
        return false;
    *out = lang_none();
    return lang_module_walk(vm, m, "", visit_path, NULL);
}

void lang_module_tree_register(struct lang_vm *vm, struct lang_class *cls)
{
    static const struct {
        const char *name;
        struct listing what;
    } lists[] = {
        {"parameters", {PART_PARAMS, false}}, {"named_parameters", {PART_PARAMS, true}},
        {"buffers", {PART_BUFFERS, false}},   {"named_buffers", {PART_BUFFERS, true}},
        {"modules", {PART_MODULES, false}},   {"named_modules", {PART_MODULES, true}},
        {"children", {PART_CHILDREN, false}}, {"named_children", {PART_CHILDREN, true}},
    };
    struct lang_value *torch = lang_dict_find(vm->spaces, lang_intern_text(vm, "torch"));

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        lang_module_method(vm, cls, lists[i].name, m_list, &lists[i].what);
    lang_module_method(vm, cls, "_get_name", m_get_name, NULL);
    lang_module_method(vm, cls, "get_submodule", m_get_submodule, NULL);
    lang_module_method(vm, cls, "state_dict", m_state_dict, NULL);
    lang_dict_put(vm, torch->as.space->names, lang_intern_text(vm, "_name_modules"),
                  lang_object(lang_builtin_new(vm, "torch._name_modules", f_name_modules, NULL)));
}
