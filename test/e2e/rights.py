# SPDX-License-Identifier: Apache-2.0
"""A tool that has more rights than its user does not listen to the variables by which tests make it fail."""

import os
import shutil
import subprocess

from harness import Target, as_user, attach, attach_state, check, check_equal, check_refused, copy_for_everybody, detach, heapsnap, leave_out, root, run_test

NOBODY = 65534
FAILS = {"HEAPSNAP_FAIL_AT": "1"}
CAPABILITIES = "cap_sys_ptrace,cap_sys_admin,cap_dac_override"  # to write into the memory of a process of root is what its file's mode allows root alone


def fails(target, prefix=(), program=None, environment=FAILS):
    """Whether an attach is made to fail."""
    result = heapsnap("attach", target.pid, prefix=prefix, program=program, environment=environment)
    made = "made to fail at step 1" in result.stderr
    check_equal(result.status, 1 if made else 0, str(result))
    if result.status == 0:
        check(heapsnap("detach", target.pid).status == 0, "detach")
    return made


def many_groups():
    """A process, or the tool's user, may have more groups than fit into 64 KiB of its status."""
    groups = ["setpriv", "--groups", ",".join(str(4000000000 + number) for number in range(8000))]
    target = Target("changes", command=[*groups, os.path.join(os.environ["HEAPSNAP_TARGETS"], "changes")])
    attach(target.pid, prefix=groups)
    check_equal(attach_state(target.pid), "attached", "state")
    detach(target.pid)
    target.end()


def cannot_look(program):
    """Where processes cannot be looked at, status does not say that none is attached; of one process it says why, as other commands do."""
    check_refused(heapsnap("status", prefix=["prlimit", "--nofile=5"]), "no more than 5 open files")
    for command in ("status", "attach"):
        check_refused(heapsnap(command, os.getpid(), prefix=as_user(NOBODY - 3), program=program), rf"process {os.getpid()} \(", "belongs to user 0, group 0",
                      "run it as that user or as root")
    result = heapsnap("status", prefix=as_user(NOBODY - 3), program=program)
    check_equal(result.status, 0, str(result))
    check("no process is attached" not in result.stdout and "could not be looked at" in result.stdout, str(result))
    report = heapsnap("status", "--json", prefix=as_user(NOBODY - 3), program=program).json
    check(report["not_looked_at"] > 0 and report["proc_hides_processes"] is False, f"JSON where processes of others are listed: {report}")
    for option in ("invisible", "ptraceable"):  # 2 and 4
        hides = ["unshare", "--mount", "sh", "-euc", 'mount -t proc -o "hidepid=$0" none /proc; exec "$@"', option]
        result = heapsnap("status", prefix=[*hides, *as_user(NOBODY - 3)], program=program)
        check_equal(result.status, 0, str(result))
        check("no process is attached" not in result.stdout and "/proc hides could not be looked at" in result.stdout, str(result))
        report = heapsnap("status", "--json", prefix=[*hides, *as_user(NOBODY - 3)], program=program).json
        check(report["proc_hides_processes"] is True, f"JSON where /proc hides processes: {report}")
        if option == "invisible":  # a sandbox may keep the first process from root's ptrace
            check("/proc hides" not in heapsnap("status", prefix=hides).stdout, "root sees all")


def main():
    if not root():
        return
    target, nobody = Target("changes"), as_user(NOBODY)
    own = Target("changes", command=[*nobody, shutil.copy(os.path.join(os.environ["HEAPSNAP_TARGETS"], "changes"),
                                                          os.path.dirname(copy_for_everybody()))])
    program = copy_for_everybody()
    check(fails(target), "root itself is listened to")
    check(fails(own, nobody, program), "a user without further rights is listened to")
    check(not fails(target, environment={**FAILS, "SUDO_UID": str(NOBODY)}), "root by sudo, of a user")
    check(not fails(target, environment={**FAILS, "PKEXEC_UID": str(NOBODY)}), "root by pkexec, of a user")
    check(fails(target, environment={**FAILS, "SUDO_UID": "0"}), "root by sudo, of root, is listened to")
    handed = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"]
    check(not fails(own, handed, program), "capabilities that were handed on")
    os.chmod(program, 0o4755)
    check(not fails(target, nobody, program), "a set-user-ID program")
    os.chown(program, 0, 0)
    os.chmod(program, 0o2755)
    # The kernel lets no such program trace who has not both groups, so it never comes to a step; unit.test_variable_test has the rule.
    check_refused(heapsnap("attach", own.pid, prefix=nobody, program=program, environment=FAILS), "may not be traced")
    os.chmod(program, 0o755)
    if shutil.which("setcap") and subprocess.run(["setcap", CAPABILITIES + "+ep", program], check=False).returncode == 0:
        check(not fails(target, nobody, program), "a program with capabilities")
    else:
        leave_out("no setcap, or a file system without capabilities of files")
    own.end()
    target.end()
    many_groups()
    cannot_look(copy_for_everybody())


run_test(main, "rights")
