// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogConfiguration
import WatchdogLinux

/// What the standard output and error of a program are connected to at its launch.
struct OutputDescriptors {
    private enum Destination {
        /// A descriptor of watchdogd's own.
        case own(Int32)
        /// One that was opened for the program.
        case opened(OwnedDescriptor, isJournal: Bool)

        var number: Int32 {
            switch self {
            case .own(let number): number
            case .opened(let descriptor, _): descriptor.number
            }
        }

        var isJournal: Bool {
            switch self {
            case .own(let number): JournalStream.isConnected(number)
            case .opened(_, let isJournal): isJournal
            }
        }
    }

    /// Where the output can be read again.
    enum Log {
        case journal
        case file(LogFile)
    }

    private let output: Destination
    private let error: Destination
    /// Why output that was to go to the journal goes to watchdogd's standard error instead.
    private(set) var journalRefusal: LinuxError?

    /// watchdogd's own standard output and error.
    init() {
        output = .own(STDOUT_FILENO)
        error = .own(STDERR_FILENO)
    }

    /// Opens what a plan names; nothing waits.
    ///
    /// - Parameters:
    ///   - plan: where output and error are to go.
    ///   - identifier: under which the journal files the lines.
    ///   - address: where journald listens.
    /// - Throws: ``LinuxError`` when a file cannot be opened. A missing journal is no error, but ``journalRefusal``.
    init(opening plan: OutputPlan, identifier: String, address: JournalAddress = .system) throws(LinuxError) {
        var refusal: LinuxError?
        func open(_ target: OutputTarget, own: Int32, priority: JournalPriority) throws(LinuxError) -> Destination {
            guard target == .journal else {
                return try target.open(fileModeMask: plan.fileModeMask).map { .opened($0, isJournal: false) }
                    ?? .own(own)
            }
            do {
                let stream = try JournalStream.open(identifier: identifier, priority: priority, address: address)
                return .opened(stream, isJournal: true)
            } catch {
                refusal = error
                return .own(STDERR_FILENO)
            }
        }
        output = try open(plan.output, own: STDOUT_FILENO, priority: .info)
        // One open file for both, as the shell's 2>&1: two would write over each other.
        error =
            plan.error == .inherit || plan.error == plan.output
            ? output : try open(plan.error, own: STDERR_FILENO, priority: .info)
        journalRefusal = refusal
    }

    /// Connects a program; the descriptors must be kept until it is spawned.
    func apply(to request: inout SpawnRequest) {
        request.descriptors.removeAll { [STDOUT_FILENO, STDERR_FILENO].contains($0.target) }
        request.descriptors += [.init(output.number, as: STDOUT_FILENO), .init(error.number, as: STDERR_FILENO)]
    }

    /// `JOURNAL_STREAM` for the program; nil when neither output nor error leads to the journal.
    var journalStream: String? {
        [error, output].first { $0.isJournal }.flatMap { JournalStream.identity(of: $0.number) }
    }

    /// Where the output can be read again; to be asked before the launch.
    ///
    /// Where the two differ, standard error counts: that is where programs say what goes wrong.
    var log: Log? {
        for destination in [error, output] {
            if destination.isJournal { return .journal }
            if let file = LogFile(writtenBy: destination.number) { return .file(file) }
        }
        return nil
    }
}
