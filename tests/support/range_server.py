"""A web server for a folder that answers requests for parts of files, as DuckDB makes them."""

import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        path = Path(self.path.partition("?")[0].lstrip("/"))
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        part = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = (int(part[1]), min(int(part[2] or len(data)), len(data) - 1)) if part else (0, len(data) - 1)
        self.send_response(206 if part else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last - first + 1))
        if part:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        if body:
            self.wfile.write(data[first : last + 1])

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port)
        sys.stdout.flush()
        server.serve_forever()
