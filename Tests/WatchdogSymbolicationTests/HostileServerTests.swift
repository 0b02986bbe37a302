// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogCapture
import WatchdogLinux

@Suite("A malicious debug file server", .serialized, .reapsChildren)
struct HostileServerTests {
    /// The server's response to a request.
    enum Answer: String, CaseIterable, Sendable {
        /// Sends endlessly.
        case endless
        /// Accepts the request and never responds.
        case silent
        /// Sends a byte from time to time.
        case slow
        /// Sends header after header.
        case headers
        /// Redirects the client to another place, and back.
        case circle
    }

    private static let server = """
        import socket, sys, threading, time

        def serve(client, answer):
            try:
                client.recv(65536)
                if answer == "endless":
                    client.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n\\x7fELF")
                    while True: client.sendall(bytes(65536))
                if answer == "slow":
                    client.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n")
                    while True:
                        client.sendall(b"\\x7f")
                        time.sleep(0.05)
                if answer == "headers":
                    client.sendall(b"HTTP/1.0 200 OK\\r\\n")
                    while True: client.sendall(b"X-Noise: " + b"n" * 8000 + b"\\r\\n")
                if answer == "circle":
                    client.sendall(b"HTTP/1.0 302 Found\\r\\nLocation: /again\\r\\nContent-Length: 0\\r\\n\\r\\n")
                    return client.close()
                time.sleep(1000)
            except OSError:
                pass

        listener = socket.create_server(("127.0.0.1", 0))
        with open(sys.argv[2], "w") as file:
            file.write(str(listener.getsockname()[1]))
        print("ready", flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0], sys.argv[1]), daemon=True).start()
        """

    @Test(
        "is abandoned within the limits, and leaves nothing behind",
        .enabled(if: isInstalled("python3"), "the server is in Python"),
        arguments: Answer.allCases)
    func limits(answer: Answer) throws {
        var template = Array("/tmp/watchdog-server-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { _ = try? output(of: ["rm", "-r", folder]) }
        let server = try Process(["python3", "-c", Self.server, answer.rawValue, "\(folder)/port"])
        try server.waitUntilReady()
        let port = try #require(contents(of: "\(folder)/port"))
        let environment: Environment = [
            "DEBUGINFOD_URLS": "http://127.0.0.1:\(port)", "HOME": folder, "XDG_CACHE_HOME": folder,
        ]
        // One limit can be reached, the others cannot.
        var limits = Debuginfod.Limits()
        limits.size = 1 << 20
        limits.time = [.endless, .silent].contains(answer) ? patience : .seconds(2)
        limits.silence = answer == .silent ? .seconds(1) : patience
        let client = Debuginfod(
            Symbolicator(program: "\(try Subject.buildDirectory())/watchdogd-symbolicate"), environment: environment,
            limits: limits)
        let image = DebugFile.Wanted(buildID: "0123456789abcdef", name: "app", path: "/opt/app")
        let left = Set(entries(of: "/tmp"))
        let began = Instant.now()
        let failure = #expect(throws: Debuginfod.Failure.self) { _ = try client.file(for: image) }
        let duration = Instant.now() - began
        let reason = failure?.description ?? ""
        guard !reason.contains("is not installed") else { return print("skipped: \(reason)") }
        #expect(answer != .endless || reason == "it is larger than 1 MiB", "\(reason)")
        // The client stops by itself if it has a limit, and is killed if it does not.
        #expect(duration < patience, "\(reason)")
        // Others on this machine may have such folders for a while.
        #expect(
            eventually {
                entries(of: "/tmp").allSatisfy { !$0.hasPrefix("watchdogd-debuginfod-") || left.contains($0) }
            })
        withExtendedLifetime(server) {}
    }
}
