# SPDX-License-Identifier: Apache-2.0
"""Two hundred callers of the control socket, each of which sends a byte a second."""

callers = []
while True:
    while len(callers) < 200:
        caller = socket.socket(socket.AF_UNIX)
        try:
            caller.connect(sys.argv[2])
        except OSError:
            pass
        caller.setblocking(False)
        callers.append(caller)
    say("connected")
    for caller in list(callers):
        try:
            caller.send(b"{")
        except OSError:
            caller.close()
            callers.remove(caller)
        time.sleep(1 / len(callers) if callers else 1)
