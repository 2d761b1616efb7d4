"""Each pattern in a test filter of scripts/gpu-check matches a test: GoogleTest ignores those that match none."""

import fnmatch
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILTER = re.compile(r"""^run_sanitizer \w+ (\w+) "([^"]+)"|^nccl_some\[(\w+)\]='([^']+)'""", re.MULTILINE)
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)


def tests_of(layer):
    files = [path for path in (ROOT / "tests" / layer).rglob("*") if path.suffix in {".cpp", ".cu"}]
    return [".".join(each) for path in files for each in TEST.findall(path.read_text(encoding="utf-8"))]


class GpuCheck(unittest.TestCase):
    def test_patterns_match_tests(self):
        script = (ROOT / "scripts/gpu-check").read_text(encoding="utf-8")
        filters = [(match[1] or match[3], match[2] or match[4]) for match in FILTER.finditer(script)]
        self.assertGreaterEqual(len(filters), 8)
        for layer, patterns in filters:
            names = tests_of(layer)
            for pattern in patterns.split(":"):
                self.assertTrue(fnmatch.filter(names, pattern), f"no test of {layer} matches {pattern}")


if __name__ == "__main__":
    unittest.main()
