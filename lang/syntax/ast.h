/*
 * lang/syntax/ast.h - the syntax tree of a net file, in which every name is resolved to a scope and slot.
 *
 * For:            the parser and the resolver fill it, the interpreter walks it.
 * Must not know:  values, tensors, the engine.
 * Invariant:      after lang_parse() the tree is constant. Everything in it is allocated in the arena given to
 *                 lang_parse() and lives as long as it. No tree is higher than LANG_MAX_HEIGHT, so a recursive walk is
 *                 safe.
 *
 * Lists are (pointer, count); the pointer of an empty list is NULL. A pointer that may be NULL says so.
 *
 * The order in which a frame releases its variables decides when tensors are freed, so slots have the order of CPython
 * 3.12's "fast locals", see struct lang_code. A frame releases its slots from index 0 upwards.
 */
#ifndef LANG_AST_H
#define LANG_AST_H

#include <stdbool.h>
#include <stdint.h>

struct lang_source; /* lang/syntax/diag.h */
struct lang_expr;
struct lang_stmt;
struct lang_code;

/*
 * Limits of an accepted file: nesting of brackets and operators, nesting of blocks, and height of an expression, which
 * is the number of nodes on the path to its deepest leaf. A chain `a + b + c` of any length is one node, a chain
 * `a.b.c` has one node per attribute.
 */
#define LANG_MAX_NESTING 200
#define LANG_MAX_BLOCKS 100
#define LANG_MAX_HEIGHT 500

/*
 * A piece of the text, for messages. Lines and columns count from 1, columns count characters (not bytes).
 * end_col is one past the last character; an empty span has end_col == col.
 */
struct lang_span {
    uint32_t line;
    uint32_t col;
    uint32_t end_line;
    uint32_t end_col;
};

/*
 * A string of the file: a name or the value of a literal. Interned: two equal strings of one module are one object, so
 * names may be compared by pointer.
 *
 * id    0 .. module->str_count - 1, dense, so that it can index an array
 * text  UTF-8, `len` bytes, then a NUL; a literal may also hold NULs before that
 */
struct lang_str {
    const char *text;
    uint32_t len;
    uint32_t id;
    uint32_t hash;
};

/*
 * Where a name lives.
 *
 * LOCAL      frame->slots[slot] holds the value (or nothing: the name is unbound)
 * CELL       frame->slots[slot] holds a cell, the cell holds the value: a variable shared with a nested function,
 *            whether this code owns it or has captured it
 * GLOBAL     the module's names, then (reading only) the built-ins. All module level names are this.
 * CLASS      in the body of a class: the class's names, then (reading only) the module's, then the built-ins
 * CLASS_CELL in the body of a class, only read: the class's names, then the cell in frame->slots[slot]
 */
enum lang_scope {
    LANG_SCOPE_LOCAL,
    LANG_SCOPE_CELL,
    LANG_SCOPE_GLOBAL,
    LANG_SCOPE_CLASS,
    LANG_SCOPE_CLASS_CELL,
};

/*
 * A use of a name, read or bound.
 *
 * name  as it is stored: inside a class, `__x` is already `_Class__x` (attributes, too)
 * slot  index into the frame's slots; 0 where the scope has none
 */
struct lang_ref {
    const struct lang_str *name;
    enum lang_scope scope;
    uint32_t slot;
};

/* ---- expressions ---- */

