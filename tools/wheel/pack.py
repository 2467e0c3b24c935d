"""tools/wheel/pack.py STAGE FOLDER - makes a wheel of what `make install` put into STAGE (PREFIX empty).

One wheel for every Python: the program goes where the others of an environment are (bin/), all else into the folders
beside it, as on a system (lib/vramscope, share/). So it starts without Python, and finds its libraries as everywhere.
The package `vramscope` is `python3 -m vramscope`, which starts the program. The same stage gives the same bytes.
"""
import base64
import hashlib
import os
import re
import sys
import zipfile

TAG = "py3-none-manylinux_2_28_x86_64"
METADATA = """Metadata-Version: 2.1
Name: vramscope
Version: %s
Summary: Shows where a network's training memory goes, byte by byte and line by line
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Environment :: Console :: Curses
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Topic :: Software Development :: Debuggers
Description-Content-Type: text/markdown

%s"""
WHEEL = """Wheel-Version: 1.0
Generator: vramscope
Root-Is-Purelib: false
Tag: %s
"""

ENTRY_POINTS = """[pytest11]
vramscope = vramscope.pytest_plugin
"""


class Wheel:
    """A wheel that is being written: its files, with hashes for the list at its end."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self, info_folder):
        name = info_folder + "/RECORD"
        lines = self.record + [name + ",,"]
        self.zip.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), "\n".join(lines) + "\n")
        self.zip.close()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def files_of(folder):
    """Paths in `folder`, sorted."""
    found = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.relpath(os.path.join(at, name), folder) for name in names]
    return sorted(found)


def main():
    stage, folder = sys.argv[1:]
    version = re.search(r'CLI_VERSION "([^"]+)"', read("cli/version.h").decode()).group(1)
    name = "vramscope-" + version
    path = os.path.join(folder, "%s-%s.whl" % (name, TAG))
    here = os.path.dirname(os.path.abspath(__file__))
    wheel = Wheel(path)
    for file in files_of(os.path.join(here, "vramscope")):
        if file.endswith(".py"):
            wheel.add("vramscope/" + file, read(os.path.join(here, "vramscope", file)))
    for file in files_of(stage):
        full = os.path.join(stage, file)
        mode = 0o755 if os.access(full, os.X_OK) else 0o644
        if file.startswith("bin/"):
            wheel.add("%s.data/scripts/%s" % (name, file[4:]), read(full), mode)
        else:
            wheel.add("%s.data/data/%s" % (name, file), read(full), mode)
    wheel.add(name + ".dist-info/METADATA", (METADATA % (version, read("README.md").decode())).encode())
    wheel.add(name + ".dist-info/WHEEL", (WHEEL % TAG).encode())
    wheel.add(name + ".dist-info/entry_points.txt", ENTRY_POINTS.encode())
    wheel.close(name + ".dist-info")
    print("%s: %.1f MB" % (path, os.path.getsize(path) / 1e6))


main()
