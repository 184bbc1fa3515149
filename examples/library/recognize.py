"""examples/library/recognize.py: a trained model in Python, a shared library with ctypes and NumPy.

  recognize.py libdigits_shared.so PICTURES PROBABILITIES N

Float32 numbers, 64 a picture in and 10 a picture out; N pictures a run.
"""
import ctypes
import sys

import numpy


class Digits:
    """A context of its own: one thread at a time."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.digits_build.restype = ctypes.c_uint64
        self.library.digits_status_text.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.check(self.library.digits_allocate(ctypes.c_uint64(self.library.digits_build()), ctypes.byref(self.context)))

    def __del__(self):
        self.library.digits_destroy(self.context)

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.digits_status_text(status).decode())

    def run(self, images):
        """The probabilities, shape (n, 10), of images of shape (n, 1, 8, 8)."""
        images = numpy.ascontiguousarray(images, "f4")
        probabilities = numpy.empty((len(images), 10), "f4")
        inputs = (ctypes.c_void_p * 1)(images.ctypes.data)
        outputs = (ctypes.c_void_p * 1)(probabilities.ctypes.data)
        self.check(self.library.digits_run(self.context, inputs, outputs, ctypes.c_int64(len(images))))
        return probabilities


library, source, target, n = sys.argv[1:]
net, pictures = Digits(library), numpy.fromfile(source, "f4").reshape(-1, 1, 8, 8)
numpy.concatenate([net.run(pictures[at : at + int(n)]) for at in range(0, len(pictures), int(n))]).tofile(target)
