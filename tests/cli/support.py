"""Shared by the tests of the rapt command: running it, and a minimal .safetensors writer and reader."""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

RAPT = None  # path of the program under test, from the command line


def rapt(*arguments, cwd=None, preexec_fn=None):
    return subprocess.run([RAPT, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, preexec_fn=preexec_fn,
                          timeout=300, check=False)


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def rapt(self, *arguments, code=0, says=(), **options):
        """Runs the command in the test's folder; errors must be on stderr and name each string of `says`."""
        result = rapt(*arguments, cwd=self.folder, **options)
        self.assertEqual(result.returncode, code, f"{arguments}\n{result.stdout}\n{result.stderr}")
        for text in says:
            self.assertIn(text, result.stderr if code == 2 else result.stdout)
        if code == 2:
            self.assertNotEqual(result.stderr, "")
        return result

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


def safetensors_bytes(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def write_safetensors(path, tensors):
    """tensors: name -> (type name, array); the array's bytes are written as they are."""
    header, data = {}, b""
    for name, (kind, array) in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    path.write_bytes(safetensors_bytes(header, data))


def read_safetensors(path):
    types = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    data = raw[8 + length:]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + length]).items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def to_bf16(array):
    bits = np.asarray(array, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def main():
    global RAPT
    RAPT = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__")
