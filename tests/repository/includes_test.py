"""scripts/check-includes finds includes of later layers, of whole layers and of third-party headers."""

import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/check-includes"


def load():
    loader = SourceFileLoader("check_includes", str(SCRIPT))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Includes(unittest.TestCase):
    def violations(self, files):
        """In a repository of these files, each with one include."""
        check_includes = load()
        with tempfile.TemporaryDirectory() as root:
            check_includes.ROOT = Path(root)
            for folder in ["include/weft/core", "src/core"]:
                (Path(root) / folder).mkdir(parents=True)
            for name, included in files.items():
                path = Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#include <{included}>\n", encoding="utf-8")
            return list(check_includes.violations())

    def test_allowed(self):
        files = {
            "include/weft/array/x.hpp": "weft/comm/comm.hpp",
            "include/weft/comm/x.hpp": "fmt/core.h",
            "include/weft/core/x.hpp": "string_view",
            "include/weft/weft.hpp": "weft/array.hpp",
            "src/comm/x.cpp": "mpi.h",
            "src/info.cpp": "weft/info.hpp",
        }
        self.assertEqual(self.violations(files), [])

    def test_a_later_layer(self):
        (violation,) = self.violations({"src/comm/x.cpp": "weft/array/layout.hpp"})
        self.assertIn("src/comm/x.cpp:1: comm/ may not include array/", violation)

    def test_a_whole_layer(self):
        (violation,) = self.violations({"src/core/x.cpp": "weft/solve.hpp"})
        self.assertIn("core/ may not include weft/solve.hpp", violation)

    def test_third_party_headers(self):
        for name in ["mpi.h", "fftw3.h", "cblas.h", "CLI/CLI.hpp", "cuda_runtime.h"]:
            (violation,) = self.violations({"include/weft/core/x.hpp": name})
            self.assertIn(f"a public header may not include <{name}>", violation)

    def test_mpi_in_two_files(self):
        found = self.violations({"src/comm/a.cpp": "mpi.h", "src/comm/b.cpp": "mpi.h"})
        self.assertEqual(len(found), 2)

    def test_an_unknown_layer(self):
        (violation,) = self.violations({"src/sparse/x.cpp": "vector"})
        self.assertIn("src/sparse: not a layer", violation)


if __name__ == "__main__":
    unittest.main()
