"""tests/wheel/package_check.py FOLDER - the package of the wheel, asked about the trace of a net; what it says is what
the commands say. FOLDER: for files. $VRAMSCOPE is the program."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, "tools/wheel")
import vramscope

FOLDER = sys.argv.pop()
TRACE = os.path.join(FOLDER, "net.db")


def run(*words):
    return json.loads(subprocess.check_output([os.environ["VRAMSCOPE"], *words, "--json"]))


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.check_output([os.environ["VRAMSCOPE"], "record", "tests/nets/mlp.py", "--device", "meta", "-f", "-o",
                                 TRACE])
        cls.trace = vramscope.open(TRACE)

    def test_the_peak_is_that_of_the_report(self):
        said = run("report", TRACE)["peak"]
        peak = self.trace.peak()
        self.assertEqual((peak.allocated, peak.reserved, peak.event, peak.line, peak.by_category),
                         (said["allocated"], said["reserved"], said["event"], said["line"], said["by_category"]))

    def test_what_is_alive_at_an_event_adds_up_to_what_is_allocated(self):
        peak = self.trace.peak()
        alive = self.trace.alive_at()
        self.assertEqual((alive.event, alive.allocated), (peak.event, peak.allocated))
        by_category = {}
        for block in alive.blocks:
            by_category[block.category] = by_category.get(block.category, 0) + block.bytes
        self.assertEqual(by_category, {k: v for k, v in peak.by_category.items() if v})
        self.assertGreaterEqual(alive.blocks[0].bytes, alive.blocks[-1].bytes)
        for event in 1, self.trace.events:
            said = run("why", TRACE, "--at", str(event))
            self.assertEqual(self.trace.alive_at(event).allocated, said["allocated"])
        with self.assertRaises(ValueError):
            self.trace.alive_at(self.trace.events + 1)

    def test_a_whatif_is_that_of_the_command(self):
        said = run("whatif", TRACE, "--set", "amp=bf16", "--set", "zero-grad=zeros")
        found = self.trace.whatif(amp="bf16", zero_grad="zeros")
        self.assertEqual((found.peak.allocated, found.delta), (said["result"]["allocated"], said["delta_allocated"]))
        self.assertEqual(found.set, {"amp": "bf16", "zero-grad": "zeros"})

    def test_failures_are_exceptions_in_the_programs_words(self):
        with self.assertRaisesRegex(vramscope.Error, "nowhere.db"):
            vramscope.open("nowhere.db")
        with self.assertRaisesRegex(vramscope.Error, "bf16"):
            self.trace.whatif(amp="bf32")
        with self.assertRaisesRegex(vramscope.Error, "only be read"):
            self.trace.query("delete from meta")

    def test_rows_are_a_frame_where_pandas_is(self):
        try:
            import pandas
        except ImportError:
            with self.assertRaises(ImportError):
                self.trace.to_pandas()
            return
        self.assertEqual(self.trace.alive_at().to_pandas()["bytes"].sum(), self.trace.peak().allocated)
        self.assertEqual(len(self.trace.to_pandas()), self.trace.query("select count(*) as n from block")[0]["n"])


def has_pytest():
    try:
        import pytest
    except ImportError:
        return False
    return True


# The PyTorch of tests/tracer/python has one peak, that of its snapshot.
TESTS = """
import time
import pytest, torch

@pytest.mark.max_vram("%s"%s)
def test_it():
    torch.cuda.init()
    time.sleep(%d)

def test_without_a_mark():
    pass
"""


@unittest.skipUnless(has_pytest(), "there is no pytest")
class Plugin(unittest.TestCase):
    def pytest(self, size, more="", sleeps=0, is_installed=False):
        """more: of the mark's arguments; sleeps: for so many seconds; is_installed: pytest finds the plug-in by its
        entry point, as that of the wheel; else by -p."""
        path = os.path.join(FOLDER, "test_vram.py")
        with open(path, "w") as f:
            f.write(TESTS % (size, more, sleeps))
        folders = [os.path.abspath(p) for p in ("tools/wheel", "tests/tracer/python")]
        words = ["-p", "vramscope.pytest_plugin"]
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                   FAKE_TORCH_SNAPSHOT=os.path.abspath("tests/golden/snapshots/attention_3g.pickle.gz"),
                   FAKE_TORCH_SAY=os.path.join(FOLDER, "said"),
                   PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")  # no other plug-in, nor this one of an installed wheel
        if is_installed:
            words = []
            del env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
            folders.append(os.path.join(FOLDER, "installed"))
            info = os.path.join(folders[-1], "vramscope-0.dist-info")
            os.makedirs(info, exist_ok=True)
            with open(os.path.join(info, "METADATA"), "w") as f:
                f.write("Metadata-Version: 2.1\nName: vramscope\nVersion: 0\n")
            with open(os.path.join(info, "entry_points.txt"), "w") as f:
                f.write("[pytest11]\nvramscope = vramscope.pytest_plugin\n")
        env["PYTHONPATH"] = os.pathsep.join(folders)
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, "--rootdir",
                               FOLDER, path], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True)
        return done.returncode, done.stdout

    def test_it_is_found_by_its_entry_point(self):
        status, text = self.pytest("1 MiB", is_installed=True)
        self.assertEqual(status, 1, text)
        self.assertIn("1.0 MiB (1048576 bytes) are allowed", text)
        self.assertIn("1 failed, 1 passed", text)

    def test_a_test_below_its_limit_passes(self):
        status, text = self.pytest("1 TiB")
        self.assertEqual(status, 0, text)
        self.assertIn("2 passed", text)

    def test_a_test_above_its_limit_fails_with_its_peak(self):
        status, text = self.pytest("1 MiB")
        self.assertEqual(status, 1, text)
        self.assertIn("1.0 MiB (1048576 bytes) are allowed", text)
        self.assertIn("1 failed, 1 passed", text)

    def test_a_test_that_does_not_end_is_ended(self):
        status, text = self.pytest("1 TiB", ", timeout=0.1", 600)
        self.assertEqual(status, 1, text)
        self.assertIn("did not end within 0.1 seconds", text)
        self.assertIn("1 failed, 1 passed", text)

    def test_what_is_no_size_is_refused(self):
        status, text = self.pytest("much")
        self.assertNotEqual(status, 0)
        self.assertIn("is not a size", text)


unittest.main()
