// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogConfiguration
package import WatchdogLinux

extension StandardStreams {
    /// Where output can be read.
    package enum Log {
        case journal
        case file(LogFile)
    }

    /// Opens the targets of a plan without waiting.
    ///
    /// - Parameters:
    ///   - plan: where output and error go.
    ///   - identifier: the name of the lines in the journal.
    ///   - address: where journald listens.
    /// - Throws: ``LinuxError`` if a file cannot be opened. A missing journal is not an error; see ``journalRefusal``.
    package init(opening plan: OutputPlan, identifier: String, address: JournalAddress = .system) throws(LinuxError) {
        input = try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY)
        var refusal: LinuxError?
        func open(_ target: OutputTarget, own: Int32) throws(LinuxError) -> OwnedDescriptor {
            guard target == .journal else {
                if let file = try target.open(fileModeMask: plan.fileModeMask) { return file }
                return try OwnedDescriptor(duplicating: own)
            }
            do throws(LinuxError) {
                return try JournalStream.open(identifier: identifier, address: address)
            } catch {
                refusal = error
                return try OwnedDescriptor(duplicating: STDERR_FILENO)
            }
        }
        output = try open(plan.output, own: STDOUT_FILENO)
        // One open file for both, like 2>&1 in a shell: two would overwrite each other.
        error =
            plan.error == .inherit || plan.error == plan.output
            ? output : try open(plan.error, own: STDERR_FILENO)
        journalRefusal = refusal
        let lead = (target: plan.error == .inherit ? plan.output : plan.error, descriptor: error)
        let places = [lead, (plan.output, output)].map { target, descriptor in
            let isOwn = target == .inherit || target == .journal && refusal != nil
            let isJournal = isOwn ? JournalStream.isConnected(descriptor.number) : target == .journal
            return (descriptor: descriptor.number, isJournal: isJournal, isOwn: isOwn)
        }
        journalStream = places.first(where: \.isJournal).flatMap { JournalStream.identity(of: $0.descriptor) }
        // The journal distinguishes the apps; a file that watchdogd inherited has the lines of all of them.
        log = Self.log(of: places.filter { $0.isJournal || !$0.isOwn }.map { ($0.descriptor, $0.isJournal) })
    }

    /// watchdogd's own output and error, and an empty input.
    package static func ownWithoutInput() throws(LinuxError) -> StandardStreams {
        StandardStreams(
            input: try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY),
            output: try OwnedDescriptor(duplicating: STDOUT_FILENO),
            error: try OwnedDescriptor(duplicating: STDERR_FILENO),
            journalStream: Environment.inherited["JOURNAL_STREAM"],
            log: ownLog,
            journalRefusal: nil
        )
    }

    /// Where watchdogd's own output can be read.
    static var ownLog: Log? {
        log(of: [STDERR_FILENO, STDOUT_FILENO].map { ($0, JournalStream.isConnected($0)) })
    }

    /// Prefers standard error if the two differ, because that is where programs report errors.
    private static func log(of places: [(descriptor: Int32, isJournal: Bool)]) -> Log? {
        for place in places {
            if place.isJournal { return .journal }
            if let file = LogFile(writtenBy: place.descriptor) { return .file(file) }
        }
        return nil
    }
}

/// Where a program's standard output and error go.
package struct OutputPlan: Hashable, Sendable {
    package var output: OutputTarget
    package var error: OutputTarget
    /// The mask for files that are created.
    var fileModeMask: UInt32 = 0o022

    package init(output: OutputTarget, error: OutputTarget, fileModeMask: UInt32 = 0o022) {
        self.output = output
        self.error = error
        self.fileModeMask = fileModeMask
    }
}

extension OutputPlan {
    /// The plan in the app's files.
    package init(_ program: ProgramSettings) {
        self.init(
            output: program.standardOutput, error: program.standardError, fileModeMask: program.fileModeMask)
    }
}
