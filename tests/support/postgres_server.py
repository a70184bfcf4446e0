"""A real PostgreSQL server for tests, started from the programs of the machine."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from components import find_postgres


@contextmanager
def postgres_server():
    """Start a server on a socket of its own, and give its address."""
    programs = find_postgres()
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


def unprivileged(folder):
    """The user that runs the server: PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return user.pw_uid
