"""check.py must accept a case's own files and reject damaged ones."""

import array
import contextlib
import io
import json
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import check  # noqa: E402

CASE = HERE / "llama-gqa"


def npy(values, shape, descr="<f4"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values.tobytes()


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.shape, self.golden = check.read_npy(CASE / "logits.npy")
        self.largest = max(map(abs, self.golden))

    def run_check(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = check.main([*map(str, arguments), str(CASE)])
        return status, output.getvalue()

    def check_logits(self, values, shape=None, **options):
        path = self.folder / "logits.npy"
        path.write_bytes(npy(values, shape or self.shape, **options))
        return self.run_check(path)

    def check_greedy(self, tokens):
        path = self.folder / "output.json"
        path.write_text(json.dumps({"tokens": tokens}))
        return self.run_check("--greedy", path)

    def changed(self, index, value):
        values = array.array("f", self.golden)
        values[index] = value
        return values

    def test_golden_logits_pass(self):
        self.assertEqual(self.check_logits(self.golden)[0], 0)

    def test_error_within_tolerance_passes(self):
        values = self.changed(200, self.golden[200] + 1.9e-4 * self.largest)
        self.assertEqual(self.check_logits(values)[0], 0)

    def test_error_beyond_tolerance_fails_and_is_located(self):
        values = self.changed(200, self.golden[200] - 2.1e-4 * self.largest)
        status, output = self.check_logits(values)
        self.assertEqual(status, 1)
        self.assertIn(str([200 // self.shape[1], 200 % self.shape[1]]), output)

    def test_nan_and_infinity_fail(self):
        for value in (float("nan"), float("inf")):
            self.assertEqual(self.check_logits(self.changed(7, value))[0], 1)

    def test_wrong_shapes_fail(self):
        rows, columns = self.shape
        self.assertEqual(self.check_logits(self.golden, shape=(columns, rows))[0], 1)
        fewer = self.golden[: (rows - 1) * columns]
        self.assertEqual(self.check_logits(fewer, shape=(rows - 1, columns))[0], 1)
        self.assertEqual(self.check_logits(fewer)[0], 1)

    def test_other_type_fails(self):
        self.assertEqual(self.check_logits(self.golden, descr="<i4")[0], 1)

    def test_missing_and_malformed_files_fail(self):
        self.assertEqual(self.run_check(self.folder / "missing.npy")[0], 1)
        path = self.folder / "text.npy"
        path.write_text("no array")
        self.assertEqual(self.run_check(path)[0], 1)
        self.assertEqual(self.run_check("--greedy", path)[0], 1)

    def test_greedy(self):
        tokens = json.loads((CASE / "golden.json").read_text())["greedy"]["new_tokens"]
        self.assertEqual(self.check_greedy(tokens)[0], 0)
        self.assertEqual(self.check_greedy(tokens[:-1])[0], 1)
        self.assertEqual(self.check_greedy([*tokens[:40], tokens[40] ^ 1, *tokens[41:]])[0], 1)

    def test_greedy_stops_checking_at_an_ambiguous_step(self):
        golden = json.loads((CASE / "golden.json").read_text())
        golden["greedy"]["top2_margin"][40] = 0.0
        case = self.folder / "case"
        case.mkdir()
        (case / "golden.json").write_text(json.dumps(golden))
        output = self.folder / "output.json"
        tokens = golden["greedy"]["new_tokens"]
        for step, accepted in ((39, False), (40, True)):
            changed = [*tokens[:step], tokens[step] ^ 1, *tokens[step + 1 :]]
            output.write_text(json.dumps({"tokens": changed}))
            if accepted:
                check.check_greedy(output, case, check.TOLERANCE)
            else:
                with self.assertRaises(check.Failure):
                    check.check_greedy(output, case, check.TOLERANCE)


if __name__ == "__main__":
    unittest.main()
