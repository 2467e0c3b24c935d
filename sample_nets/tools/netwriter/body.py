"""sample_nets/tools/netwriter/body.py - a recorded graph as the lines of a function, in which every name ends where the
value died when it was recorded."""
import keyword
import operator
import os

import torch

from .expr import ATOM, IN_PLACE, Expressions
from .functions import on_context, put_on_context
from .record import op_name
from .scope import count_of, dropped, set_requires_grad, size_of

_SIZE_STEPS = (size_of, count_of, operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
_TAKEN = {"torch", "nn", "F", "self", "print", "len", "list"}
LONGEST = 150


def is_size(node):
    return node.op == "call_function" and node.target in _SIZE_STEPS


def is_pick(node):
    return node.op == "call_function" and node.target is operator.getitem


def is_op(node):
    return node.op in ("call_module", "output") or (
        node.op == "call_function" and not is_size(node) and not is_pick(node) and node.target is not dropped)


def path_text(root, path):
    """`self.layers[0].weight` for layers.0.weight."""
    text, at = "self", root
    for part in path.split("."):
        inner = isinstance(at, (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList))
        if inner and part.isdigit():
            text += "[%s]" % part
        elif isinstance(at, (torch.nn.ModuleDict, torch.nn.ParameterDict)):
            text += '["%s"]' % part
        elif part.isidentifier():
            text += "." + part
        else:
            text = 'getattr(%s, "%s")' % (text, part)
        at = getattr(at, part, None) if not isinstance(at, torch.nn.ModuleDict) else at[part]
    return text


class Body:
    def __init__(self, scope, holes):
        self.scope = scope
        self.has_self = scope.module is not None
        self.nodes = list(scope.graph.nodes)
        self.at = {n: i for i, n in enumerate(self.nodes)}
        self.expressions = Expressions(self, holes)
        self.names = {}  # node: its name, while it has one
        self.bound = {}  # name: node
        self.slots = []  # names in the order in which they are first met
        self.pending = []  # (node, text, level): values without a name, to be used where they stand
        self.lines = []
        self.depth = ()
        self.comment = None
        self._find_uses()

    # -- analysis before writing --

    def _find_uses(self):
        self.drop_at, self.last_use, self.uses = {}, {}, {}
        for i, n in enumerate(self.nodes):
            if n.op == "call_function" and n.target is dropped:
                self.drop_at[n.args[0]] = i
                continue
            for v in n.all_input_nodes:
                if is_op(n):
                    self._used(v, i, n)
        ops = [i for i, n in enumerate(self.nodes) if is_op(n)]
        self.next_op = {}
        for i, following in zip(ops, ops[1:] + [len(self.nodes)]):
            self.next_op[self.nodes[i]] = following

    def _used(self, v, i, by):
        self.last_use[v] = max(self.last_use.get(v, -1), i)
        self.uses.setdefault(v, []).append(by)
        if is_size(v) or is_pick(v):
            for base in v.all_input_nodes:
                if is_size(v) or _root(base).op == "placeholder":
                    self._used(base, i, None)

    def _drops(self, node):
        """Values that die between this op and the next one, in that order."""
        start = self.at[node] + 1
        return [n.args[0] for n in self.nodes[start:self.next_op.get(node, len(self.nodes))]
                if n.op == "call_function" and n.target is dropped]

    # -- text of values --

    def ref(self, node):
        if node.op == "get_attr":
            return path_text(self.scope.module, node.target), ATOM
        if node in self.names:
            return self.names[node], ATOM
        for i, (waiting, text, level) in enumerate(self.pending):
            if waiting is node:
                del self.pending[i]
                return text, level
        if is_size(node):
            return self.expressions.size(node)
        if is_pick(node) and _root(node).op == "placeholder":
            key = node.args[1]
            return "%s[%s]" % (self.ref(node.args[0])[0], '"%s"' % key if isinstance(key, str) else key), ATOM
        raise AssertionError("%s has no name" % node)

    def module(self, path):
        return path_text(self.scope.module, path)

    def any_device(self):
        """Where the tensors are: the device of one that is at hand."""
        for node in self.nodes:
            if node.op == "placeholder" and node in self.names and self._is_tensor(node):
                return self.names[node] + ".device"
            if is_pick(node) and _root(node).op == "placeholder" and self._is_tensor(node):
                return self.ref(node)[0] + ".device"
        for name, node in self.bound.items():
            if self._is_tensor(node):
                return name + ".device"
        first = next((n for n, _ in self.scope.module.named_parameters()), None) if self.has_self else None
        return path_text(self.scope.module, first) + ".device" if first else '"cuda"'

    def _is_tensor(self, node):
        return not is_size(node) and node.meta.get("is_tensor", False)

    # -- names --

    def _wanted(self, node, names):
        if names:
            return names[0]
        if node.op == "call_module":
            last = node.target.split(".")[-1]
            return last if not last.isdigit() else node.target.replace(".", "_")
        return op_name(node.target)[1].strip("_") or "value"

    def _is_free(self, name, dying, node):
        old = self.bound.get(name)
        if old is None:
            return True
        if dying and dying[0] is old:
            return True
        return _root(old).op == "placeholder" and self.last_use.get(old, -1) <= self.at[node]

    def _bind(self, name, node, dying, at_node):
        """Gives the value a name: the wanted one, if what has it dies in this very statement."""
        name = name if name.isidentifier() and not keyword.iskeyword(name) else "value"
        base, k = name, 0
        while name in _TAKEN or not self._is_free(name, dying, at_node):
            k += 1
            name = "%s_%d" % (base, k)
        old = self.bound.get(name)
        if old is not None:
            self.names.pop(old, None)
            if dying and dying[0] is old:
                dying.pop(0)
        self.bound[name] = node
        self.names[node] = name
        if name not in self.slots:
            self.slots.append(name)
        return name

    # -- statements --

    def _say(self, text, node=None):
        where = node.meta.get("where") if node is not None else None
        mark = "  # %s:%d" % (os.path.basename(where[0]), where[1]) if where and os.path.exists(where[0]) else ""
        if mark == self.comment:
            mark = ""
        elif mark:
            self.comment = mark
        self.lines.append("    " * len(self.depth) + text + mark)

    def _enter(self, modes):
        """Opens and closes the with-blocks between the last statement and one under `modes`."""
        wanted = []
        if modes[0] != self.scope.modes[0]:
            wanted.append("with torch.enable_grad():" if modes[0] else "with torch.no_grad():")
        for device, enabled, dtype in modes[1][len(self.scope.modes[1]):]:
            what = "enabled=False" if not enabled else "dtype=%s" % dtype
            wanted.append('with torch.autocast("%s", %s):' % (device, what))
        wanted = tuple(wanted)
        if wanted == self.depth:
            return
        self._flush()
        self.depth = ()
        for header in wanted:
            self._say(header)
            self.depth += (header,)

    def _flush(self):
        """What waits gets names."""
        waiting, self.pending = self.pending, []
        for node, text, _ in waiting:
            dying = self._named(self._drops(node))
            self._say("%s = %s" % (self._bind(self._wanted(node, []), node, dying, node), text), node)

    def _named(self, drops):
        """Those of the dying values that a name holds."""
        return [d for d in drops if d in self.names]

    def _may_wait(self, node, drops):
        """Used once, by an expression, and gone with it: it needs no name."""
        uses = self.uses.get(node, [])
        if node.meta.get("names") or len(uses) != 1 or uses[0] is None or node in drops or node.meta.get("layout"):
            return False
        user = uses[0]
        if user.op == "output":
            return node.meta.get("modes") == self.scope.modes
        if self._named(drops):
            return False
        if user.op == "call_function" and user.target in (
                setattr, on_context, put_on_context, set_requires_grad):
            return False
        return user.meta.get("modes") == node.meta.get("modes") and node in self._drops(user)

    def _settle(self, node):
        """Names what waits unless this node takes all of the last ones, in the order in which it reads them."""
        order = []
        torch.fx.node.map_arg((node.args, node.kwargs), lambda n: order.append(n) or n)
        waiting = [n for n, _, _ in self.pending]
        mine = [n for n in order if n in waiting]
        if node.op == "call_function" and op_name(node.target)[1].startswith("__r"):
            mine.reverse()
        if mine and waiting[-len(mine):] != mine:
            self._flush()

    def _statement(self, node):
        self._enter(node.meta.get("modes", self.scope.modes))
        self._settle(node)
        before = list(self.pending)
        if node.target is setattr:
            self._flush()
            path, name, value = node.args
            owner = self.module(path) if path else "self"
            self._say("%s.%s = %s" % (owner, name, self.expressions.value(value)), node)
            self._delete(node, self._drops(node))
            return
        if node.target is put_on_context:
            self._flush()
            self._say("ctx.%s = %s" % (node.args[0], self.expressions.value(node.args[1])), node)
            self._delete(node, self._drops(node))
            return
        text, level = self.expressions.op(node)
        if len(text) > LONGEST and before:
            self.pending = before
            self._flush()
            text, level = self.expressions.op(node)
        drops = self._drops(node)
        if level >= 0 and self._may_wait(node, drops):
            self.pending.append((node, text, level))
            return
        self._flush()
        if level < 0:
            self._say(text, node)
        elif node.meta.get("layout"):
            drops = self._several(node, text, drops)
        elif not self.uses.get(node) and drops and drops[0] is node:
            self._say(text, node)
        else:
            self._assign(node, text, drops)
            return
        self._delete(node, drops)

    def _assign(self, node, text, drops):
        dying = self._named(drops)
        method = op_name(node.target)[1] if node.op == "call_function" else ""
        first = node.args[0] if node.args else None
        old = self.names.get(first) if isinstance(first, torch.fx.Node) else None
        name = self._bind(self._wanted(node, node.meta.get("names")), node, dying, node)
        start = "%s.%s(" % (name, method)
        if method in IN_PLACE and old == name and len(node.args) == 2 and not node.kwargs and text.startswith(start):
            self._say("%s %s %s" % (name, IN_PLACE[method], text[len(start):-1]), node)
        else:
            self._say("%s = %s" % (name, text), node)
        self._delete(node, drops)

    def _delete(self, node, drops):
        gone = self._named(drops)
        if not gone or self._is_last(node):
            return
        self._say("del " + ", ".join(self.names[d] for d in gone))
        for d in gone:
            del self.bound[self.names.pop(d)]

    def _is_last(self, node):
        following = self.next_op.get(node, len(self.nodes))
        return following >= len(self.nodes) or self.nodes[following].op == "output"

    # -- several results --

    def _several(self, node, text, drops):
        """Gives each part that lives on a name; returns what is still to be deleted."""
        picks = list(_picks(node))
        living = [p for p in picks if self.uses.get(p) or p not in drops]
        dying = self._named(drops)
        names = node.meta.get("names") or []
        if not living:
            self._say(text, node)
            return drops
        if len(living) == 1 and (len(names) <= 1 or not isinstance(node.meta["layout"], list)):
            pick = living[0]
            name = self._bind(self._wanted(node, names), pick, dying, node)
            self._say("%s = %s%s" % (name, text, _keys(pick, node)), node)
            return dying
        if isinstance(node.meta["layout"], dict):
            holder = self._bind("parts", node, [], node)
            self._say("%s = %s" % (holder, text), node)
            for pick in living:
                name = self._bind(str(pick.args[1]), pick, [], node)
                self._say("%s = %s%s" % (name, holder, _keys(pick, node)))
            self._say("del " + holder)
            del self.bound[self.names.pop(node)]
            return drops
        self._say("%s = %s" % (self._pattern(node, node.meta["layout"], names, dying, node), text), node)
        return drops

    def _pattern(self, value, layout, names, dying, node):
        by_key = {p.args[1]: p for p in value.users if is_pick(p)}
        words = []
        for key, part in enumerate(layout):
            wanted = names[key] if len(names) == len(layout) else "%s_%d" % (self._wanted(node, names), key)
            if part is None:
                words.append("_")
            elif part is True:
                words.append(self._bind(wanted, by_key[key], dying, node))
            else:
                words.append("(%s)" % self._pattern(by_key[key], part, [], dying, node))
        return ", ".join(words) + ("," if len(words) == 1 else "")

    # -- sizes that are named --

    def _size(self, node):
        """Names a size if the source does, or if its tensor does not live as long as it is needed."""
        if node in self.names or node not in self.last_use:
            return
        names = node.meta.get("names")
        base = node.args[0]
        if node.target is size_of and names:
            rest = self.nodes[self.at[node]:]
            together = [n for n in rest if is_size(n) and n.target is size_of and n.args[0] is base]
            self._flush_if_new(base)
            together = [n for n in together[:_dims(together)] if n in self.last_use]
            words = [self._bind(n.meta["names"][0], n, [], n) for n in together]
            if len(words) > 1 and len(together) == base.meta.get("ndim"):
                self._say("%s = %s.shape" % (", ".join(words), self.expressions.value(base, least=ATOM)))
            else:
                for word, n in zip(words, together):
                    self._say("%s = %s.shape[%d]" % (word, self.expressions.value(base, least=ATOM), n.args[1]))
        elif node.target in (size_of, count_of) and self.drop_at.get(base, len(self.nodes)) < self.last_use[node]:
            self._flush_if_new(base)
            text = self.expressions.size(node)[0]
            self._say("%s = %s" % (self._bind("size", node, [], node), text))

    def _flush_if_new(self, base):
        if any(n is base for n, _, _ in self.pending):
            self._flush()

    # -- all of it --

    def write(self):
        """(parameters, lines) of the function."""
        for node, name in zip([n for n in self.nodes if n.op == "placeholder"], self.scope.parameters):
            name = name.lstrip("*")
            self.names[node] = name
            self.bound[name] = node
            self.slots.append(name)
        for node in self.nodes:
            if is_size(node):
                self._size(node)
            elif node.op == "output":
                self._return(node)
            elif is_op(node):
                self._statement(node)
        return self.scope.parameters, self.lines

    def _return(self, node):
        self._settle(node)
        result = node.args[0]
        text = self.expressions.value(result)
        last = next((n for n in reversed(self.nodes[:-1]) if is_op(n)), None)
        start = self.at[last] if last is not None else 0
        gone = [n.args[0] for n in self.nodes[start:] if n.op == "call_function" and n.target is dropped]
        gone = [g for g in gone if g in self.names]
        slots = {name: i for i, name in enumerate(self.slots)}
        order = [slots[self.names[g]] for g in gone]
        self.depth = ()
        if order != sorted(order):
            if not text.isidentifier():
                holder = self._bind("result", node, [], node)
                self._say("%s = %s" % (holder, text))
                text = holder
            self._say("del " + ", ".join(self.names[g] for g in gone))
        self._say("return " + text)


def _dims(steps):
    """How many of these size steps come from one read of the shape."""
    count = 1
    while count < len(steps) and steps[count].meta.get("names") and (
            steps[count].args[1] == steps[count - 1].args[1] + 1):
        count += 1
    return count


def _root(node):
    while is_pick(node):
        node = node.args[0]
    return node


def _picks(node):
    for user in node.users:
        if is_pick(user) and user.args[0] is node:
            inner = list(_picks(user))
            yield from inner or [user]


def _keys(pick, node):
    text = ""
    while pick is not node:
        key = pick.args[1]
        text = ("[%d]" % key if isinstance(key, int) else '["%s"]' % key) + text
        pick = pick.args[0]
    return text