enum lang_expr_kind {
    LANG_EXPR_NONE,
    LANG_EXPR_TRUE,
    LANG_EXPR_FALSE,
    LANG_EXPR_ELLIPSIS, /* ... */
    LANG_EXPR_INT,      /* u.int_value */
    LANG_EXPR_FLOAT,    /* u.float_value */
    LANG_EXPR_STR,      /* u.str; adjacent literals are joined */
    LANG_EXPR_FSTRING,  /* u.fstring */
    LANG_EXPR_NAME,     /* u.name */
    LANG_EXPR_ATTR,     /* u.attr: value.name */
    LANG_EXPR_INDEX,    /* u.index: value[index] */
    LANG_EXPR_SLICE, /* u.slice: only as the index of an INDEX, or an item of the TUPLE that is one */
    LANG_EXPR_CALL,    /* u.call */
    LANG_EXPR_UNARY,   /* u.unary: - + ~ not */
    LANG_EXPR_BINARY,  /* u.binary: a chain of operators of one precedence, from left to right */
    LANG_EXPR_COMPARE, /* u.compare: a chain of comparisons */
    LANG_EXPR_AND,     /* u.list: two or more operands */
    LANG_EXPR_OR,      /* u.list */
    LANG_EXPR_COND,    /* u.cond: then if test else otherwise */
    LANG_EXPR_LAMBDA,  /* u.lambda */
    LANG_EXPR_LIST,    /* u.list; items may be STARRED */
    LANG_EXPR_TUPLE,   /* u.list; items may be STARRED */
    LANG_EXPR_SET,     /* u.list; items may be STARRED; never empty */
    LANG_EXPR_DICT,    /* u.dict */
    LANG_EXPR_COMP,    /* u.comp: list and dict comprehension, generator expression */
    LANG_EXPR_STARRED, /* u.starred: *value in a call, a display or a target */
    LANG_EXPR_NAMED,   /* u.named: (name := value) */
};

enum lang_op {
    /* unary */
    LANG_OP_NEG,
    LANG_OP_POS,
    LANG_OP_INVERT,
    LANG_OP_NOT,
    /* binary, augmented */
    LANG_OP_ADD,
    LANG_OP_SUB,
    LANG_OP_MUL,
    LANG_OP_DIV,
    LANG_OP_FLOORDIV,
    LANG_OP_MOD,
    LANG_OP_POW,
    LANG_OP_MATMUL,
    LANG_OP_LSHIFT,
    LANG_OP_RSHIFT,
    LANG_OP_AND,
    LANG_OP_XOR,
    LANG_OP_OR,
    /* comparison */
    LANG_OP_LT,
    LANG_OP_LE,
    LANG_OP_GT,
    LANG_OP_GE,
    LANG_OP_EQ,
    LANG_OP_NE,
    LANG_OP_IN,
    LANG_OP_NOT_IN,
    LANG_OP_IS,
    LANG_OP_IS_NOT,
};

/* As written: "+", "//", "not in", "is not". */
const char *lang_op_text(enum lang_op op);

struct lang_exprs {
    struct lang_expr **items;
    uint32_t count;
};

/* One step of a chain: result = result op operand. `at` is the span of the operator. */
struct lang_step {
    enum lang_op op;
    struct lang_expr *operand;
    struct lang_span at;
};

struct lang_keyword {
    const struct lang_str *name; /* NULL: **value */
    struct lang_expr *value;
    struct lang_span span;
};

/*
 * One part of an f-string.
 *
 * text        LITERAL part: the text, value is NULL; else NULL
 * value       the expression of a replacement field
 * conversion  0, 'r', 's' or 'a'
 * spec        after the colon: an FSTRING or STR; NULL where there is none
 *
 * The form f"{x=}" arrives as the literal "x=" and the field x with conversion 'r' (unless it says otherwise).
 */
struct lang_fpart {
    const struct lang_str *text;
    struct lang_expr *value;
    char conversion;
    struct lang_expr *spec;
};

struct lang_dict_item {
    struct lang_expr *key; /* NULL: **value */
    struct lang_expr *value;
};

enum lang_comp_kind {
    LANG_COMP_LIST,
    LANG_COMP_DICT,
    LANG_COMP_GENERATOR,
};

/* `for target in iter if cond if cond` */
struct lang_comp_for {
    struct lang_expr *target;
    struct lang_expr *iter;
    struct lang_exprs conds;
};

/* A variable of a comprehension that runs in the enclosing frame. */
struct lang_hidden {
    uint32_t slot;
    /* a nested function captures it: put a new, empty cell into the slot after clearing it */
    bool make_cell;
};

