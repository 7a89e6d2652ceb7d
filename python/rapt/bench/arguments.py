"""Arguments that the benches have in common."""

import argparse
import math

import torch


def add_device(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default=default, help="cpu or cuda; default cuda where there is one"
    )


def device_here() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def check_device(parser: argparse.ArgumentParser, device: str, who: str = "--device") -> None:
    if device == "cuda" and not torch.cuda.is_available():
        parser.error(f"{who} is cuda, and PyTorch has no GPU here")


def seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} must be a number of seconds, at least 0")
    return value


def at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} must be at least 1")
    return value
