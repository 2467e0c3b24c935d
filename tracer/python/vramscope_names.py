"""tracer/python/vramscope_names.py - paths of modules, and the names of parameters, buffers, gradients and states of
optimizers.

Nothing here may allocate on the GPU, keep a tensor alive, or have a weak reference to one.
"""
import itertools
import sys
import weakref

FINDS_MAX = 16  # searches for leaves in the program's variables


class Names:
    """Paths of modules, and the names of parameters, buffers, gradients and states of optimizers, as they are met.

    There are weak references to modules alone: PyTorch refuses to exchange a tensor that has some."""

    def __init__(self, torch, find):
        self.torch = torch
        self.find = find  # the names of tensors in the program's variables (vramscope_places.py)
        self.known = set()  # ids of the parameters of modules, as they were noted
        self.finds = 0
        self.lone_names = {}  # by id of a leaf: its address, and its name in the program's variables or None
        self.places = {}  # by id of the optimizer: (ids of its parameters that no module has, what they are called)
        self.paths = {}  # by id of the module: (weak reference, path)
        self.roots = []  # weak references
        self.last = {}  # by id of the root: addresses and names when they were noted last
        self.states = {}  # by id of the root: its state then
        self.lists = {}  # by id of the root: (its modules and parameters, names of the parameters)
        self.rows = {}  # by name: the address, dtype, shape, strides and row of the tensor that was noted last
        self.plain = (torch.Tensor, torch.nn.Parameter)  # classes of tensors that are what they seem

    def path_of(self, module):
        found = self.paths.get(id(module))
        return found[1] if found is not None and found[0]() is module else None

    def paths_of_roots(self):
        """By id of each outermost module that was called and is still there: its path."""
        roots = [root for root in (ref() for ref in self.roots) if root is not None]
        return {id(root): self.path_of(root) or "" for root in roots}

    def is_on_gpu(self, root):
        """Now, if only with tensors whose memory is elsewhere at present, or when it was noted last."""
        tensors = itertools.chain(root.parameters(), root.buffers())
        return bool(self.last.get(id(root))) or any(tensor.is_cuda for tensor in tensors)

    def root_add(self, root):
        """A module that none of the known ones contains. Where it contains the first one, it is the model. Those that
        have nothing on the GPU, as a copy that was examined on the CPU, do not count."""
        modules = list(root.named_modules())
        prefix = ""
        others = [known for known in (ref() for ref in self.roots) if known is not None and self.is_on_gpu(known)]
        if others and not any(module is others[0] for _, module in modules):
            taken = sum(type(known) is type(root) for known in others)
            prefix = type(root).__name__ + ("" if not taken else "#%d" % (taken + 1))
        ref = weakref.ref(root)
        for kept in self.last, self.states, self.lists:
            kept.pop(id(root), None)  # of another module, that is gone
        if prefix:
            self.roots.append(ref)
        else:
            self.roots.insert(0, ref)
        self.paths_note(modules, prefix)

    def paths_note(self, modules, prefix):
        for path, module in modules:
            self.paths[id(module)] = (weakref.ref(module), ".".join(p for p in (prefix, path) if p))

    def root_changed(self, root):
        """Its modules may have been wrapped, or others put in their place."""
        self.paths_note(list(root.named_modules()), self.path_of(root) or "")

    def storage(self, tensor):
        """(device, address) of a tensor's memory on the GPU, or None."""
        if type(tensor) not in self.plain:
            tensor = getattr(tensor, "_local_tensor", tensor)
            if not isinstance(tensor, self.torch.Tensor) or type(tensor).__name__ == "FakeTensor":
                return None  # a fake one has no memory: torch.compile traces with them
        if not tensor.is_cuda:
            return None
        try:
            storage = tensor.untyped_storage()
            is_there = storage.device.type == "cuda" and storage.nbytes()  # not that of a compiler's fake tensor
            return (storage.device.index or 0, storage.data_ptr()) if is_there else None
        except Exception:  # a sparse tensor, a tensor without memory
            return None

    def about(self, tensor):
        tensor = getattr(tensor, "_local_tensor", tensor)
        return (tensor.numel() * tensor.element_size(), str(tensor.dtype)[6:], tuple(tensor.shape),
                tuple(tensor.stride()))

    def add(self, out, tensor, kind, name):
        """What was noted of this name before is taken where nothing of it has changed: all names are noted in each
        step."""
        at = self.storage(tensor)
        if not at:
            return
        if type(tensor) not in self.plain:
            out.append((at, kind, name, self.about(tensor)))
            return
        now = at, tensor.dtype, tensor.shape, tensor.stride(), kind
        before = self.rows.get(name)
        if before is None or before[0] != now:
            before = self.rows[name] = now, (at, kind, name, self.about(tensor))
        out.append(before[1])

    def tree(self, root):
        """(what names depend on, parameters) of a module: each module and parameter, and what it is called."""
        path, parameters, modules = [self.path_of(root) or ""], [], {}
        todo = [root]
        while todo:
            module = todo.pop()
            if module is None or id(module) in modules:
                continue
            modules[id(module)] = module
            path.append(id(module))
            path.extend(module._parameters.keys())
            path.extend(module._modules.keys())
            parameters.extend(module._parameters.values())
            todo.extend(module._modules.values())
        path.extend(map(id, parameters))
        return path, parameters, modules.values()

    def named(self):
        """The parameters of all modules that are still there, with their names."""
        found = []
        for ref in self.roots:
            root = ref()
            if root is not None:
                found.extend(self.named_of(root))
        return found

    def named_of(self, root):
        """As named_parameters(), which takes longer: the names are kept until the module changes."""
        path, parameters, _ = self.tree(root)
        kept = self.lists.get(id(root))
        if kept is None or kept[0] != path:
            prefix = path[0] + "." if path[0] else ""
            names = {id(parameter): prefix + name for name, parameter in root.named_parameters()}
            kept = self.lists[id(root)] = path, [names.pop(id(parameter), None) for parameter in parameters]
        return [(name, parameter) for name, parameter in zip(kept[1], parameters) if name is not None]

    def state(self, root):
        """What the names and addresses of its parameters and buffers depend on; None: not known without all names."""
        path, parameters, modules = self.tree(root)
        for module in modules:
            path.extend(module._buffers.keys())
            parameters.extend(module._buffers.values())
        for tensor in parameters:
            if type(tensor) in self.plain:
                path.append(tensor.untyped_storage().data_ptr())
            elif tensor is not None:
                return None
        return path

    def flat_add(self, out, at, group):
        """Parameters that are parts of one buffer, as DeepSpeed, Apex and cuDNN want them."""
        first, storage = group[0][1], group[0][1].untyped_storage()
        name = "%d parameters, %s to %s" % (len(group), group[0][0], group[-1][0])
        count = storage.nbytes() // first.element_size()
        about = (storage.nbytes(), str(first.dtype)[6:], (count,), (1,))
        out.append((at, "parameter", name, about if all(one.dtype == first.dtype for _, one in group) else None))

    def of_root(self, root):
        """Parameters and buffers; [] where none moved or was replaced since they were noted last."""
        try:
            state = self.state(root)
        except Exception:  # a tensor without memory of its own, a module that is none of PyTorch's
            state = None
        if state is not None and self.states.get(id(root)) == state:
            return []
        self.states[id(root)] = state
        return self.of_root_changed(root)

    def of_root_changed(self, root):
        out = []
        prefix = self.path_of(root) or ""
        prefix = prefix + "." if prefix else ""
        groups = {}
        for name, parameter in root.named_parameters():
            self.known.add(id(parameter))
            at = self.storage(parameter)
            if at:
                local = getattr(parameter, "_local_tensor", parameter)
                groups.setdefault(at, []).append((prefix + name, local))
        for at, group in groups.items():
            if len({local.storage_offset() for _, local in group}) > 1:
                self.flat_add(out, at, group)
            else:
                self.add(out, group[0][1], "parameter", group[0][0])
        for name, buffer in root.named_buffers():
            self.add(out, buffer, "buffer", prefix + name)
        noted = [(at, name) for at, _, name, _ in out]
        if self.last.get(id(root)) == noted:
            return []
        self.root_changed(root)
        self.last[id(root)] = noted
        return out

    def lone(self, leaves, is_new):
        """Of the leaves of a graph the parameters that no module has, and their gradients, where a variable of the
        program has them. A leaf that was changed in place, or has a gradient before the backward, is trained."""
        wanted = {}
        for leaf in leaves:
            if id(leaf) in self.lone_names or (
                    is_new and id(leaf) not in self.known and (leaf._version > 0 or leaf.grad is not None)):
                wanted[id(leaf)] = leaf
        unknown = {key for key in wanted if self.lone_names.get(key, (None,))[0] != self.storage(wanted[key])}
        if unknown and is_new and self.finds < FINDS_MAX:  # a leaf that moves is unknown each time
            self.finds += 1
            found = self.find(sys._getframe(), unknown)
            self.lone_names.update((key, (self.storage(wanted[key]), found.get(key))) for key in unknown)
        out = []
        for key, leaf in wanted.items():
            at, name = self.lone_names.get(key, (None, None))
            if name is not None and at == self.storage(leaf):
                self.add(out, leaf, "parameter", name)
                if leaf.grad is not None:
                    self.add(out, leaf.grad, "gradient", "grad of " + name)
        return out

    def of_gradients(self):
        out = []
        for name, parameter in self.named():
            if parameter.grad is not None:
                self.add(out, parameter.grad, "gradient", "grad of " + name)
        return out

    def places_of(self, optimizer, known):
        """By id of each parameter of it that no known module has: (its name, its kind).

        The name is that of the program's variable, if there is one, and its place. What no variable of the program
        reaches, in an optimizer without any parameter of a module, are copies that the optimizer trains instead."""
        if all(id(parameter) in known for parameters in optimizer.param_groups for parameter in parameters["params"]):
            return {}
        places = {id(parameter): "param_groups[%d][%d]" % (group, i)
                  for group, parameters in enumerate(optimizer.param_groups)
                  for i, parameter in enumerate(parameters["params"])}
        is_apart = known and not any(key in known for key in places)
        unknown = {key: place for key, place in places.items() if key not in known}
        self.known.update(unknown)
        before = self.places.get(id(optimizer))
        if before is None or before[0] != list(unknown):
            variables = self.find(sys._getframe(), set(unknown))
            found = {key: ("%s (%s)" % (variables[key], place), "parameter") if key in variables else
                     (place, "optimizer" if is_apart else "parameter") for key, place in unknown.items()}
            before = self.places[id(optimizer)] = list(unknown), found
        return before[1]

    def of_optimizer(self, optimizer, has_stepped):
        """The gradients of its parameters, the parameters that no known module has, and, once it has stepped, its
        states."""
        out = []
        names = {id(parameter): name for name, parameter in self.named()}
        places = self.places_of(optimizer, names)
        names.update((key, name) for key, (name, _) in places.items())
        for parameters in optimizer.param_groups:
            for parameter in parameters["params"]:
                name = names[id(parameter)]
                if id(parameter) in places:
                    self.add(out, parameter, places[id(parameter)][1], name)
                if parameter.grad is not None:
                    self.add(out, parameter.grad, "gradient", "grad of " + name)
        for parameter, state in optimizer.state.items() if has_stepped else ():
            if isinstance(state, dict) and id(parameter) in names:
                for key, value in state.items():
                    if isinstance(value, self.torch.Tensor):
                        self.add(out, value, "optimizer", "%s of %s" % (key, names[id(parameter)]))
        return out
