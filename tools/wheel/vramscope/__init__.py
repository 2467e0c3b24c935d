"""tools/wheel/vramscope/__init__.py - the package of the wheel: where the program is."""
import os
import sysconfig


def program():
    """The path of the program: beside this Python's own programs, or the user's (`pip install --user`), or where
    `pip install --target` put it. FileNotFoundError: it is in none of them."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", os.name + "_user"),
               os.path.join(above, "bin")]
    for folder in folders:
        path = os.path.join(folder, "vramscope")
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError("vramscope is in none of " + ", ".join(folders))
