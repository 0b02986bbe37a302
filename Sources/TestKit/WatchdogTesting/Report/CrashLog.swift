// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import WatchdogReport
public import WatchdogVerdict

/// A crash log as values: the stack of every thread, and the reason why the app did not answer.
public struct CrashLog: Sendable {
    /// The path of the `.ips` file.
    public let path: String
    /// The whole report.
    public let report: Report

    /// Reads a report.
    ///
    /// - Throws: ``TestSetupError`` if the file cannot be read or is not a report.
    public init(reading path: String) throws {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else {
            throw TestSetupError("cannot read the crash log \(path)")
        }
        do throws(ReportCodingError) {
            report = try ReportCoding.decode(Array(data))
        } catch {
            throw TestSetupError("\(path): \(error)")
        }
    }

    /// The ID of the main process.
    public var processID: Int32 { Int32(clamping: report.body.pid) }
    /// The state of the main thread in one word: `.blocked`, `.spinning`, ….
    public var cause: Verdict.Kind { report.body.linux?.verdict.kind ?? .unknown }
    /// The verdict in one sentence.
    public var verdict: String { report.body.linux?.verdict.line ?? "" }
    /// The evidence for the verdict, one sentence each.
    public var evidence: [String] { report.body.linux?.evidence.map { "\($0.what): \($0.value)" } ?? [] }
    /// The findings about the cause, most certain first: `.dispatchSync`, `.sqliteBusy`, ….
    public var findings: [Finding.Kind] { report.body.linux?.findings?.map(\.kind) ?? [] }

    /// The duration of the reported hang; nil unless it ended by itself.
    var hangDuration: Duration? {
        guard let linux = report.body.linux, linux.kind == .hang else { return nil }
        return .nanoseconds(linux.allowance.elapsedNanoseconds)
    }

    /// The wait of the faulting thread; nil if it does not wait in a system call.
    public var wait: Wait? {
        let waits = report.body.linux?.waits ?? []
        let blamed = waits.first { $0.thread == faultingThread?.id } ?? waits.first
        return blamed.map(Wait.init)
    }

    /// All threads, in the order of the report.
    public var threads: [CallStack] { report.stacks.map(CallStack.init) }
    /// The thread whose ID is that of the process.
    public var mainThread: CallStack {
        threads.first { $0.id == report.body.pid } ?? threads.first ?? CallStack(id: nil, name: nil, functions: [])
    }
    /// The thread that the report blames.
    public var faultingThread: CallStack? { report.faultingStack.map(CallStack.init) }

    /// A system call in which a thread waits.
    public struct Wait: Hashable, Sendable {
        /// The call with its arguments: `recvfrom(5, …)`.
        public let systemCall: String
        /// The object of the call in words: a connection with its peer, a file, or a lock.
        public let subject: String?
        /// The other end of the connection; nil if the call works on no socket, or its peer is unknown.
        public let peer: Peer?
        /// The name of the holding process or thread.
        public let holder: String?
        /// Whether the wait is part of a cycle.
        public let isDeadlocked: Bool

        init(_ wait: WaitDetails) {
            (systemCall, subject, holder) = (wait.syscall, wait.subject, wait.holder?.name)
            peer = wait.peer.map { Peer($0) }
            isDeadlocked = wait.isDeadlocked
        }

        /// The address of the other end of a connection.
        public enum Peer: Hashable, Sendable {
            /// A TCP or UDP port: `.port(8080, of: "127.0.0.1")`; IPv6 addresses have no brackets.
            case port(UInt16, of: String)
            /// The path of a Unix socket, or its abstract name after `@`.
            case unixSocket(String)

            /// - Parameter text: `127.0.0.1:8080`, `[::1]:8080`, a path, or `@` and an abstract name.
            init(_ text: String) {
                // A Unix socket may be called by a relative path, so look at the end.
                guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
                    !text.hasPrefix("@"), !text.contains("/")
                else {
                    self = .unixSocket(text)
                    return
                }
                let host = text[..<colon]
                self = .port(port, of: String(host.hasPrefix("[") ? host.dropFirst().dropLast() : host))
            }
        }
    }
}

/// The calls of one thread, innermost first.
public struct CallStack: Hashable, Sendable {
    /// The kernel's thread ID.
    public let id: Int?
    /// The name of the thread or its queue.
    public let name: String?
    /// The functions, demangled; `IMAGE + OFFSET` for one without a name.
    public let functions: [String]

    init(id: Int?, name: String?, functions: [String]) {
        (self.id, self.name, self.functions) = (id, name, functions)
    }

    init(_ stack: ReportStack) {
        self.init(id: stack.id, name: stack.name, functions: stack.calls.map(\.name))
    }

    /// Whether a function's name contains a text.
    public func contains(_ text: String) -> Bool { functions.contains { $0.contains(text) } }
}
