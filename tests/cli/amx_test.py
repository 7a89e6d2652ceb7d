"""If the system refuses AMX's tiles to a process, the next tier runs, correctly, and doctor names the reason."""

import ctypes
import struct
from pathlib import Path

import support

PROBLEM = "b1 hq2 hk1 sq70 sk90 d64 bf16 causal"
ERRORS = {1: "Operation not permitted", 22: "the kernel or the virtual machine has no support", 28: "signal stack"}


def refuse_tiles(error):
    """Makes arch_prctl(ARCH_REQ_XCOMP_PERM, ...) fail with `error` in this process and the processes that it starts."""
    load, jump_if_equal, result = 0x20, 0x15, 0x06
    arch_prctl, request, allow, fail = 158, 0x1023, 0x7FFF0000, 0x00050000
    lines = [
        (load, 0, 0, 0),  # the system call's number
        (jump_if_equal, 0, 3, arch_prctl),
        (load, 0, 0, 16),  # its first argument
        (jump_if_equal, 0, 1, request),
        (result, 0, 0, fail | error),
        (result, 0, 0, allow),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code))
    prctl = ctypes.CDLL(None).prctl
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if prctl(no_new_privileges, 1, 0, 0, 0) or prctl(set_seccomp, filter_mode, program, 0, 0):
        raise OSError("no seccomp filters here")


class AmxTest(support.CommandTest):
    def test_a_process_without_the_permission_runs_on_the_next_tier(self):
        flags = Path("/proc/cpuinfo").read_text()
        has_amx = " amx_bf16 " in flags
        for error, reason in ERRORS.items():
            refuse = {"preexec_fn": lambda error=error: refuse_tiles(error)}
            report = self.rapt("doctor", PROBLEM, **refuse).stdout
            self.assertNotIn("  amx_bf16      used", report)
            self.assertEqual(has_amx, reason in report, report)
            self.rapt("verify", PROBLEM, says=["0 failed"], **refuse)


if __name__ == "__main__":
    support.main()
