"""Loads python/rapt/_float64.py, the oracle in Python, by its path: the package's extension may not be built."""

import importlib.util
import pathlib

_path = pathlib.Path(__file__).parents[1] / "python/rapt/_float64.py"
_spec = importlib.util.spec_from_file_location("_float64", _path)
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)
