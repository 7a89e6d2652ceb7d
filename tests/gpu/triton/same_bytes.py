"""Triton's kernels compiled once more, from a copy of the sources in another folder, have the same bytes; the archives
beside this file are what the build would pack. Usage: same_bytes.py SOURCE BUILD TRITON"""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

source, build, triton = map(Path, sys.argv[1:])
here = Path(__file__).parent
failed = []
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary)
    shutil.copytree(source / "kernels/triton", folder / "elsewhere")
    for line in (here / "kernels").read_text().splitlines():
        arch, *wanted = line.split()
        rows = subprocess.run(
            [build / "kernels/rows", source / "kernels/manifest", arch], check=True, capture_output=True, text=True
        )
        of_name = {row.split()[0]: row.split()[2:] for row in rows.stdout.splitlines()}
        asked = [f"{name}:{of_name[name][0]}:{','.join(of_name[name][1:])}" for name in wanted]
        command = [sys.executable, folder / "elsewhere/compile.py", "--arch", arch, "-o", folder, *asked]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(triton)})
        for name in wanted:
            if not filecmp.cmp(folder / (name + ".co"), build / "kernels" / arch / (name + ".co"), shallow=False):
                failed.append(f"{arch} {name}: another build has other bytes")
    subprocess.run([here / "pack", build, folder], check=True)
    failed += [
        f"{path.name}: not what the build packs; pack writes it anew"
        for path in sorted(here.glob("*.rapt"))
        if not filecmp.cmp(path, folder / path.name, shallow=False)
    ]
print("\n".join(failed) or "the same bytes")
sys.exit(bool(failed))
