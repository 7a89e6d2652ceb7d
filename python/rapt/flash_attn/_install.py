"""install() and uninstall(): rapt.flash_attn replaces the package flash_attn, and gives its place back."""

import importlib.abc
import importlib.metadata
import re
import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

from rapt.flash_attn._triton import forget_wish, honour_wish

_MODULES = {  # its module: ours; None for a package that only has modules
    "flash_attn": "rapt.flash_attn",
    "flash_attn.flash_attn_interface": "rapt.flash_attn.flash_attn_interface",
    "flash_attn.bert_padding": "rapt.flash_attn.bert_padding",
    "flash_attn.flash_attn_triton_amd": "rapt.flash_attn.flash_attn_interface",  # the functions by Triton for AMD
    "flash_attn.layers": None,
    "flash_attn.layers.rotary": "rapt.flash_attn.rotary",
    "flash_attn.ops": None,
    "flash_attn.ops.triton": None,
    "flash_attn.ops.triton.rotary": "rapt.flash_attn.rotary",
    "flash_attn_2_cuda": "rapt.flash_attn.extension",
    "flash_attn_interface": "rapt.flash_attn.flash_attn_3",  # FlashAttention 3's
    "flash_attn_3": "rapt.flash_attn.flash_attn_3",
    "flash_attn_3.flash_attn_interface": "rapt.flash_attn.flash_attn_3",
}
_PACKAGES = {name.rpartition(".")[0] for name in _MODULES}  # what other modules are in
_DISTRIBUTIONS = {  # other programs ask for a distribution's version, and which distribution has a module
    "flash-attn": ("rapt.flash_attn", ["flash_attn", "flash_attn_2_cuda"]),
    "flash-attn-3": ("rapt.flash_attn.flash_attn_3", ["flash_attn_3", "flash_attn_interface"]),
}
_PRIVATE = ("__version__", "_flash_attn_", "_wrapped_flash_attn_")  # names that other programs import nevertheless


def install() -> None:
    """From here on `import flash_attn` in this process gives rapt.flash_attn, even if the real one is installed.

    It also has the modules flash_attn_interface, bert_padding, layers.rotary and ops.triton.rotary, FlashAttention 3's
    module flash_attn_interface, and the metadata of both distributions. Call it before importing anything that looks
    for flash_attn: transformers and others look once and remember. FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE chooses
    kernels by Triton where the archive has some, until the process has first used a GPU; otherwise a warning says why
    not.
    """
    if why_not := honour_wish():
        warnings.warn(why_not, stacklevel=2)
    _forget_modules()
    sys.meta_path[:] = [_StandIn(), *(finder for finder in sys.meta_path if not isinstance(finder, _StandIn))]
    importlib.invalidate_caches()


def uninstall() -> None:
    """Undo install(): `import flash_attn` finds the real one again, or none. Functions that were imported before stay
    what they are."""
    forget_wish()
    if any(isinstance(finder, _StandIn) for finder in sys.meta_path):
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _StandIn)]
        _forget_modules()
        importlib.invalidate_caches()


def _forget_modules():
    packages = {name.partition(".")[0] for name in _MODULES}
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]


class _StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of _MODULES and the distributions; FlashAttention's other modules are absent."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in _MODULES:
            return ModuleSpec(fullname, self, origin="rapt.flash_attn", is_package=fullname in _PACKAGES)
        if fullname.startswith(("flash_attn.", "flash_attn_3.")) and _is_import():
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: rapt.flash_attn is in flash_attn's place, and has only its attention",
                name=fullname,
            )
        return None

    def create_module(self, spec):
        return ModuleType(spec.name)

    def exec_module(self, module):
        if ours := _MODULES[module.__name__]:
            found = vars(importlib.import_module(ours))
            for name, value in found.items():
                if name.startswith(_PRIVATE) or not (name.startswith("_") or isinstance(value, ModuleType)):
                    setattr(module, name, value)  # modules are imported by name
            module.__file__ = found["__file__"]  # messages of Python about missing names show it

    def find_distributions(self, context=None):
        if context is not None and "path" in vars(context):  # only what is installed in certain folders
            return []
        name = None if context is None else context.name
        wanted = name and re.sub(r"[-_.]+", "-", name).lower()  # as pip compares names
        return [_Distribution(name) for name in _DISTRIBUTIONS if wanted in (None, name)]


def _is_import() -> bool:
    """True within an import statement, false within importlib.util.find_spec, by which programs ask."""
    return sys._getframe(3).f_code.co_name == "_find_and_load_unlocked"


class _Distribution(importlib.metadata.Distribution):
    def __init__(self, name):
        self._name, (self._module, self._modules) = name, _DISTRIBUTIONS[name]

    def read_text(self, filename):
        if filename == "METADATA":
            version = importlib.import_module(self._module).__version__
            return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {version}\nSummary: {self._module}\n"
        return "\n".join(self._modules) if filename == "top_level.txt" else None

    def locate_file(self, path):
        raise NotImplementedError(f"rapt.flash_attn replaces {self._name}, which has no files here")
