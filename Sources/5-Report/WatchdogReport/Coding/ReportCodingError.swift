// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The reason why an `.ips` file cannot be read or written.
public struct ReportCodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public struct Code: Hashable, Sendable {
        private enum Value {
            case tooLarge
            case empty
            case malformed
            case unexpected
            case notACrashReport
        }

        private let value: Value

        /// The file is larger than 64 MiB.
        public static let tooLarge = Code(value: .tooLarge)
        /// The file has no first line.
        public static let empty = Code(value: .empty)
        /// The text is not JSON.
        public static let malformed = Code(value: .malformed)
        /// The text is JSON, but a key is missing or has a value of the wrong type.
        public static let unexpected = Code(value: .unexpected)
        /// The file is a different kind of report.
        public static let notACrashReport = Code(value: .notACrashReport)
    }

    /// The kind of fault.
    public let code: Code
    /// The line of the error, from 1, if known.
    public let line: Int?
    /// The error, without a trailing period.
    public let what: String

    init(_ code: Code, line: Int?, _ what: String) {
        self.code = code
        self.line = line
        self.what = what
    }

    /// `line 37: expected a comma or the object's end`.
    public var description: String { line.map { "line \($0): \(what)" } ?? what }

    static func tooLarge(_ count: Int) -> ReportCodingError {
        ReportCodingError(.tooLarge, line: nil, "\(count) bytes, more than \(ReportLimits.fileBytes >> 20) MiB")
    }

    init(_ error: DecodingError, line: Int?) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.unexpected, line: line, "\((context.codingPath + [key]).path) is missing")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let path = context.codingPath.path
            let place = path.isEmpty ? "" : "\(path): "
            self.init(.unexpected, line: line, place + context.debugDescription.singleLine(limit: 256))
        @unknown default:
            self.init(.unexpected, line: line, "\(error)".singleLine(limit: 256))
        }
    }
}

extension [any CodingKey] {
    /// `threads[3].frames[0].imageIndex`; safe for a terminal, since damaged files name the keys.
    package var path: String {
        prefix(16).reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + key.stringValue.singleLine(limit: 64)
            }
        }
    }
}