/*
 * Comprehensions.
 *
 * LIST, DICT: run in the enclosing frame, as in CPython 3.12. To run one, evaluate the first clause's iterable; for
 * each slot of `hidden` in order, save its content (a value, a cell or nothing) and clear it; run the loops; restore
 * the saved contents, last one first, which releases the values that the comprehension left there. Names inside the
 * comprehension refer to these slots. Some hidden slots may stay empty: variables of nested comprehensions, and global
 * names bound by a walrus.
 *
 * GENERATOR: runs in a separate frame with code `code`, whose slot 0 (named ".0") is the iterator of the first clause.
 * The first iterable is evaluated in the enclosing frame, everything else inside. `hidden` is empty. The parser
 * accepts it only as an argument of a call, possibly starred.
 */
struct lang_comp {
    enum lang_comp_kind kind;
    struct lang_expr *elt;   /* DICT: the key */
    struct lang_expr *value; /* DICT: the value; else NULL */
    struct lang_comp_for *fors;
    uint32_t for_count; /* at least 1 */
    struct lang_hidden *hidden;
    uint32_t hidden_count;
    struct lang_code *code; /* GENERATOR; else NULL */
};

struct lang_expr {
    enum lang_expr_kind kind;
    uint16_t height; /* 1 for a leaf */
    struct lang_span span;
    union {
        int64_t int_value;
        double float_value;
        const struct lang_str *str;
        struct lang_ref name;
        struct lang_exprs list;
        struct {
            struct lang_fpart *parts;
            uint32_t count;
        } fstring;
        struct {
            struct lang_expr *value;
            const struct lang_str *name;
            struct lang_span at; /* the name alone */
        } attr;
        struct {
            struct lang_expr *value;
            struct lang_expr *index; /* `x[a, b]` has a TUPLE, `x[1:2]` a SLICE */
        } index;
        struct {
            struct lang_expr *lower; /* each NULL where left out */
            struct lang_expr *upper;
            struct lang_expr *step;
        } slice;
        struct {
            struct lang_expr *func;
            struct lang_exprs args; /* may be STARRED */
            struct lang_keyword *keywords;
            uint32_t keyword_count; /* evaluated after all of `args`, wherever they stand */
        } call;
        struct {
            enum lang_op op;
            struct lang_expr *operand;
        } unary;
        struct { /* acc = first; for each step: acc = acc op operand */
            struct lang_expr *first;
            struct lang_step *steps;
            uint32_t count; /* at least 1; `**` always has exactly 1 */
        } binary;
        struct
        { /* first op0 x0 and x0 op1 x1 and …, each operand evaluated once, stopping at the first false */
            struct lang_expr *first;
            struct lang_step *steps;
            uint32_t count; /* at least 1 */
        } compare;
        struct {
            struct lang_expr *test;
            struct lang_expr *then;
            struct lang_expr *otherwise;
        } cond;
        struct lang_code *lambda; /* its body is lambda->value */
        struct {
            struct lang_dict_item *items;
            uint32_t count;
        } dict;
        struct lang_comp comp;
        struct lang_expr *starred;
        struct {
            struct lang_expr *target; /* a NAME */
            struct lang_expr *value;
        } named;
    } u;
};

/* ---- statements ---- */

enum lang_stmt_kind {
    LANG_STMT_EXPR,     /* u.expr */
    LANG_STMT_ASSIGN,   /* u.assign: value, then the targets from left to right */
    LANG_STMT_AUGMENT,  /* u.augment: target op= value */
    LANG_STMT_ANNOTATE, /* u.annotate: target: annotation [= value] */
    LANG_STMT_RETURN,   /* u.expr, NULL for a bare return */
    LANG_STMT_DEL,      /* u.targets */
    LANG_STMT_IF,       /* u.branch */
    LANG_STMT_FOR,      /* u.for_loop */
    LANG_STMT_WHILE,    /* u.while_loop */
    LANG_STMT_BREAK,
    LANG_STMT_CONTINUE,
    LANG_STMT_PASS,
    LANG_STMT_ASSERT,      /* u.assertion */
    LANG_STMT_RAISE,       /* u.raise */
    LANG_STMT_WITH,        /* u.with */
    LANG_STMT_DEF,         /* u.def */
    LANG_STMT_CLASS,       /* u.class_def */
    LANG_STMT_IMPORT,      /* u.import: import a.b [as x] */
    LANG_STMT_IMPORT_FROM, /* u.import: from a.b import x [as y] */
    LANG_STMT_GLOBAL,      /* u.names; nothing to do when it runs */
    LANG_STMT_NONLOCAL,    /* u.names; nothing to do when it runs */
};

