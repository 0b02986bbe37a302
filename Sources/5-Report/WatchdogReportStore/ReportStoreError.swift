// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// The reason why a report cannot be stored, found or read.
public struct ReportStoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable {
        private enum Value {
            case unusable
            case notReadable
            case full
            case failed
            case notFound
            case ambiguous
            case damaged
            case invalidReport
        }

        private let value: Value

        /// The folder cannot be created or written to.
        public static let unusable = Code(value: .unusable)
        /// This user may not read the folder or the file.
        public static let notReadable = Code(value: .notReadable)
        /// There is no space left on the disk or in the quota.
        public static let full = Code(value: .full)
        /// Another system call failed.
        public static let failed = Code(value: .failed)
        /// No report matches the reference.
        public static let notFound = Code(value: .notFound)
        /// Several reports match the reference.
        public static let ambiguous = Code(value: .ambiguous)
        /// The file is not a valid report.
        public static let damaged = Code(value: .damaged)
        /// The report cannot be encoded as a file.
        public static let invalidReport = Code(value: .invalidReport)
    }

    /// The kind of failure.
    public let code: Code
    /// The system's error number, if there is one.
    public let errno: Int32?
    /// The operation that failed: `create`, `find report`.
    public let operation: String
    /// The object of the operation.
    public let subject: String
    /// The reason of the failure.
    public let reason: String
    /// Advice to the user; nil without any.
    public let suggestion: String?

    package init(
        _ code: Code, _ operation: String, _ subject: String, reason: String, errno: Int32? = nil,
        suggestion: String? = nil
    ) {
        self.code = code
        self.errno = errno
        self.operation = operation
        self.subject = subject
        self.reason = reason
        self.suggestion = suggestion
    }

    /// A failed system call; only a full disk has its own code.
    init(_ operation: String, _ subject: String, errno: Int32, code: Code = .failed) {
        let isFull = errno == ENOSPC || errno == EDQUOT
        self.init(
            isFull ? .full : code, operation, subject, reason: Self.text(errno), errno: errno,
            suggestion: Self.suggestion(errno))
    }

    /// A failed system call with a specific code.
    init(_ code: Code, _ operation: String, _ subject: String, errnoReason errno: Int32) {
        self.init(
            code, operation, subject, reason: Self.text(errno), errno: errno, suggestion: Self.suggestion(errno))
    }

    /// A failed system call while reading; if permission was denied, the suggestion names who may read.
    package init(reading operation: String, _ subject: String, errno: Int32, code: Code = .failed) {
        guard errno == EACCES || errno == EPERM else {
            self.init(code, operation, subject, errnoReason: errno)
            return
        }
        self.init(
            .notReadable, operation, subject, reason: Self.text(errno), errno: errno,
            suggestion: Readers(of: subject)?.description)
    }

    /// Whether the store's folder does not exist.
    public var isMissingFolder: Bool { code == .unusable && errno == ENOENT }

    /// `cannot create /var/log/x: Permission denied (EACCES); …`.
    public var description: String {
        "cannot \(operation) \(subject.singleLine(limit: 4_096)): \(reason)" + (suggestion.map { "; \($0)" } ?? "")
    }

    private static func text(_ errno: Int32) -> String {
        let words = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        return names[errno].map { "\(words) (\($0))" } ?? words
    }

    private static let names: [Int32: String] = [
        EPERM: "EPERM", ENOENT: "ENOENT", EINTR: "EINTR", EIO: "EIO", EACCES: "EACCES", EEXIST: "EEXIST",
        EXDEV: "EXDEV", ENOTDIR: "ENOTDIR", EISDIR: "EISDIR", EINVAL: "EINVAL", ENFILE: "ENFILE", EMFILE: "EMFILE",
        EFBIG: "EFBIG", ENOSPC: "ENOSPC", EROFS: "EROFS", EMLINK: "EMLINK", ENAMETOOLONG: "ENAMETOOLONG",
        ELOOP: "ELOOP", EDQUOT: "EDQUOT", ESTALE: "ESTALE", EOPNOTSUPP: "EOPNOTSUPP",
    ]

    private static func suggestion(_ errno: Int32) -> String? {
        switch errno {
        case EACCES, EPERM: "choose a folder that user \(geteuid()) may write to"
        case EROFS: "choose a folder on a file system that is mounted for writing"
        case ENOSPC: "free some space there, or choose another folder"
        case EDQUOT: "free some of the user's quota, or choose another folder"
        case ENOTDIR: "a part of the path is a file; choose another folder"
        case ELOOP: "the path is a symbolic link; remove it"
        case ENOENT: "check the path"
        default: nil
        }
    }
}

/// Reports the error number of failed calls with what was attempted.
func reporting<Value>(
    _ operation: String, _ subject: String, _ calls: () throws(Errno) -> Value
) throws(ReportStoreError) -> Value {
    do throws(Errno) {
        return try calls()
    } catch {
        throw ReportStoreError(operation, subject, errno: error.rawValue)
    }
}
