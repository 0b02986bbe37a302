// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase

@testable import WatchdogLinux

private let source =
    "\(#filePath)".split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
    + "/IntegrationTests/Subjects/silent-fuse.c"

/// A mounted file system that never answers one kind of request; it is unmounted with this object.
///
/// Its one file is ``file``, an executable script.
final class SilentFileSystem {
    private static let program = Mutex<String?>(nil)

    let directory: String
    var file: String { "\(directory)/file" }
    private let server: SpawnedProcess
    private let output: OwnedDescriptor
    private var hasTold = false

    /// Mounts it; prints the reason and returns nil if that is not possible.
    init?(withoutAnswerTo operation: String) throws {
        guard geteuid() == 0, access("/dev/fuse", R_OK | W_OK) == 0 else {
            print("not tested: FUSE needs root and /dev/fuse")
            return nil
        }
        let program = try Self.compiled()
        let directory = try makeTemporaryDirectory()
        let (output, end) = try OwnedDescriptor.pipe()
        var request = SpawnRequest(executable: program, arguments: ["silent-fuse", directory, operation])
        request.descriptors[1].source = end.number
        server = try spawn(request)
        self.output = output
        self.directory = directory
        try awaitLine("ready")
    }

    /// Waits until the server has read a request that it will not answer.
    ///
    /// A thread in `request_wait_answer` alone may be waiting for another request, which is answered in a moment.
    func awaitSilence() throws {
        if !hasTold { try awaitLine("silent") }
        hasTold = true
    }

    /// Whether the server has read a request that it will not answer.
    var isSilent: Bool {
        var entry = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
        if !hasTold, poll(&entry, 1, 0) == 1 { try? awaitSilence() }
        return hasTold
    }

    private func awaitLine(_ line: String) throws {
        var text = [UInt8](repeating: 0, count: line.utf8.count + 1)
        guard waitReadable(output), read(output.number, &text, text.count) == text.count,
            String(decoding: text, as: UTF8.self) == "\(line)\n"
        else { throw LinuxError("wait for \(line) from a silent file system", .timedOut) }
    }

    /// Fails all unanswered requests.
    func end() {
        try? server.process.send(SIGKILL)
        _ = try? waitForExit(server.process)
        umount2(directory, 2 /* MNT_DETACH */)
        rmdir(directory)
    }

    deinit { end() }

    private static func compiled() throws -> String {
        try program.withLock { program in
            if let program { return program }
            let folder = try makeTemporaryDirectory()
            let path = "\(folder)/silent-fuse"
            let compilation = try run(
                SpawnRequest(executable: "/usr/bin/cc", arguments: ["cc", "-O1", "-o", path, source]))
            guard compilation.status == .exited(code: 0) else { throw LinuxError("compile", .invalidArgument) }
            program = path
            atexit {
                guard let path = SilentFileSystem.program.withLock({ $0 }) else { return }
                unlink(path)
                rmdir(String(path.dropLast("/silent-fuse".count)))
            }
            return path
        }
    }
}
