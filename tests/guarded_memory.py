"""Memory between pages that nobody may touch: whoever reads or writes beyond it is ended by the system."""
import ctypes

import numpy

PAGE, NOTHING, READ, WRITE, PRIVATE_ANONYMOUS = 4096, 0, 1, 2, 0x22
system = ctypes.CDLL(None, use_errno=True)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
system.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guarded:
    """Memory that begins behind a page that nobody may touch, or ends where one begins; all bits are one, or what `content` has, which then stays:
    nobody may write there."""

    def __init__(self, size, at_end, content=None):
        inner = -(-size // PAGE) * PAGE
        base = system.mmap(None, inner + 2 * PAGE, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0)
        self.size, self.address = size, base + PAGE + (inner - size if at_end else 0)
        ctypes.memset(base + PAGE, 0xFF, inner)
        if content is not None:
            ctypes.memmove(self.address, content, size)
        for start, length, access in ((base, PAGE, NOTHING), (base + PAGE + inner, PAGE, NOTHING),
                                      (base + PAGE, inner, READ | (0 if content is not None else WRITE))):
            if length and system.mprotect(start, length, access) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")

    def array(self, shape, dtype):
        return numpy.frombuffer(ctypes.string_at(self.address, self.size), dtype).reshape(shape)
