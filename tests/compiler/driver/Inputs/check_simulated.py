# The lines of `mxc simulate --json` against arithmetic: check_simulated.py BYTES COMPUTE BANDWIDTH, those of the parameters, of a step, of a link.
import json
import sys

parameters, compute, bandwidth = map(float, sys.argv[1:])
rows = [json.loads(line) for line in sys.stdin]
assert [row["workers"] for row in rows] == [1, 2, 4], rows
assert rows[0]["sent"] == 0 and abs(rows[0]["step"] - compute) < 1e-6 * compute and abs(rows[0]["scaling"] - 1) < 1e-6, rows[0]
for row in rows[1:]:
    n = row["workers"]
    least = 2 * parameters * (n - 1) / n
    assert least <= row["sent"] <= 1.1 * least, (row, least)
    assert abs(row["compute"] - compute) < 1e-6 * compute, row
    assert row["step"] >= max(row["compute"], row["sent"] / bandwidth) * (1 - 1e-6), row
    assert abs(row["scaling"] - compute / row["step"]) < 1e-4, row
    assert abs(row["samples_per_second"] - 2 * n / row["step"]) < 1e-4 * row["samples_per_second"], row
    assert 0 <= row["hidden"] <= 1, row
