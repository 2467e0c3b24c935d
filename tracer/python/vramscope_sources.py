"""tracer/python/vramscope_sources.py - finds the lines of the program's own files that bind a name, or put something
into what it names.

The files are read as text when the program ends; nothing of the program is run.
"""
import ast
import os
import sys
import sysconfig

PUTTING = ("append", "appendleft", "add", "extend", "insert", "update", "setdefault", "put", "push", "register_buffer")
FILE_MAX = 1 << 20  # bytes


class Own:
    """Which files are the program's own: not the standard library's, an installed package's, or the recorder's."""

    def __init__(self, folder):
        paths = sysconfig.get_paths()
        self.apart = tuple(os.path.realpath(paths[name]) + os.sep for name in ("stdlib", "purelib", "platlib"))
        self.apart += (os.path.realpath(folder) + os.sep,)
        self.known = {}

    def is_own(self, file):
        found = self.known.get(file)
        if found is None:
            path = os.path.realpath(file) if file else ""
            found = (os.path.isabs(path) and not path.startswith(self.apart) and not file.startswith("<")
                     and not any(os.sep + name + os.sep in path for name in ("site-packages", "dist-packages")))
            self.known[file] = found
        return found

    def frame(self, frame):
        """The innermost of the program's own frames, from this one outwards; None: there is none."""
        while frame is not None and not self.is_own(frame.f_code.co_filename):
            frame = frame.f_back
        return frame


def name_of(node):
    """The variable or attribute that an expression begins with: `a` of a[0].append, `b` of self.b[k], a.b."""
    while True:
        if isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
            if isinstance(node, ast.Attribute):
                node = node.value
        elif isinstance(node, ast.Attribute):
            return "." + node.attr
        elif isinstance(node, ast.Name):
            return node.id
        else:
            return ""


class File(ast.NodeVisitor):
    """The statements of one file that bind or fill something: (name, scopes around it, line, what it does)."""

    def __init__(self, path):
        self.found = []
        self.scopes = []
        self.errors = []  # names that `except ... as` binds, of the handlers around
        try:
            if os.path.getsize(path) <= FILE_MAX:
                with open(path, "rb") as f:
                    self.visit(ast.parse(f.read()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            pass

    def scope(self, node):
        self.scopes.append(node.name)
        self.generic_visit(node)
        self.scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = scope

    def add(self, name, node, what):
        if name:
            self.found.append((name, tuple(self.scopes), node.lineno, what))

    def visit_ExceptHandler(self, node):
        self.errors.append(node.name)
        self.generic_visit(node)
        self.errors.pop()

    def bind(self, target, node, value):
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self.bind(one, node, value)
        elif isinstance(target, ast.Subscript):
            self.add(name_of(target), node, "put")
        else:
            is_error = isinstance(value, ast.Name) and value.id in self.errors
            self.add(name_of(target), node, "error" if is_error else "bind")

    def visit_Assign(self, node):
        for target in node.targets:
            self.bind(target, node, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.bind(node.target, node, node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.add(name_of(node.target), node, "put")
        self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr in PUTTING:
            if node.func.attr == "register_buffer" and node.args and isinstance(node.args[0], ast.Constant):
                self.add("." + str(node.args[0].value), node, "bind")
            else:
                self.add(name_of(node.func.value), node, "put")
        self.generic_visit(node)

    def visit_Return(self, node):
        self.add("return", node, "return")
        self.generic_visit(node)


class Sources:
    def __init__(self, own):
        self.own = own
        self.files = {}
        self.loaded = set()  # the program's own files, as long as their modules are there

    def file(self, path):
        if path not in self.files:
            self.files[path] = File(path).found if self.own.is_own(path) else []
        return self.files[path]

    def files_note(self):
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and self.own.is_own(path):
                self.loaded.add(path)

    def all(self):
        return sorted(self.loaded)

    def lines(self, name, scope, paths, kinds):
        """[(file, line)] of the statements of these kinds about `name`: those in `scope` if there are some, else all.
        The first of `kinds` that has some counts."""
        for kind in kinds:
            all_found, inside = [], []
            for path in paths:
                for found, scopes, line, what in self.file(path):
                    if found == name and what == kind:
                        all_found.append((path, line))
                        if scope in scopes or (scope == "<module>" and not scopes):
                            inside.append((path, line))
            if inside or all_found:
                return sorted(set(inside or all_found))
        return []

    def lines_of_errors(self, path, function):
        """Where a function binds the exception that it has caught to another name."""
        return [(path, line) for _, scopes, line, what in self.file(path)
                if what == "error" and (function in scopes or function == "<module>")]
