// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// A program with its output in pipes, and methods that wait for its output and its exit.
final class Program {
    /// The standard streams of a program.
    enum Streams {
        /// `/dev/null` as input, pipes as output and errors.
        case pipes
        /// Like `pipes`, with a pipe as input.
        case pipesAndInput
        /// Like `pipes`, but errors are read only when the program is expected to exit.
        case unreadErrors
        /// None of the three is open.
        case closed
    }

    enum Stream {
        case output
        case errors
    }

    let process: Pidfd
    private(set) var status: ExitStatus?
    private var output = Text()
    private var errors = Text()
    private var input: OwnedDescriptor?
    private var readsErrors = true

    /// The output of a pipe so far, and the position up to which the test has read it.
    private struct Text {
        var pipe: OwnedDescriptor?
        var bytes: [UInt8] = []
        var position = 0
    }

    init(
        _ command: [String], environment: Environment = testEnvironment(), directory: String? = nil,
        streams: Streams = .pipes, passed: [(name: String, descriptor: OwnedDescriptor)] = []
    ) throws {
        let executable = try resolveExecutable(command[0], path: searchPath, workingDirectory: nil)
        var request = SpawnRequest(executable: executable, arguments: command, environment: environment)
        request.workingDirectory = directory.map { ByteString($0) }
        request.launchLimit = patience
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        let (outputPipe, errorPipe) = (try OwnedDescriptor.pipe(), try OwnedDescriptor.pipe())
        let inputPipe = try OwnedDescriptor.pipe()
        switch streams {
        case .closed:
            request.descriptors = []
        case .pipes, .pipesAndInput, .unreadErrors:
            let source = streams == .pipesAndInput ? inputPipe.read : null
            request.descriptors = [
                .init(source.number, as: 0), .init(outputPipe.write.number, as: 1),
                .init(errorPipe.write.number, as: 2),
            ]
            for pipe in [outputPipe.read, errorPipe.read] { _ = fcntl(pipe.number, F_SETFL, O_NONBLOCK) }
            output.pipe = outputPipe.read
            errors.pipe = errorPipe.read
            readsErrors = streams != .unreadErrors
            if streams == .pipesAndInput { input = inputPipe.write }
        }
        if !passed.isEmpty {
            // sd_listen_fds(3).
            request.environment["LISTEN_FDS"] = "\(passed.count)"
            request.environment["LISTEN_FDNAMES"] = passed.map(\.name).joined(separator: ":")
            request.processIdVariables = ["LISTEN_PID"]
            for (index, entry) in passed.enumerated() {
                request.descriptors.append(.init(entry.descriptor.number, as: 3 + Int32(index)))
            }
        }
        process = try withExtendedLifetime((null, inputPipe, outputPipe, errorPipe)) { try spawn(request).process }
    }

    deinit {
        guard status == nil else { return }
        Leftovers.reap(process)
    }

    var pid: Int32 { process.pid }

    /// Everything read so far.
    func text(_ stream: Stream) -> String {
        String(decoding: stream == .output ? output.bytes : errors.bytes, as: UTF8.self)
    }

    func send(_ signal: Int32) throws { try process.send(signal) }

    func type(_ text: String) {
        guard let input else { return }
        let bytes = Array(text.utf8)
        write(input.number, bytes, bytes.count)
    }

    func closeInput() { input = nil }

    // MARK: - Waiting

    /// The next line that contains a text, without its newline; skips the lines before it.
    @discardableResult
    func line(_ text: String = "", on stream: Stream = .output, within limit: Duration = patience) throws -> String {
        let deadline = Instant.now() + limit
        while true {
            while let line = takeLine(stream) {
                if text.isEmpty || line.contains(text) { return line }
            }
            guard status == nil || pipe(stream) != nil else { throw failure("ended without saying \"\(text)\"") }
            guard try advance(until: deadline) else { throw failure("did not say \"\(text)\" within \(limit)") }
        }
    }

    /// Waits for the exit, and for all output until then.
    @discardableResult
    func end(within limit: Duration = patience) throws -> ExitStatus {
        let deadline = Instant.now() + limit
        readsErrors = true
        while true {
            if let status {
                // Descendants may hold the pipes open, so only the present output counts.
                for stream in [Stream.output, .errors] { drain(stream) }
                return status
            }
            guard try advance(until: deadline) else { throw failure("did not end within \(limit)") }
        }
    }

    /// Whether the program is still running after a time that the test must wait.
    func lives(for time: Duration) throws -> Bool {
        let deadline = Instant.now() + time
        while status == nil, try advance(until: deadline) {}
        return status == nil
    }

    /// Waits for one event; false when the time is up.
    private func advance(until deadline: Instant) throws -> Bool {
        var entries: [pollfd] = []
        for pipe in [output.pipe, readsErrors ? errors.pipe : nil] {
            entries.append(pollfd(fd: pipe?.number ?? -1, events: Int16(POLLIN), revents: 0))
        }
        entries.append(
            pollfd(fd: status == nil ? process.descriptor.number : -1, events: Int16(POLLIN), revents: 0))
        let left = deadline - .now()
        guard left > .zero, poll(&entries, 3, left.milliseconds) > 0 else { return false }
        if entries[0].revents != 0 { drain(.output) }
        if entries[1].revents != 0 { drain(.errors) }
        if entries[2].revents != 0 { status = try process.waitExit()?.status }
        return true
    }

    private func pipe(_ stream: Stream) -> OwnedDescriptor? { stream == .output ? output.pipe : errors.pipe }

    private func drain(_ stream: Stream) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while let pipe = pipe(stream) {
            let count = read(pipe.number, &buffer, buffer.count)
            if count < 0 { return }
            switch stream {
            case .output:
                output.bytes += buffer.prefix(count)
                if count == 0 { output.pipe = nil }
            case .errors:
                errors.bytes += buffer.prefix(count)
                if count == 0 { errors.pipe = nil }
            }
        }
    }

    private func takeLine(_ stream: Stream) -> String? {
        func take(_ text: inout Text) -> String? {
            guard let end = text.bytes[text.position...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            defer { text.position = end + 1 }
            return String(decoding: text.bytes[text.position..<end], as: UTF8.self)
        }
        return stream == .output ? take(&output) : take(&errors)
    }

    private func failure(_ what: String) -> Failure {
        Failure("process \(pid) \(what)\n-- output\n\(text(.output))-- errors\n\(text(.errors))-- end")
    }
}

extension ExitStatus {
    /// The exit code; nil if it did not exit.
    var code: Int32? {
        if case .exited(let code) = self { code } else { nil }
    }
}
