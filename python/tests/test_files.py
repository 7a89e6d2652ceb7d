"""Files of results are complete or absent, and are JSON."""

import json
import math
import os
from pathlib import Path

import pytest
from rapt import _files


def test_a_file_is_complete_or_absent(tmp_path):
    file = tmp_path / "rows.json"
    _files.write(str(file), "old")
    with pytest.raises(UnicodeEncodeError):
        _files.write(str(file), "new \ud800")  # fails midway
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["rows.json"]
    _files.write(str(file), "new")
    assert file.read_text() == "new" and os.listdir(tmp_path) == ["rows.json"]


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    _files.write(_files.path_to_write(str(pipe)), "rows")
    assert os.read(reader, 100) == b"rows" and pipe.is_fifo()
    os.close(reader)


def test_a_device_stays_a_device():
    with pytest.raises(OSError, match="No space left"):
        _files.write(_files.path_to_write("/dev/full"), "rows")
    assert Path("/dev/full").is_char_device()


def test_json_has_only_finite_numbers():
    value = {"a": [1.5, math.nan, (math.inf, "x")], "b": {"c": -math.inf, "d": True, "e": None, "f": 3}}
    expected = {"a": [1.5, None, [None, "x"]], "b": {"c": None, "d": True, "e": None, "f": 3}}
    assert json.loads(_files.json_of(value)) == expected
