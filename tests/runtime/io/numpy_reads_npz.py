"""The archives that runtime/io writes, read by NumPy. Usage: numpy_reads_npz.py FILE.npz (as npz_writer makes it)"""
import sys

import numpy as np

with np.load(sys.argv[1]) as file:
    assert file["half"].dtype == np.float32 and file["half"].tolist() == [[0.0, 0.5], [1.0, 1.5]], file["half"]
    assert file["count"].dtype == np.int64 and file["count"].tolist() == [7, -8], file["count"]
    assert file["größe"].shape == () and file["größe"] == 2.25
