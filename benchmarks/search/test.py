#!/usr/bin/env python3
"""Tests without peers: `python benchmarks/search/test.py`."""

import sys

sys.dont_write_bytecode = True

import unittest

import table
import windows


def found(*probes):
    f = windows.Found("t", "queueing", 0)
    for load, meets in probes:
        f.add(load, meets, 10)
    return f


class Bracket(unittest.TestCase):
    def test_ends(self):
        for probes, low, high in [
            ([(1, True), (2, True), (4, False)], 2, 4),
            ([(1, True), (2, False), (4, True)], 1, 2),  # a PASS above a FAIL is no low end
            ([(1, True)], 1, None), ([(1, False)], None, 1),
        ]:
            f = found(*probes)
            f.bracket()
            self.assertEqual((f.line["low"], f.line["high"], f.line["answer"]), (low, high, low))

    def test_contradicted(self):
        self.assertFalse(table.contradicted(found((1, True), (2, False)).line))
        self.assertTrue(table.contradicted(found((2, True), (2, False)).line))
        self.assertFalse(table.contradicted(found((1, None), (2, True)).line))


class Windows(unittest.TestCase):
    def test_values(self):
        w = windows.Window(1, [0, 1, 2], [0.5, 1.5, 2.1], [1, 3, 9], [2, 4, 1])
        self.assertEqual(w.values("e2e"), [2000, 7000])
        self.assertEqual(w.values("ttft", ended_by=8), [500])
        self.assertEqual(w.values("tpot"), [500])  # one token has no gap
        self.assertEqual(w.server_s(), 9)

    def test_milliseconds(self):
        self.assertEqual([windows.milliseconds(t) for t in ("8300us", "500ms", "1s")], [8.3, 500, 1000])


class Rows(unittest.TestCase):
    def test_row(self):
        one = {"tool": "t", "probes": [{"load": 1, "pass": True, "server_s": 30}], "low": 10, "high": 12, "answer": 10}
        self.assertEqual(table.row("t", [one], 11), ["t", "1", "1 (1)", "30 (30)", "9.1 / 9.1 %", "-9.1 %",
                                                     "20 % (20 %)", "0", "100 %", "0 %"])


if __name__ == "__main__":
    unittest.main()
