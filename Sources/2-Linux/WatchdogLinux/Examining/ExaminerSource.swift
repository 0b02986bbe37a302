// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// What to fork: the first byte of a request, whose descriptor is the process's socket.
enum ForkedReader: UInt8 {
    /// Answers an ``Examiner``.
    case examiner = 1
    /// Answers ``Copiers``.
    case copier = 2
}

/// The process from which examiners and copiers are forked: it has one thread, little memory, few privileges, and affects no other
/// process.
///
/// Forking watchdogd itself would copy its page tables each time, while its threads hold locks. As root, it and they
/// have a user of their own: processes of `nobody` or of a service could signal and limit those of their user.
///
/// If it ends, the same program is executed in its place: by then, this process has threads.
///
/// Isolation: may be used from any thread.
public final class ExaminerSource: Sendable {
    private struct Current {
        let descriptor: OwnedDescriptor
        let process: Pidfd
    }

    private let current: Locked<Current>
    /// Reserved as long as there are such processes.
    private let user: ReservedUser?

    /// Through which an ``Examiner`` and ``Copiers`` request their processes.
    var descriptor: OwnedDescriptor { current.withLock { $0.descriptor } }
    /// The process, a child of this one.
    var process: Pidfd { current.withLock { $0.process } }

    private init(_ descriptor: OwnedDescriptor, _ process: Pidfd, _ user: ReservedUser?) {
        current = Locked(Current(descriptor: descriptor, process: process))
        self.user = user
    }

    /// Forks the source; call it on the main thread before any other thread exists.
    ///
    /// - Returns: nil when there are other threads or no process can be created, in which case nothing can be examined or copied.
    public static func start() -> ExaminerSource? {
        guard Procfs.threads(of: getpid()) == [getpid()] else { return nil }
        var ends: [Int32] = [-1, -1]
        guard wd_socket_pair(&ends) == 0 else { return nil }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        let user = ReservedUser.exclusive()
        let process = wd_fork_examiner_source(theirs.number, user?.credentials.user ?? 0)
        if process == 0 { serve() }
        guard process > 0, let process = try? Pidfd(opening: process) else { return nil }
        return ExaminerSource(ours, process, user)
    }

    // MARK: - In the place of one that has ended

    /// The first word of a command line that makes this program a source.
    private static let programName = "wd-examiner"

    /// Starts a process in the place of the one that has ended.
    ///
    /// - Parameter end: gets the new ``descriptor``; nil if no process could be started.
    public func restart(by launcher: Launcher, then end: @escaping (OwnedDescriptor?) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard let null = try? OwnedDescriptor(opening: "/dev/null", flags: O_RDWR), wd_socket_pair(&ends) == 0 else {
            return end(nil)
        }
        let ours = OwnedDescriptor(taking: ends[0])
        let theirs = OwnedDescriptor(taking: ends[1])
        // Also the program that an upgrade has removed: the messages are those of this one.
        var request = SpawnRequest(
            executable: "/proc/self/exe",
            arguments: [Self.programName, "\(user?.credentials.user ?? 0)", "\(getpid())"])
        request.descriptors = (0...2).map { .init(null.number, as: $0) } + [.init(theirs.number, as: Self.socket)]
        launcher.launch(request) { [current] result in
            guard case .success(let spawned) = result else { return end(nil) }
            current.withLock { $0 = Current(descriptor: ours, process: spawned.process) }
            end(ours)
        }
        withExtendedLifetime((null, theirs)) {}
    }

    /// Serves as a source if the command line says so; returns otherwise.
    public static func serveIfMeant(by arguments: [String]) {
        guard arguments.count == 3, arguments[0] == programName, let user = UInt32(arguments[1]),
            let parent = Int32(arguments[2])
        else { return }
        wd_become_examiner_source(socket, user, parent)
        serve()
    }

    /// The only descriptor that the forked processes keep.
    private static let socket: Int32 = 3

    /// Forks a process for each descriptor that arrives, until the other end is closed.
    private static func serve() -> Never {
        var numbers = [Int32](repeating: -1, count: WD_SOCKET_MOST_DESCRIPTORS)
        // It has used them to become a source.
        wd_release_program()
        while true {
            var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, -1) >= 0 || errno == EINTR else { _exit(1) }
            var message = wd_socket_message()
            var byte: UInt8 = 0
            guard wd_socket_receive(socket, &byte, 1, &message, &numbers) == 0 else {
                guard errno == EAGAIN else { _exit(0) }
                continue
            }
            guard !message.end else { wd_end_examiner_source() }
            for number in numbers.prefix(message.descriptor_count) {
                switch ForkedReader(rawValue: byte) {
                case .examiner: if wd_fork_examiner(number) == 0 { ExaminerProcess.serve(socket) }
                case .copier: _ = wd_fork_copier(number)
                case nil: break
                }
                close(number)
            }
        }
    }
}

/// An examiner: answers one request after another, and is killed by the kernel if one takes too long.
enum ExaminerProcess {
    static func serve(_ socket: Int32) -> Never {
        var buffer = [UInt8](repeating: 0, count: ExaminerFields.longest)
        wd_release_program()
        while true {
            let length = recv(socket, &buffer, buffer.count, 0)
            guard length > 0 else { _exit(0) }
            var request = ExaminerFields(buffer.prefix(length))
            guard let limit: UInt32 = request.number() else { _exit(1) }
            wd_die_after(max(1, limit))
            let answer = ExaminationAnswer.make(to: request)
            wd_die_after(0)
            // An empty message would mean end of file.
            let bytes = answer.bytes.isEmpty ? [0] : answer.bytes
            guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { _exit(0) }
        }
    }
}
