"""A real PostgreSQL server for tests, started from the programs of the machine."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from components import find_postgres


class PostgresServer:
    """A server on a socket of its own. It can be killed and started again."""

    def __init__(self, folder):
        self.programs, self.folder, self.data = find_postgres(), folder, folder / "data"
        self.address = f"postgresql://tester:hunter2@/postgres?host={folder}"
        self._settings = {"user": unprivileged(folder), "cwd": folder}
        self.run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")

    def start(self):
        """Start the server. After a kill, the last of its processes may still be ending."""
        settings = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c shared_buffers=32MB"
        for _ in range(50):
            with suppress(subprocess.CalledProcessError):
                self.run("pg_ctl", "-l", self.folder / "log", "-w", "-o", settings, "start")
                return
            time.sleep(0.2)
        raise RuntimeError("PostgreSQL does not start")

    def kill(self):
        """Kill the server with SIGKILL, so that it writes nothing more, and all its connections are cut."""
        os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def stop(self):
        self.run("pg_ctl", "-m", "immediate", "stop")

    def run(self, program, *arguments):
        nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [self.programs / program, "-D", self.data, *arguments]
        subprocess.run(command, check=True, **nowhere, **self._settings)


@contextmanager
def postgres_server():
    """Start a server, and stop it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
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
