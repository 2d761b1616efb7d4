"""Every target of the Makefile is run by continuous integration, or listed to be run before a release."""

import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/check-targets"


def load():
    loader = SourceFileLoader("check_targets", str(SCRIPT))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


check_targets = load()

MAKEFILE = """JOBS ?= 2
.DEFAULT_GOAL := help
.PHONY: help setup test lint
help: ## List
setup:
test: setup ## Test
lint: setup
build-%:
\tcmake --preset $*
"""
CI = """# make lint is not run here
scripts/setup
exec make --no-print-directory test PRESET=cpu
"""


class Targets(unittest.TestCase):
    def mistakes(self, makefile=MAKEFILE, ci=CI, left_out=("help", "lint")):
        return list(check_targets.mistakes(makefile, ci, left_out))

    def test_of_this_repository_are_each_in_one_list(self):
        self.assertEqual(check_targets.verify(), 0)

    def test_run_by_ci_include_prerequisites(self):
        targets = check_targets.targets_of(MAKEFILE)
        self.assertEqual(set(targets), {"help", "setup", "test", "lint"})
        self.assertEqual(check_targets.run_by_ci(CI, targets), {"setup", "test"})
        self.assertEqual(self.mistakes(), [])

    def test_in_no_list(self):
        (mistake,) = self.mistakes(left_out=["help"])
        self.assertIn("make lint is neither run", mistake)

    def test_in_both_lists(self):
        (mistake,) = self.mistakes(left_out=["help", "lint", "setup"])
        self.assertIn("make setup is run by .ci/run and listed", mistake)

    def test_in_the_list_only(self):
        (mistake,) = self.mistakes(left_out=["help", "lint", "dance"])
        self.assertIn("lists dance", mistake)

    def test_not_phony(self):
        (mistake,) = self.mistakes(makefile=MAKEFILE.replace("test lint\n", "test\n", 1))
        self.assertIn("lint", mistake)


if __name__ == "__main__":
    unittest.main()
