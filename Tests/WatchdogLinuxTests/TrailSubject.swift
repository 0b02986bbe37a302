// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import WatchdogBase

@testable import WatchdogLinux

/// A Python program that waits for others; it and its children are killed with this object.
final class TrailSubject {
    private static let prologue = """
        import fcntl, os, select, signal, socket, sys, threading, time
        def pause():
            while True: time.sleep(600)
        def listen(address):
            if address.startswith('/'):
                server = socket.socket(socket.AF_UNIX)
                server.bind(address)
            else:
                server = socket.socket()
                server.bind(('127.0.0.1', 0))
            server.listen(8)
            if not address.startswith('/'):
                with open(address[4:] + '.new', 'w') as file: file.write(str(server.getsockname()[1]))
                os.rename(address[4:] + '.new', address[4:])
            return server
        def connect(address):
            while True:
                try:
                    if address.startswith('/'):
                        client = socket.socket(socket.AF_UNIX)
                        client.connect(address)
                    else:
                        client = socket.create_connection(('127.0.0.1', int(open(address[4:]).read())))
                    return client
                except OSError: time.sleep(0.01)
        def ask(address):
            client = connect(address)
            client.send(b'?')
            client.recv(1)
            return client
        def mark(path): open(path, 'w').close()
        def await_(path):
            while not os.path.exists(path): time.sleep(0.01)

        """

    private let spawned: SpawnedProcess
    var pid: Int32 { spawned.process.pid }

    init(_ script: String, _ arguments: String..., user: UInt32? = nil) throws {
        var request = SpawnRequest(
            executable: "/usr/bin/python3",
            arguments: ["python3", "-c", ByteString(Self.prologue + script)] + arguments.map { ByteString($0) })
        request.credentials = user.map { Credentials(user: $0, group: $0) }
        spawned = try spawn(request)
    }

    deinit {
        for child in Procfs.children(of: pid) { kill(child, SIGKILL) }
        try? spawned.process.send(SIGKILL)
        _ = try? waitForExit(spawned.process)
    }

    /// The trail of the main thread's wait, once it meets a condition and a second reading agrees; otherwise the last
    /// one.
    ///
    /// A reading examines one process after the other, and the first ones may not have reached their final wait yet.
    func trail(where condition: (WaitTrail) -> Bool) -> WaitTrail {
        var last = WaitTrail()
        _ = eventually {
            let before = last
            last = WaitLook(budget: .seconds(10)) { [self.pid] }.trail(process: pid, thread: pid)
            return condition(last) && last == before
        }
        return last
    }
}
