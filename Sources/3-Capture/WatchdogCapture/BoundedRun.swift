// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// One run of an untrusted program: bounded in time and output, and killed at the end with all processes that it
/// started.
struct BoundedRun {
    /// The result of the run.
    struct Result {
        enum End {
            case ended(ExitStatus)
            case overBudget
            case tooMuchOutput
            case outOfMemory
        }

        var end: End
        var output: [UInt8]
        /// The end of what the program wrote to standard error, on one line and without control characters.
        var message: String
    }

    private let process: SpawnedProcess
    private let output: OwnedDescriptor
    private let messages: OwnedDescriptor
    private let deadline: Instant
    private let outputLimit: Int
    private let messageLimit: Int

    /// Starts the program with `/dev/null` as its standard input and pipes as its standard output and error.
    init(
        budget: Duration,
        outputLimit: Int,
        messageLimit: Int,
        request: SpawnRequest,
        start: (SpawnRequest) throws(SpawnError) -> SpawnedProcess
    ) throws(SymbolicationError) {
        deadline = Instant.now() + budget
        self.outputLimit = outputLimit
        self.messageLimit = messageLimit
        let streams: Streams
        do throws(LinuxError) {
            streams = try Streams()
        } catch {
            throw SymbolicationError(.notStarted, "was not started: \(error)")
        }
        output = streams.output.read
        messages = streams.messages.read
        var request = request
        request.descriptors += [
            .init(streams.null.number, as: 0), .init(streams.output.write.number, as: 1),
            .init(streams.messages.write.number, as: 2),
        ]
        request.session = .newSession
        do throws(SpawnError) {
            process = try start(request)
        } catch {
            throw SymbolicationError(.notStarted, "was not started: \(error)")
        }
        // Keep the program's ends open until the spawn has duplicated them.
        withExtendedLifetime(streams) {}
    }

    /// Waits for the program to end.
    func finish() -> Result {
        var collected = Collected(outputLimit: outputLimit, messageLimit: messageLimit)
        while true {
            // poll(2) ignores -1; a pipe at end of file would always be readable, and the loop would spin.
            var entries = [
                collected.isOutputOpen ? output.number : -1, collected.areMessagesOpen ? messages.number : -1,
                process.process.descriptor.number,
            ].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let left = deadline - Instant.now()
            guard left > .zero else { return kill(.overBudget, collected) }
            poll(&entries, nfds_t(entries.count), Int32(clamping: left.nanoseconds / 1_000_000 + 1))
            // Check for the exit before reading: output written before the exit is then still read.
            let hasExited = process.process.hasExited
            switch collected.read(output.number, messages.number) {
            case .tooMuch: return kill(.tooMuchOutput, collected)
            case .nothing: if hasExited { return end(collected) }
            case .something: break
            }
        }
    }

    private func end(_ collected: Collected) -> Result {
        killGroup()
        let status = (try? process.process.waitExit())?.status ?? .unknown
        return Result(end: .ended(status), output: collected.output, message: collected.text)
    }

    private func kill(_ end: Result.End, _ collected: Collected) -> Result {
        killGroup()
        try? process.process.send(SIGKILL)
        // SIGKILL does not end uninterruptible sleep, so limit the wait.
        var entry = pollfd(fd: process.process.descriptor.number, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 2_000)
        process.process.reapWhenItExits()
        return Result(end: end, output: [], message: collected.text)
    }

    /// Kills the program's process group.
    ///
    /// The program is reaped only afterward, so the group ID cannot be reused before.
    private func killGroup() {
        try? process.process.sendToGroup(SIGKILL)
    }
}

/// A program's standard streams.
private struct Streams {
    let null: OwnedDescriptor
    let output: (read: OwnedDescriptor, write: OwnedDescriptor)
    let messages: (read: OwnedDescriptor, write: OwnedDescriptor)

    init() throws(LinuxError) {
        null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY)
        output = try OwnedDescriptor.pipe()
        messages = try OwnedDescriptor.pipe()
        for pipe in [output.read, messages.read] {
            guard fcntl(pipe.number, F_SETFL, O_NONBLOCK) == 0 else {
                throw LinuxError("set up a pipe", Errno(rawValue: errno))
            }
        }
    }
}

/// The output of a program so far.
struct Collected {
    /// The result of one read of the pipes.
    enum Progress {
        case nothing
        case something
        /// The output exceeds the limit.
        case tooMuch
    }

    private static let chunk = 64 << 10

    let outputLimit: Int
    let messageLimit: Int
    private(set) var output: [UInt8] = []
    private(set) var isOutputOpen = true
    private(set) var areMessagesOpen = true
    private var message: [UInt8] = []

    init(outputLimit: Int, messageLimit: Int) {
        self.outputLimit = outputLimit
        self.messageLimit = messageLimit
    }

    var text: String {
        let line = String(decoding: message.suffix(messageLimit), as: UTF8.self)
        return String(
            String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 })
        )
        .split(separator: " ").joined(separator: " ")
    }

    /// Reads part of what is available, once from each pipe, so that a program that writes faster than it is read
    /// cannot keep this from returning.
    mutating func read(_ output: Int32, _ messages: Int32) -> Progress {
        let said = areMessagesOpen ? Self.read(messages, &areMessagesOpen) : []
        message = (message + said).suffix(messageLimit)
        let written = isOutputOpen ? Self.read(output, &isOutputOpen) : []
        guard written.count <= outputLimit - self.output.count else { return .tooMuch }
        self.output += written
        return said.isEmpty && written.isEmpty ? .nothing : .something
    }

    private static func read(_ descriptor: Int32, _ isOpen: inout Bool) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
            let length = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if length == 0 { isOpen = false }
            count = max(0, length)
        }
    }
}
