#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pprof_encoder_check.py PPROF_ENCODER_TEST: reads the profiles that the program writes, by their bytes and, when
HEAPSNAP_PPROF in the environment names it, by the real pprof; both must see what the program put in."""

import os
import subprocess
import sys
import tempfile
import unittest

import pprof_reader

PROGRAM = sys.argv.pop(1)
PPROF = os.environ.get("HEAPSNAP_PPROF")

STACKS = [
    (("inner", "work(int)", "main"), [11, 1100, 5, 500]),
    (("inner", "work(int)", "main", "malloc", "main"), [2, 20, 1, 10]),
    (("malloc",), [3, 30, 3, 30]),
    (("0x7f0000000030", "main"), [1, 5000000000, 1, 5000000000]),
    (("[stack unknown]",), [1, 7, 1, 7]),
]

SAMPLED_STACKS = [
    (("inner", "work(int)", "main"), [110, 11000, 50, 5000]),
    (("inner", "work(int)", "main"), [5, 50, 5, 50]),
    (("inner", "work(int)", "main"), [8, 80, 8, 80]),
    (("inner", "work(int)", "main", "malloc", "main"), [2, 20, 0, 0]),
    (("[stack unknown]",), [1, 7, 1, 7]),
    (("[stack unknown]",), [1, 8, 1, 8]),
]


class EncoderCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.directory.name, "exact.pb.gz")
        subprocess.run([PROGRAM, cls.directory.name], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def check_profile(self, profile):
        pprof_reader.check_rules(profile)
        self.assertEqual(profile.stacks(), STACKS)
        self.assertEqual(profile.period, 1)
        self.assertEqual(profile.total("inuse_space"), 5000000547)
        self.assertEqual(profile.mappings, [
            pprof_reader.Mapping(1, 0x400000, 0x500000, 0x1000, "/usr/bin/program", "0123456789abcdef",
                                 frozenset(["FN", "FL", "LN", "IN"])),
            pprof_reader.Mapping(2, 0x7f0000000000, 0x7f0000100000, 0, "/usr/lib/lib\\xff.so", "fedcba", frozenset(["FN"])),
        ])
        work = profile.locations[profile.samples[0].locations[0] - 1]
        self.assertEqual((work.address, work.mapping_id), (0x400200, 1))
        self.assertEqual([(line.function.filename, line.line, line.function.start_line) for line in work.lines],
                         [("work.cc", 11, 10), ("work.cc", 22, 20)])
        self.assertEqual(work.lines[1].function.system_name, "_Z4worki")
        self.assertEqual(profile.locations[profile.samples[4].locations[0] - 1].mapping_id, 0)
        self.assertEqual(len(profile.functions), 5)
        self.assertNotIn("unused", str(profile.functions))
        self.assertEqual(profile.comments, [
            "heapsnap: 0.1.0, PID 42", "Incomplete: 2 stacks end early.",
            "#process: program: pro||gram | pid: 42 | time: 2023-11-14T22:13:20Z | stopped_ns: 1234567 (the process was stopped for the snapshot: asked for)",
            "#ledger: allocations: 18 (blocks allocated) | LOSS: stack_cut: 2 (stacks cut at the depth limit)"])
        names = ("stack_cut", "pid", "program", "time", "stopped_ns", "none")
        self.assertEqual([profile.comment(name) for name in names],
                         ["2", "42", "pro|gram", "2023-11-14T22:13:20Z", "1234567", None])

    def test_bytes(self):
        profile = pprof_reader.decode(self.path)
        self.check_profile(profile)
        self.assertEqual((profile.time_nanos, profile.duration_nanos), (1700000000123456789, 5000000000))
        with open(self.path, "rb") as file:
            self.assertEqual(file.read(2), b"\x1f\x8b")

    @unittest.skipUnless(PPROF, "HEAPSNAP_PPROF is not set")
    def test_pprof(self):
        self.check_profile(pprof_reader.read_raw(self.path))

    @unittest.skipUnless(PPROF, "HEAPSNAP_PPROF is not set")
    def test_reports(self):
        top = pprof_reader.run("-top", "-unit=bytes", "-nodefraction=0", self.path)
        self.assertIn("Type: inuse_space", top)
        self.assertIn("File: program", top)
        self.assertIn("Build ID: 0123456789abcdef", top)
        self.assertIn("5000000547B total", top)
        self.assertIn("heapsnap: 0.1.0, PID 42\nIncomplete: 2 stacks end early.\nType:", top)
        self.assertNotIn("#", top)
        self.assertRegex(top, r"(?m)^ +510B .*  inner")
        traces = pprof_reader.run("-traces", "-unit=bytes", self.path)
        self.assertRegex(traces, r"(?m)^ +500B   inner \(inline\)\n +work\(int\)\n +main$")
        objects = pprof_reader.run("-top", "-sample_index=alloc_objects", "-nodefraction=0", self.path)
        self.assertIn("Total samples = 18", objects)

    def check_sampled(self, read):
        """With and without errors: the same values, told apart by the number of samples per block alone."""
        plain, errors = (read(os.path.join(self.directory.name, name)) for name in ("sampled.pb.gz", "sampled_errors.pb.gz"))
        for profile in (plain, errors):
            pprof_reader.check_rules(profile)
            self.assertEqual(profile.stacks(), SAMPLED_STACKS)
            self.assertEqual(profile.period, 4096)
            self.assertEqual(profile.comments[1], "Estimates: inuse_space ± 4096 bytes, inuse_objects ± 4096 (standard errors of the totals)")
            self.assertEqual(len(profile.comments), 5)
            self.assertEqual([profile.comment(name) for name in
                              ("sampling_interval", "samples", "sampling_interval_most", "inuse_objects_error", "inuse_space_error")], ["4096", "12", "0", "4096", "4096"])
        self.assertEqual([sample.labels for sample in plain.samples],
                         [{}, {"n_samples": (1, "count")}, {"n_samples": (3, "count")}, {}, {}, {"n_samples": (2, "count")}])
        # The interval, and 1 / (2 sinh(s / 2 R)) blocks of the mean size s: what one more sample would stand for.
        self.assertEqual([[sample.labels[key] for key in ("samples", "inuse_objects_error", "inuse_space_error")]
                          for sample in errors.samples],
                         [[(records, "count"), (objects, "count"), (size, "bytes")] for records, objects, size in
                          ((5, 41, 4096), (2, 410, 4096), (3, 410, 4096), (0, 410, 4096), (1, 586, 4096), (1, 512, 4096))])
        self.assertEqual([sample.labels.get("n_samples") for sample in errors.samples],
                         [sample.labels.get("n_samples") for sample in plain.samples])

    def test_sampled_bytes(self):
        self.check_sampled(pprof_reader.decode)

    @unittest.skipUnless(PPROF, "HEAPSNAP_PPROF is not set")
    def test_sampled_pprof(self):
        self.check_sampled(pprof_reader.read_raw)

    @unittest.skipUnless(PPROF, "HEAPSNAP_PPROF is not set")
    def test_sampled_reports(self):
        path = os.path.join(self.directory.name, "sampled_errors.pb.gz")
        top = pprof_reader.run("-top", "-unit=bytes", "-nodefraction=0", path)
        self.assertRegex(top, r"(?m)^ +5130B .*  inner")  # summed over labels
        tags = pprof_reader.run("-tags", "-unit=bytes", path)
        self.assertRegex(tags, r"(?m) n_samples: Total 138\.0B\n +80\.0B \(57\.97%\): 3")

    def test_exact_errors(self):
        """Exact values have an error of 0; that is said, too, and there are no comments on estimates."""
        profile = pprof_reader.decode(os.path.join(self.directory.name, "exact_errors.pb.gz"))
        pprof_reader.check_rules(profile)
        self.assertEqual(profile.stacks(), STACKS)
        self.assertEqual([sample.labels["samples"][0] for sample in profile.samples], [5, 1, 3, 1, 1])
        self.assertEqual({sample.labels["inuse_space_error"] for sample in profile.samples}, {(0, "bytes")})
        self.assertIsNone(profile.comment("inuse_space_error"))


unittest.main()