/*
 * A target (of an assignment, a for, a with, a del) is an expression: NAME, ATTR, INDEX, or a TUPLE or LIST of targets,
 * of which one may be STARRED (not in a del).
 */

struct lang_block {
    struct lang_stmt **stmts;
    uint32_t count;
};

/* `if test:` or `elif test:` */
struct lang_clause {
    struct lang_expr *test;
    struct lang_block body;
};

struct lang_with_item {
    struct lang_expr *context;
    struct lang_expr *target; /* NULL: no `as` */
};

/*
 * One name of an import.
 *
 * path  import: "torch.nn.functional"; from: the name in the module
 * bind  the name that gets it. `import a.b` without `as` binds "a" (the top module), with `as` the last one (is_as).
 */
struct lang_import_name {
    const struct lang_str *path;
    struct lang_ref bind;
    bool is_as;
    struct lang_span span;
};

struct lang_stmt {
    enum lang_stmt_kind kind;
    /* compound statements: the whole, first line to the end of the body (decorators not included) */
    struct lang_span span;
    union {
        struct lang_expr *expr;
        struct {
            struct lang_exprs targets; /* a = b = value has two */
            struct lang_expr *value;
        } assign;
        struct {
            struct lang_expr *target; /* NAME, ATTR or INDEX */
            enum lang_op op;
            struct lang_expr *value;
            struct lang_span at; /* the operator */
        } augment;
        struct {
            struct lang_expr *target;
            /* never evaluated; kept because names in it may become cells */
            struct lang_expr *annotation;
            struct lang_expr *value; /* NULL: nothing happens */
            bool is_simple;          /* a bare NAME, not in parentheses */
        } annotate;
        struct lang_exprs targets;
        struct {
            struct lang_clause *clauses; /* if, elif, elif, … */
            uint32_t count;
            struct lang_block otherwise;
        } branch;
        struct {
            struct lang_expr *target;
            struct lang_expr *iter;
            struct lang_block body;
            struct lang_block otherwise; /* when the loop ends without break */
        } for_loop;
        struct {
            struct lang_expr *test;
            struct lang_block body;
            struct lang_block otherwise;
        } while_loop;
        struct {
            struct lang_expr *test;
            struct lang_expr *message; /* NULL: none */
        } assertion;
        struct {
            struct lang_expr *value; /* NULL: a bare raise */
            struct lang_expr *cause; /* NULL: none */
        } raise;
        struct {
            struct lang_with_item *items;
            uint32_t count;
            struct lang_block body;
        } with;
        struct {
            /* evaluated first to last, before the defaults; applied last to first */
            struct lang_exprs decorators;
            struct lang_code *code;
            struct lang_ref bind;
            struct lang_span at; /* the name */
        } def;
        struct {
            struct lang_exprs decorators;
            struct lang_expr *base; /* NULL: none */
            struct lang_code *code; /* the body, run once with an empty dict of names */
            struct lang_ref bind;
            struct lang_span at;
        } class_def;
        struct {
            const struct lang_str *module; /* from: "torch.nn"; import: NULL */
            struct lang_import_name *names;
            uint32_t count;
        } import;
        struct {
            const struct lang_str **names;
            uint32_t count;
        } names;
    } u;
};

/* ---- code objects: what runs in a separate frame ---- */

enum lang_code_kind {
    LANG_CODE_MODULE,
    LANG_CODE_CLASS,
    LANG_CODE_DEF,
    LANG_CODE_LAMBDA,
    LANG_CODE_GENERATOR,
};

