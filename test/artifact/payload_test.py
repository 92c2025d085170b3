# SPDX-License-Identifier: Apache-2.0
"""payload_test.py [--program PROGRAM] LINKED FLAT HEADER_LAYOUT OBJDUMP OBJECT...: checks the linked payload, and that the program
carries it."""

import argparse
import sys

import payload_checks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    for name in ("linked", "flat", "header_layout", "objdump"):
        parser.add_argument(name)
    parser.add_argument("objects", nargs="+")
    arguments = parser.parse_args()
    payload = payload_checks.Payload(arguments.linked, arguments.objects, arguments.flat, arguments.header_layout, arguments.objdump)
    failed = payload_checks.run_checks(payload)
    if arguments.program:
        bad = payload_checks.embedded_image(arguments.program, payload.flat)
        if bad:
            failed["embedded_image"] = bad
    for name, bad in failed.items():
        for text in bad:
            print(f"{name}: {text}")
    print(f"{len(payload.image)} bytes, {len(payload.instructions)} instructions in {len(payload.code_ranges)} pieces of code, "
          f"{len(payload_checks.CHECKS)} checks, {len(failed)} failed")
    return 1 if failed else 0


sys.exit(main())
