"""The structs of kernels/abi.h as kernels see them: their fields, of the same types in the same order, are a kernel's
parameters, so that the bytes of the struct are the bytes of its arguments."""

from collections import namedtuple

Rows = namedtuple("Rows", "data batch seq head")
Scores = namedtuple("Scores", "data batch head query key")
Lse = namedtuple("Lse", "data batch head query")
Alibi = namedtuple("Alibi", "data batch head")
Sink = namedtuple("Sink", "data head")
Problem = namedtuple(
    "Problem",
    "cu_seqlens_q cu_seqlens_k total_q total_k batch heads_q heads_k group seqlen_q seqlen_k head_dim head_dim_v "
    "window_left window_right top_left heads_at_once xcds scale scale_log2 softcap bias mask alibi bias_dtype "
    "keep_threshold keep_scale dropout_seed dropout_offset dropout_seed_data dropout_offset_data sink sink_dtype units",
)
Forward = namedtuple("Forward", "size q_tiles q k v out lse problem")
Statistics = namedtuple("Statistics", "data batch head")
DqSum = namedtuple("DqSum", "data dims")
Dbias = namedtuple("Dbias", "data batch head query key batches heads queries keys")
Dsink = namedtuple("Dsink", "data head")
Backward = namedtuple("Backward", "size tiles q k v out dout dq dk dv lse statistics dq_sum dbias dsink problem")

ALIGNMENT = 16  # bytes, of tensors and of the distances between their rows


def _scores(element):
    return Scores(f"*{element}", "i64", "i64", "i64", "i64")


_PROBLEM = Problem(
    *["*i32"] * 2,
    *["i32"] * 15,
    *["fp32"] * 3,
    bias=_scores("i8"),
    mask=_scores("i8"),
    alibi=Alibi("*fp32", "i64", "i64"),
    bias_dtype="i32",
    keep_threshold="u32",
    keep_scale="fp32",
    dropout_seed="u64",
    dropout_offset="u64",
    dropout_seed_data="*i32",
    dropout_offset_data="*i32",
    sink=Sink("*i8", "i64"),
    sink_dtype="i32",
    units="i32",
)


def _rows(dtype):
    return Rows(f"*{dtype}", "i64", "i64", "i64")


def forward(dtype):
    """The types of rapt_forward_args."""
    return Forward("u32", "i32", *[_rows(dtype)] * 4, Lse("*fp32", "i64", "i64", "i64"), _PROBLEM)


def backward(dtype):
    """The types of rapt_backward_args. A row's statistics, two floats, are read and written as one number."""
    return Backward(
        "u32",
        "i32",
        *[_rows(dtype)] * 8,
        Lse("*fp32", "i64", "i64", "i64"),
        Statistics("*i64", "i64", "i64"),
        DqSum("*fp32", "i64"),
        Dbias("*i8", *["i64"] * 4, *["i32"] * 4),
        Dsink("*i8", "i64"),
        _PROBLEM,
    )


def aligned(types, path=(0,)):
    """What the compiler may assume of an argument at position 0: Triton's attributes by path."""
    if isinstance(types, (Rows, Scores)):
        return {(*path, field): [["tt.divisibility", ALIGNMENT]] for field in range(4)}  # all but the distance of keys
    parts = enumerate(types) if isinstance(types, tuple) else []
    return {at: attribute for i, part in parts for at, attribute in aligned(part, (*path, i)).items()}