enum lang_param_kind {
    LANG_PARAM_POSITIONAL_ONLY, /* before `/` */
    LANG_PARAM_POSITIONAL,
    LANG_PARAM_KEYWORD_ONLY, /* after `*` or `*args` */
    LANG_PARAM_ARGS,         /* *args */
    LANG_PARAM_KWARGS,       /* **kwargs */
};

struct lang_param {
    const struct lang_str *name;
    enum lang_param_kind kind;
    /* NULL: none; evaluated in the enclosing frame, positional ones before keyword-only ones */
    struct lang_expr *default_value;
    struct lang_expr *annotation; /* NULL: none; never evaluated */
    struct lang_span span;
};

/* One slot of a frame. */
struct lang_slot {
    const struct lang_str *name;
    /* own cell: entering the frame stores a new cell here (with the argument as its value for a parameter) */
    bool is_cell;
    bool is_free; /* filled with the cell that was captured when the function was made */
};

/*
 * The code object of a function, lambda, class body, generator expression or module.
 *
 * params   in the order of their slots, which is CPython's co_varnames: positional-only and positional, then
 *          keyword-only, then *args, then **kwargs. params[i] lives in slot i.
 * slots    slot_count of them, in CPython's order of localsplus, the order in which a frame releases them:
 *            local_count locals: co_varnames, that is parameters, then locals in the order in which the compiler visits
 *            them (the value before the target). A parameter that is a cell is among them (is_cell), and so is the
 *            variable of a comprehension that a nested function captures.
 *            cell_count other own cells, by name (is_cell)
 *            free_count captured cells, by name (is_free)
 *          The module and class bodies keep their names in dicts; their slots are only those of their comprehensions'
 *          variables, captured cells, and a class's `__class__`.
 * captures free_count entries: slot of the *enclosing* frame whose cell is stored in slot (slot_count - free_count + i)
 *          when the function is created
 * class_cell  slot of the cell `__class__`: in a method that uses super or __class__ a captured one (super() without
 *             arguments takes the class from it, and the object from slot 0, which may itself be a cell); in a class
 *             body the own cell in which the class is stored; LANG_NO_SLOT where there is none
 * makes_cells      some own slot is a cell, so entering the frame creates cells
 * is_method_like   the enclosing code is a class body
 */
#define LANG_NO_SLOT UINT32_MAX

struct lang_code {
    enum lang_code_kind kind;
    const struct lang_str *name;     /* "forward", "<lambda>", "<genexpr>", "<module>" */
    const struct lang_str *qualname; /* "Net.forward", "f.<locals>.g", "f.<locals>.<lambda>" */
    const struct lang_str *doc;      /* docstring, NULL: none. It is not part of the body. */
    struct lang_span span;
    struct lang_code *parent; /* the enclosing code; NULL for the module */

    struct lang_param *params;
    uint32_t param_count;
    uint32_t positional_only_count;
    uint32_t positional_count; /* with the positional-only ones */
    uint32_t keyword_only_count;
    bool has_args;
    bool has_kwargs;
    struct lang_expr *returns; /* annotation after ->; NULL: none; never evaluated */

    struct lang_block body;  /* LAMBDA, GENERATOR: empty */
    struct lang_expr *value; /* LAMBDA: the expression; GENERATOR: the COMP node; else NULL */

    struct lang_slot *slots;
    uint32_t slot_count;
    uint32_t local_count;
    uint32_t cell_count;
    uint32_t free_count;
    uint32_t *captures;
    uint32_t class_cell;
    bool makes_cells;
    bool is_method_like;
};

/*
 * A file.
 *
 * strs   every string of the file by id
 * codes  every code of the file that can run, the module first, then in the order in which functions are created
 */
struct lang_module {
    const struct lang_source *source;
    struct lang_code *code;
    const struct lang_str **strs;
    uint32_t str_count;
    struct lang_code **codes;
    uint32_t code_count;
};

#endif
