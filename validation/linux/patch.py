# SPDX-License-Identifier: GPL-2.0-only
# Changes to the source of the Linux kernel 6.1 (GPL-2.0), made in place by build.sh; the resulting kernel is GPL-2.0.
import re


def sub(p: str, old: str, new: str, n: int = 1) -> None:
    s = open(p).read()
    assert old in s, (p, old)
    open(p, "w").write(s.replace(old, new, n))


# 1. HZ 100 -> 1000 (no prompt in arch/um/Kconfig): TCP timers, PIE's tupdate, CUBIC's clock
s = open("arch/um/Kconfig").read()
t = re.sub(r"(config HZ\n\tint\n\tdefault) 100\n", r"\1 1000\n", s)
assert s != t
open("arch/um/Kconfig", "w").write(t)
# 2. deterministic "host" random numbers
sub(
    "arch/um/os-Linux/util.c",
    "\treturn getrandom(buf, len, flags);\n",
    """\tstatic unsigned long long st; unsigned char *b = buf; size_t i;
	if (!st) { const char *e = getenv("UML_SEED"); st = e ? strtoull(e, 0, 0) : 1; st = st * 0x9e3779b97f4a7c15ULL + 1; }
	for (i = 0; i < len; i++) { st = st * 6364136223846793005ULL + 1442695040888963407ULL; b[i] = st >> 56; }
	(void)flags;
	return len;
""",
)
# 3. hosts whose XSAVE area is larger than 2696 bytes (AMX): pad on restore
p = "arch/x86/um/os-Linux/registers.c"
sub(p, "#include <stdlib.h>", "#include <stdlib.h>\n#include <string.h>")
sub(
    p,
    """	if (have_xstate_support) {
		iov.iov_base = fp_regs;
		iov.iov_len = FP_SIZE * sizeof(unsigned long);
		if (ptrace(PTRACE_SETREGSET,""",
    """	if (have_xstate_support) {
		static unsigned char full[65536];
		static size_t n;

		if (!n) {
			iov.iov_base = full;
			iov.iov_len = sizeof(full);
			if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
				return -errno;
			n = iov.iov_len;
			memset(full, 0, sizeof(full));
		}
		memcpy(full, fp_regs, n < FP_SIZE * sizeof(unsigned long) ?
		       n : FP_SIZE * sizeof(unsigned long));
		iov.iov_base = full;
		iov.iov_len = n;
		if (ptrace(PTRACE_SETREGSET,""",
)
