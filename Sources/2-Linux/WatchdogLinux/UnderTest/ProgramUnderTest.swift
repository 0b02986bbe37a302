// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
public import WatchdogBase

/// A program that is launched to be recorded, measured or tried out, and is ended with everything that it has started.
///
/// Nothing supervises it: who launches it waits for it on a thread of its own, with a limit.
///
/// Isolation: belongs to one thread.
public final class ProgramUnderTest {
    /// Where the program's output goes; it has no input.
    public enum Output: Sendable {
        /// To standard error, because a report goes to standard output.
        case shown
        /// Nowhere.
        case discarded
        /// Nowhere, but for the end of its standard error: ``ProgramUnderTest/errors``.
        case tail
    }

    /// How long killed processes may take to end.
    public static let killLimit = Duration.seconds(5)

    /// The process that executes the program.
    public let process: Pidfd
    /// The process and its descendants.
    public let tree: ProcessTree
    /// The end of what the program writes to its standard error; nil if that is shown or discarded.
    public let errors: ErrorTail?
    /// Why the program is not in the requested cgroup; nil if it is, or if none was requested.
    public let cgroupRefusal: Errno?
    private let reapsOrphans: Bool

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - request: The program; its descriptors are those besides the standard streams.
    ///   - output: Where its output goes.
    ///   - marker: An environment variable that only this program's processes have, by which orphans are found.
    /// - Throws: ``SpawnError``, or ``LinuxError`` without descriptors.
    public init(
        _ request: SpawnRequest, output: Output, marker: (name: String, value: String)? = nil
    ) throws {
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        let pipe: (read: OwnedDescriptor, write: OwnedDescriptor)? =
            if case .tail = output { try OwnedDescriptor.pipe() } else { nil }
        var request = request
        let numbers =
            switch output {
            case .shown: (output: STDERR_FILENO, errors: STDERR_FILENO)
            case .discarded, .tail: (output: null.number, errors: pipe?.write.number ?? null.number)
            }
        request.descriptors =
            [.init(null.number, as: 0), .init(numbers.output, as: 1), .init(numbers.errors, as: 2)]
            + request.descriptors
        if let marker { request.environment[marker.name] = marker.value }
        let spawned = try withExtendedLifetime((null, pipe)) { try spawn(request) }
        process = spawned.process
        cgroupRefusal = spawned.cgroupRefusal
        reapsOrphans = Subreaper.isActive
        tree = ProcessTree(
            root: spawned.pid, startTime: spawned.startTime ?? 0, marker: marker.map { "\($0.name)=\($0.value)" })
        errors = pipe.map { ErrorTail($0.read) }
    }

    /// A program that the caller has started, with its output where the caller's is.
    ///
    /// Its orphans are left to the caller, which may trace them.
    public init(_ process: Pidfd, _ tree: ProcessTree) {
        (self.process, self.tree, errors, cgroupRefusal, reapsOrphans) = (process, tree, nil, nil, false)
    }

    /// Waits until the program exits, writes to ``errors``, or one of these is readable, but not longer than this.
    ///
    /// - Returns: whether `interruption` is readable.
    @discardableResult
    public func wait(
        until limit: Instant, for descriptors: [Int32] = [], or interruption: OwnedDescriptor? = nil
    ) -> Bool {
        let numbers =
            // poll(2) ignores an entry with a negative number.
            [interruption?.number ?? -1, process.descriptor.number, errors?.descriptor ?? -1] + descriptors
        var entries = numbers.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = wd_precise_poll(&entries, entries.count, max((limit - .now()).nanoseconds, 0))
        return entries[0].revents != 0
    }

    /// Asks the program to end, and waits for that.
    ///
    /// - Parameters:
    ///   - allowance: How long that may take.
    ///   - all: Whether its other processes are asked and waited for, too.
    ///   - interruption: Readable once the caller must not wait any longer.
    /// - Returns: whether the wait was interrupted.
    @discardableResult
    public func terminate(
        within allowance: Duration, all: Bool = false, or interruption: OwnedDescriptor? = nil
    ) -> Bool {
        let limit = Instant.now() + allowance
        // SIGCONT, too: a stopped process handles SIGTERM only after it continues.
        for signal in [SIGTERM, SIGCONT] {
            if all { tree.send(signal) }
            try? process.send(signal)
        }
        while !hasEnded(all: all), Instant.now() < limit {
            // The kernel announces the end of the first process only.
            let next = all ? min(limit, .now() + .milliseconds(10)) : limit
            if process.hasExited {
                usleep(UInt32(clamping: max(next - .now(), .zero).nanoseconds / 1_000))
            } else if wait(until: next, or: interruption) {
                return true
            }
            // It could block on a full pipe.
            errors?.read()
        }
        return false
    }

    private func hasEnded(all: Bool) -> Bool {
        process.hasExited && (!all || Containment.processTree(tree).isEmpty)
    }

    /// Kills what is left of the program, and waits for its end.
    ///
    /// The first process is reaped unless somebody else does. In a ``Subreaper``, so are orphans.
    ///
    /// - Returns: a process that survives SIGKILL; nil if there is none.
    @discardableResult
    public func kill(within limit: Duration = killLimit) -> Int32? {
        let end = Instant.now() + limit
        let survivor = tree.end(until: end)
        while survivor == nil, !process.hasExited, Instant.now() < end {
            wait(until: end)
            errors?.read()
        }
        process.reapWhenItExits()
        if reapsOrphans { _ = Subreaper.reapOrphans(except: []) }
        return survivor
    }
}

/// Turns SIGINT, SIGTERM and SIGHUP into a descriptor that becomes readable, so that a program that was started can be ended first.
public enum Interruption {
    // SAFETY: set once, before the handlers that read it are installed.
    private nonisolated(unsafe) static var writeEnd: Int32 = -1

    /// Becomes readable with the first signal, and stays so; call it once.
    public static func descriptor() throws(LinuxError) -> OwnedDescriptor {
        let pipe = try OwnedDescriptor.pipe()
        let copy = fcntl(pipe.write.number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw LinuxError("duplicate a descriptor", .current) }
        _ = fcntl(copy, F_SETFL, O_NONBLOCK)
        writeEnd = copy
        // write(2) is async-signal-safe: signal-safety(7).
        for number in [SIGINT, SIGTERM, SIGHUP] { signal(number) { _ in _ = write(Interruption.writeEnd, "x", 1) } }
        return pipe.read
    }
}
