#!/usr/bin/env python3
"""tests/oracle/lang_ast.py - what CPython's own parser makes of a source, in the text of tests/lang/dump.h.

    python3.12 tests/oracle/lang_ast.py FILE...     # writes FILE with .ast instead of .py

The C test (tests/lang/syntax/test_parser.c) compares the trees of tests/golden/lang/*.py with these files.
"""
import ast
import struct
import sys

UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitXor: "^", ast.BitOr: "|",
}
COMPARE = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}


class Dump:
    def __init__(self):
        self.lines = []
        self.classes = []  # names of the classes around, for private names

    def name(self, name):
        owner = self.classes[-1].lstrip("_") if self.classes else ""
        if owner and name.startswith("__") and not name.endswith("__"):
            return "_" + owner + name
        return name

    def text(self, value):
        out = []
        for byte in value.encode("utf-8"):
            if byte <= 0x20 or byte >= 0x7F or byte in b"'%":
                out.append("%%%02X" % byte)
            else:
                out.append(chr(byte))
        return "'" + "".join(out) + "'"

    def many(self, head, items):
        return "(" + " ".join([head] + [self.expr(item) for item in items]) + ")"

    def maybe(self, node):
        return self.expr(node) if node is not None else "_"

    def params(self, args):
        out = []
        plain = args.posonlyargs + args.args
        defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
        for i, (arg, default) in enumerate(zip(plain, defaults)):
            out.append(self.param("/" if i < len(args.posonlyargs) else "", arg, default))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults):
            out.append(self.param("=", arg, default))
        if args.vararg:
            out.append(self.param("*", args.vararg, None))
        if args.kwarg:
            out.append(self.param("**", args.kwarg, None))
        return "(" + " ".join(["params"] + out) + ")"

    def param(self, mark, arg, default):
        text = mark + self.name(arg.arg)
        if arg.annotation is not None:
            text += ":" + self.expr(arg.annotation)
        if default is not None:
            text += "=" + self.expr(default)
        return text

    def fors(self, generators):
        out = ""
        for each in generators:
            items = [each.target, each.iter] + each.ifs
            out += " (for " + " ".join(self.expr(item) for item in items) + ")"
        return out

    def fstring(self, node):
        out = ["(fstring"]
        for part in node.values:
            if isinstance(part, ast.Constant) and not part.value:
                continue  # 3.12 puts an empty text behind some specs
            if isinstance(part, ast.Constant):
                out.append(self.text(part.value))
                continue
            conversion = "!" + chr(part.conversion) if part.conversion != -1 else ""
            field = "(field" + conversion + " " + self.expr(part.value)
            if part.format_spec is not None:
                pieces = part.format_spec.values
                if all(isinstance(piece, ast.Constant) for piece in pieces):
                    field += " " + self.text("".join(piece.value for piece in pieces))
                else:
                    field += " " + self.expr(part.format_spec)
            out.append(field + ")")
        return " ".join(out) + ")"

    def constant(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float):
            return "f" + struct.pack(">d", value).hex()
        if value is Ellipsis:
            return "..."
        return str(value)

    def expr(self, node):
        e = self.expr
        if isinstance(node, ast.Constant):
            return self.constant(node.value)
        if isinstance(node, ast.JoinedStr):
            return self.fstring(node)
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Attribute):
            return f"(. {e(node.value)} {self.name(node.attr)})"
        if isinstance(node, ast.Subscript):
            return f"([] {e(node.value)} {e(node.slice)})"
        if isinstance(node, ast.Slice):
            return f"(slice {self.maybe(node.lower)} {self.maybe(node.upper)} {self.maybe(node.step)})"
        if isinstance(node, ast.Call):
            out = ["(call " + e(node.func)] + [e(arg) for arg in node.args]
            out += [(keyword.arg or "**") + "=" + e(keyword.value) for keyword in node.keywords]
            return " ".join(out) + ")"
        if isinstance(node, ast.UnaryOp):
            return f"({UNARY[type(node.op)]} {e(node.operand)})"
        if isinstance(node, ast.BinOp):
            return f"({BINARY[type(node.op)]} {e(node.left)} {e(node.right)})"
        if isinstance(node, ast.Compare):
            out = "(compare " + e(node.left)
            for op, right in zip(node.ops, node.comparators):
                out += f" {COMPARE[type(op)]} {e(right)}"
            return out + ")"
        if isinstance(node, ast.BoolOp):
            return self.many("and" if isinstance(node.op, ast.And) else "or", node.values)
        if isinstance(node, ast.IfExp):
            return f"(if {e(node.test)} {e(node.body)} {e(node.orelse)})"
        if isinstance(node, ast.Lambda):
            return f"(lambda {self.params(node.args)} {e(node.body)})"
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self.many(type(node).__name__.lower(), node.elts)
        if isinstance(node, ast.Dict):
            items = [(e(k) if k is not None else "**") + ":" + e(v) for k, v in zip(node.keys, node.values)]
            return "(" + " ".join(["dict"] + items) + ")"
        if isinstance(node, ast.ListComp):
            return f"(listcomp {e(node.elt)}{self.fors(node.generators)})"
        if isinstance(node, ast.GeneratorExp):
            return f"(generator {e(node.elt)}{self.fors(node.generators)})"
        if isinstance(node, ast.DictComp):
            return f"(dictcomp {e(node.key)} {e(node.value)}{self.fors(node.generators)})"
        if isinstance(node, ast.Starred):
            return f"(* {e(node.value)})"
        if isinstance(node, ast.NamedExpr):
            return f"(:= {e(node.target)} {e(node.value)})"
        raise TypeError(type(node).__name__)

    def line(self, depth, node, *words):
        self.lines.append("  " * depth + " ".join([str(node.lineno)] + [word for word in words if word]))

    def bare(self, depth, text):
        self.lines.append("  " * depth + text)

    def body(self, body, depth):
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            self.bare(depth, "doc " + self.text(first.value.value))
            body = body[1:]
        self.block(body, depth)

    def block(self, body, depth):
        for stmt in body:
            self.stmt(stmt, depth)

    def orelse(self, body, depth):
        if body:
            self.bare(depth, "else")
            self.block(body, depth + 1)

    def branch(self, node, depth):
        self.line(depth, node, "if", self.expr(node.test))
        while True:
            self.block(node.body, depth + 1)
            inner = node.orelse[0] if len(node.orelse) == 1 else None
            if not isinstance(inner, ast.If) or inner.col_offset != node.col_offset:
                break
            node = inner
            self.bare(depth, "elif " + self.expr(node.test))
        self.orelse(node.orelse, depth)

    def define(self, node, depth):
        for each in node.decorator_list:
            self.bare(depth, "@ " + self.expr(each))
        returns = "-> " + self.expr(node.returns) if node.returns is not None else ""
        if isinstance(node, ast.FunctionDef):
            self.line(depth, node, "def", self.name(node.name), self.params(node.args), returns)
            self.body(node.body, depth + 1)

    def class_(self, node, depth):
        for each in node.decorator_list:
            self.bare(depth, "@ " + self.expr(each))
        self.line(depth, node, "class", self.name(node.name), *[self.expr(base) for base in node.bases])
        self.classes.append(node.name)
        self.body(node.body, depth + 1)
        self.classes.pop()

    def imports(self, node, depth):
        names = []
        for alias in node.names:
            names.append(alias.name + ("=" + self.name(alias.asname) if alias.asname else ""))
        module = "from " + node.module if isinstance(node, ast.ImportFrom) else ""
        self.line(depth, node, "import", module, *names)

    def stmt(self, node, depth):
        e = self.expr
        if isinstance(node, ast.Expr):
            self.line(depth, node, "expr", e(node.value))
        elif isinstance(node, ast.Assign):
            self.line(depth, node, "assign", *[e(target) for target in node.targets], e(node.value))
        elif isinstance(node, ast.AugAssign):
            self.line(depth, node, BINARY[type(node.op)] + "=", e(node.target), e(node.value))
        elif isinstance(node, ast.AnnAssign):
            word = "ann" if node.simple else "ann()"
            self.line(depth, node, word, e(node.target), e(node.annotation), self.maybe(node.value))
        elif isinstance(node, ast.Return):
            self.line(depth, node, "return", e(node.value) if node.value is not None else "")
        elif isinstance(node, ast.Delete):
            self.line(depth, node, "del", *[e(target) for target in node.targets])
        elif isinstance(node, ast.If):
            self.branch(node, depth)
        elif isinstance(node, ast.For):
            self.line(depth, node, "for", e(node.target), e(node.iter))
            self.block(node.body, depth + 1)
            self.orelse(node.orelse, depth)
        elif isinstance(node, ast.While):
            self.line(depth, node, "while", e(node.test))
            self.block(node.body, depth + 1)
            self.orelse(node.orelse, depth)
        elif isinstance(node, (ast.Break, ast.Continue, ast.Pass)):
            self.line(depth, node, type(node).__name__.lower())
        elif isinstance(node, ast.Assert):
            self.line(depth, node, "assert", e(node.test), e(node.msg) if node.msg is not None else "")
        elif isinstance(node, ast.Raise):
            self.line(depth, node, "raise", e(node.exc) if node.exc else "", e(node.cause) if node.cause else "")
        elif isinstance(node, ast.With):
            words = []
            for item in node.items:
                words.append(e(item.context_expr))
                if item.optional_vars is not None:
                    words += ["as", e(item.optional_vars)]
            self.line(depth, node, "with", *words)
            self.block(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef):
            self.define(node, depth)
        elif isinstance(node, ast.ClassDef):
            self.class_(node, depth)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports(node, depth)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self.line(depth, node, type(node).__name__.lower(), *[self.name(name) for name in node.names])
        else:
            raise TypeError(type(node).__name__)


def dump(source):
    out = Dump()
    out.body(ast.parse(source).body, 0)
    return "".join(line + "\n" for line in out.lines)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = dump(file.read())
        with open(path.removesuffix(".py") + ".ast", "w", encoding="utf-8") as file:
            file.write(text)
