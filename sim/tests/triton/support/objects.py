"""A folder of code objects: index.txt, which says what is in it, and one ARCH.tar.xz for each architecture."""

import io
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

ARCHS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")


@dataclass
class Object:
    arch: str
    case: str
    symbol: str
    warps: int
    lds: int
    grid: str
    args: str
    code: bytes

    @property
    def crc(self):
        return f"{zlib.crc32(self.code):08x}"

    @property
    def line(self):
        return (
            f"{self.arch} {self.case} symbol={self.symbol} warps={self.warps} lds={self.lds} grid={self.grid} "
            f"args={self.args} bytes={len(self.code)} crc={self.crc}\n"
        )


def write_objects(folder, objects):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.txt").write_text("".join(o.line for o in objects))
    for arch in {o.arch for o in objects}:
        with tarfile.open(folder / f"{arch}.tar.xz", "w:xz", preset=9) as archive:
            for o in objects:
                if o.arch == arch:
                    entry = tarfile.TarInfo(o.case)
                    entry.size = len(o.code)
                    archive.addfile(entry, io.BytesIO(o.code))


def read_objects(folder, archs=None):
    """All of the folder's objects, or those of some architectures."""
    folder, codes, objects = Path(folder), {}, []
    for line in (folder / "index.txt").read_text().splitlines():
        arch, case, *rest = line.split()
        if archs is not None and arch not in archs:
            continue
        if arch not in codes:
            with tarfile.open(folder / f"{arch}.tar.xz") as archive:
                codes[arch] = {member.name: archive.extractfile(member).read() for member in archive}
        words = dict(word.split("=", 1) for word in rest)
        if case not in codes[arch]:
            raise ValueError(f"{arch}.tar.xz has no {case}")
        o = Object(
            arch,
            case,
            words["symbol"],
            int(words["warps"]),
            int(words["lds"]),
            words["grid"],
            words["args"],
            codes[arch][case],
        )
        if o.line != line + "\n":
            raise ValueError(f"{arch}.tar.xz: {case} is not what index.txt describes: {o.line}")
        objects.append(o)
    return objects
