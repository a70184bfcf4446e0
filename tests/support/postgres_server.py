"""A real PostgreSQL server for tests, started from the programs of the machine."""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server():
    """Start a server on a socket of its own, and give its address; skip where there is none, but not in CI."""
    programs = find_programs()
    if programs is None:
        reason = "PostgreSQL is not installed (initdb and pg_ctl)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    user = unprivileged(folder)
    run = {"check": True, "user": user, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    data, log = folder / "data", folder / "log"
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=32MB"
    try:
        initdb = [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(initdb, **run)
        subprocess.run([programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", settings, "start"], **run)
        try:
            yield f"postgresql://tester:hunter2@/postgres?host={folder}"
        finally:
            subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_programs():
    """The folder of initdb and pg_ctl."""
    on_path = shutil.which("pg_ctl")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_ctl")) + ([on_path] if on_path else [])
    return next((Path(each).parent for each in reversed(found) if Path(each).with_name("initdb").exists()), None)


def unprivileged(folder):
    """The user that runs the server: PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return user.pw_uid
