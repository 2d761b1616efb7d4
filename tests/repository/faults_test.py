"""scripts/faults fails whenever a campaign has failed, has not run to its end, or has tested nothing."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/faults"


class Faults(unittest.TestCase):
    def run_with(self, program, campaigns):
        """Runs the script in a build where weft_chaos and weft_file_faults are this shell script."""
        with tempfile.TemporaryDirectory() as build:
            folder = Path(build) / "tests/faults"
            folder.mkdir(parents=True)
            for name in ["weft_chaos", "weft_file_faults"]:
                path = folder / name
                path.write_text(f"#!/bin/sh\n{program}\n")
                path.chmod(0o755)
            return subprocess.run([SCRIPT, "--build", build, "--minutes", "0.1", *campaigns], capture_output=True,
                                  text=True, check=False)

    def test_passes_if_all_pass(self):
        done = self.run_with("echo 3 passed, 0 failed", ["chaos-threads", "files"])
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.endswith("\n6 passed, 0 failed\n"), done.stdout)

    def test_counts_failures(self):
        done = self.run_with("echo 3 passed, 2 failed; exit 1", ["files"])
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.endswith("\n3 passed, 2 failed\n"), done.stdout)

    def test_an_exit_code_is_a_failure(self):
        done = self.run_with("echo 3 passed, 0 failed; exit 1", ["files"])
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.endswith("\n3 passed, 1 failed\n"), done.stdout)

    def test_nothing_tested_is_a_failure(self):
        done = self.run_with("echo 0 passed, 0 failed", ["files"])
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.endswith("\n0 passed, 1 failed\n"), done.stdout)

    def test_a_campaign_that_does_not_exist_is_refused(self):
        done = self.run_with("echo 3 passed, 0 failed", ["files", "flies"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown campaign flies", done.stderr)
        self.assertNotIn("passed", done.stdout)


if __name__ == "__main__":
    unittest.main()
