"""tracer/python/sitecustomize.py - watches for the first `import torch` of a Python program that `vramscope record`
runs.

The recorder puts the folder of this file first on PYTHONPATH, and Python imports `sitecustomize` before the program
begins. This file removes the folder from sys.path again and imports the `sitecustomize` that Python would have imported
otherwise, so that the program finds its environment unchanged. Until torch is imported, the only cost is one comparison
of strings for each import.

Any version of Python may run this file, so its syntax is limited to what all of them accept; only 3.8 and newer are
recorded.
"""
import sys


class TorchFinder(object):
    """An import hook that finds nothing itself: it lets the other finders find torch, and wraps its loader."""

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
            self.watch(spec.loader, spec.origin)
        return spec

    def watch(self, loader, origin):
        """Call attach() when the loader has executed torch. The wrapper removes itself then."""
        try:
            run = loader.exec_module

            def run_and_attach(module):
                del loader.exec_module
                stand_in = simulate(self.folder, origin)
                run(module)
                self.attach(module, stand_in)

            loader.exec_module = run_and_attach
        except Exception:  # the loader cannot be wrapped: the program runs without recording
            pass

    def attach(self, torch, stand_in):
        try:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            attach_to(self.folder, torch, stand_in)
        except Exception:
            pass


def module_of(folder, name):
    import importlib.util
    import os

    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulate(folder, origin):
    """Simulate a GPU, if there is none and the recorder says so. Returns what simulates it, or None."""
    try:
        with open(folder + "/settings", errors="surrogateescape") as f:
            if "\nstandin " not in f.read():
                return None
        return module_of(folder, "vramscope_standin").simulate(folder, origin)
    except Exception:
        return None


def attach_to(folder, torch, stand_in):
    module_of(folder, "vramscope_torch").attach(folder, torch, stand_in)


def on_early_interrupt(number, frame):
    """^C in a program that runs up to a prompt, before it is there: `vramscope python` says so."""
    import os

    os._exit(130)


def watch_interrupt(folder):
    import signal

    try:
        with open(folder + "/settings", errors="surrogateescape") as f:
            lines = f.read().split("\n")
        if any(line.startswith("stop ") and line.endswith(" -") for line in lines) and \
                signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, on_early_interrupt)
    except Exception:  # not the main thread
        pass


def begin():
    import os

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p != folder]
    sys.path_importer_cache.pop(folder, None)
    if sys.version_info < (3, 8):
        return
    watch_interrupt(folder)
    if "torch" in sys.modules:  # imported by a .pth file
        attach_to(folder, sys.modules["torch"], None)
    else:
        sys.meta_path.insert(0, TorchFinder(folder))


try:
    begin()
except Exception:
    pass
# Import the sitecustomize that Python would have imported otherwise; without one this raises ImportError as usual.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401
