/*
 * lang/interp/interp_fstring.c - f-strings.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  how values are formatted (lang/interp/text.h).
 * Invariant:      a field's value is released as soon as its text exists.
 */
#include "lang/interp/interp.h"
#include "lang/interp/text.h"

static bool add_field(struct lang_vm *vm, struct lang_frame *f, const struct lang_fpart *part,
                      struct vs_text *text)
{
    const char *spec = "";
    struct lang_value v;
    bool ok;

    if (!lang_eval(vm, f, part->value))
        return false;
    if (part->conversion != 0) {
        f->at = part->value;
        ok = part->conversion == 's' ? lang_to_str(vm, vm->sp[-1], &v)
                                     : lang_to_repr(vm, vm->sp[-1], &v);
        if (!ok)
            return false;
        lang_replace(vm, 1, v);
    }
    if (part->spec != NULL) {
        if (!lang_eval(vm, f, part->spec))
            return false;
        spec = vm->sp[-1].as.str->text;
    }
    f->at = part->value;
    ok = lang_add_format(vm, text, part->spec != NULL ? vm->sp[-2] : vm->sp[-1], spec);
    if (!ok)
        return false;
    if (part->spec != NULL)
        lang_drop(vm, lang_pop(vm));
    lang_drop(vm, lang_pop(vm));
    return true;
}

bool lang_eval_fstring(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct vs_text text = {NULL, 0, 0};
    bool ok = true;

    for (uint32_t i = 0; i < e->u.fstring.count && ok; i++) {
        const struct lang_fpart *part = &e->u.fstring.parts[i];

        if (part->value == NULL)
            vs_text_add_n(&text, part->text->text, part->text->len);
        else
            ok = add_field(vm, f, part, &text);
    }
    if (ok)
        lang_push(vm, lang_object(lang_str_new(vm, vs_text_get(&text), text.len)));
    vs_text_release(&text);
    return ok;
}
