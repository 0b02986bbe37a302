# SPDX-License-Identifier: Apache-2.0
"""Receives what is posted to localhost: prints its port, then each request as JSON, and answers with the given status."""

import http.server
import json
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        request = {"path": self.path, "type": self.headers["Content-Type"], "body": body}
        self.send_response(int(sys.argv[1]))
        self.end_headers()
        print(json.dumps(request), flush=True)

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
