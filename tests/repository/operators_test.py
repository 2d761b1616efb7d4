"""docs/operators.md lists every operator of the public headers, and nothing else; weft selftest knows them all."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def factories():
    """The functions of include/weft/op that return an operator."""
    found = set()
    for header in (ROOT / "include/weft/op").glob("*/*.hpp"):
        text = header.read_text(encoding="utf-8")
        found |= set(re.findall(r"^LinearOperator<[^;{=]*?>\s+(\w+)\(", text, re.MULTILINE))
    return found


def documented():
    """The names in the first column of the tables in front of the comparison with PyLops."""
    page = (ROOT / "docs/operators.md").read_text(encoding="utf-8").split("## Compared with PyLops")[0]
    return {name for row in re.findall(r"^\| (`[^|]*)\|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


class Operators(unittest.TestCase):
    def test_page_lists_all_operators(self):
        self.assertEqual(sorted(factories() - documented()), [])

    def test_page_lists_operators_only(self):
        self.assertEqual(sorted(documented() - factories()), [])

    def test_selftest_applies_all_operators(self):
        catalogue = (ROOT / "apps/selftest/catalogue.cpp").read_text(encoding="utf-8")
        unknown = {name for name in factories() if not re.search(rf"\b{name}\b", catalogue)}
        # Its functions are the program's.
        self.assertEqual(sorted(unknown - {"function_operator"}), [])


if __name__ == "__main__":
    unittest.main()
