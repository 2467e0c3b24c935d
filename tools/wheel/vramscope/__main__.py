"""tools/wheel/vramscope/__main__.py - `python3 -m vramscope` is `vramscope`."""
import os
import sys

from vramscope import program

os.execv(program(), ["vramscope"] + sys.argv[1:])
