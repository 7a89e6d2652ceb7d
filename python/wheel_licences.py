"""The licences of what is linked into a wheel: from Debian's copyright files, another system's, or a package's own."""

import glob
import importlib.metadata
import re
from pathlib import Path

# Debian's package, and names that other systems' packages have.
_LINKED = {
    "zstd": ("libzstd-dev", "zstd", "libzstd-devel"),
    "fmt": ("libfmt-dev", "fmt", "fmt-devel"),
    "CLI11": ("libcli11-dev", "cli11", "cli11-devel"),
    "nlohmann-json": ("nlohmann-json3-dev", "nlohmann-json", "json-devel"),
    "libstdc++": ("libstdc++6", "gcc-libs", "libstdc++"),
}


def licences():
    """({file name: text}, [what has no licence here])."""
    found = {name: _of_system(*packages) for name, packages in _LINKED.items()}
    found["nanobind"] = _of_nanobind()
    found["robin_map"] = _of_robin_map()
    texts = {f"third-party/{name}.txt": text for name, text in found.items() if text}
    return texts, [name for name, text in found.items() if not text]


def _of_system(debian, *others):
    debians = glob.glob(f"/usr/share/doc/{debian}/copyright")
    paths = debians or [path for other in others for path in sorted(glob.glob(f"/usr/share/licenses/{other}/*"))]
    return "\n".join(Path(path).read_text(encoding="utf-8") for path in paths if Path(path).is_file())


def _of_nanobind():
    for file in importlib.metadata.files("nanobind") or ():
        if file.name == "LICENSE":
            return file.read_text(encoding="utf-8")
    return ""


def _of_robin_map():
    """nanobind has this hash table inside, whose licence is the first comment of its header."""
    for file in importlib.metadata.files("nanobind") or ():
        if file.name == "robin_map.h":
            comment = re.match(r"\s*/\*\*?(.*?)\*/", file.read_text(encoding="utf-8"), re.DOTALL)
            return re.sub(r"(?m)^ \* ?", "", comment[1]).strip() + "\n" if comment else ""
    return ""
