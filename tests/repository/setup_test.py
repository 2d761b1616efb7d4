"""make setup installs missing packages without questions, and only lists them with DRY=1; make install takes PREFIX."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments, environment=None):
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=ROOT, check=True, capture_output=True, text=True, env={**os.environ, **(environment or {})},
    ).stdout  # fmt: skip


class Setup(unittest.TestCase):
    """Runs with a compiler that finds no header and an apt-get that records its arguments."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.record = Path(folder.name) / "record"
        self.add_program(folder.name, "g++", "exit 1")
        self.add_program(folder.name, "apt-get", f'echo "$@" >> {self.record}')
        self.add_program(folder.name, "sudo", 'exec "$@"')
        self.environment = {"PATH": f"{folder.name}:{os.environ['PATH']}"}

    def add_program(self, folder, name, body):
        program = Path(folder) / name
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)

    def test_dry_run_installs_nothing(self):
        output = make("setup", "DRY=1", environment=self.environment)
        self.assertIn("missing: libfmt-dev", output)
        self.assertIn("missing: libpng-dev", output)
        self.assertFalse(self.record.exists())

    def test_installs_without_questions(self):
        make("setup", environment=self.environment)
        update, install = self.record.read_text(encoding="utf-8").splitlines()
        self.assertEqual(update, "update")
        self.assertTrue(install.startswith("install -y "), install)
        self.assertIn("libfmt-dev", install.split())


class Install(unittest.TestCase):
    def test_takes_a_prefix(self):
        commands = make("--dry-run", "install", "PREFIX=/opt/weft", "PRESET=cpu")
        self.assertIn("--target weft weft_app", commands)
        self.assertIn('cmake --install build/cpu --prefix "/opt/weft"', commands)


if __name__ == "__main__":
    unittest.main()
