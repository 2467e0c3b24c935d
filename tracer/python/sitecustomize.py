"""Watches for the first `import torch` of a Python program that `vramscope record` runs.

The recorder puts the folder of this file first on PYTHONPATH, and Python imports `sitecustomize` before the program begins. What
Python would have imported under that name without us is imported all the same, and the folder leaves sys.path again: the program
finds all as it was. Until torch is imported nothing happens but one comparison of strings for each import.

Any Python may come by here, so what follows is kept to what all of them understand; only 3.8 and newer are recorded.
"""
import sys


class TorchFinder(object):
    """Finds nothing itself: it lets the others find torch, and is told when torch has been run."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        spec = None
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        if spec is not None:
            self.watch(spec.loader)
        return spec

    def watch(self, loader):
        """When the loader has run its module, once, that is told. The loader itself stays what it is."""
        try:
            run = loader.exec_module

            def run_and_tell(module):
                del loader.exec_module
                run(module)
                self.attach(module)

            loader.exec_module = run_and_tell
        except Exception:  # a loader that cannot be watched: the program comes first
            pass

    def attach(self, torch):
        try:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            attach_to(self.folder, torch)
        except Exception:
            pass


def attach_to(folder, torch):
    import importlib.util
    import os

    spec = importlib.util.spec_from_file_location(
        "vramscope_torch", os.path.join(folder, "vramscope_torch.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.attach(folder, torch)


def begin():
    import os

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p != folder]
    sys.path_importer_cache.pop(folder, None)
    if sys.version_info < (3, 8):
        return
    if "torch" in sys.modules:  # a .pth file was faster
        attach_to(folder, sys.modules["torch"])
    else:
        sys.meta_path.insert(0, TorchFinder(folder))


try:
    begin()
except Exception:
    pass
# What would have been imported without us; where there is none, this fails as Python expects it to.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
