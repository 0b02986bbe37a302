// SPDX-License-Identifier: Apache-2.0

import WatchdogReport

/// The reason why a `.launch` file cannot be read or written.
public struct RecordingCodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public struct Code: Hashable, Sendable {
        private enum Value {
            case tooLarge
            case notARecording
            case newerVersion
            case damaged
        }

        private let value: Value

        /// The file is larger than ``RecordingCoding/fileBytes``.
        public static let tooLarge = Code(value: .tooLarge)
        /// The file is not JSON, or JSON of another kind.
        public static let notARecording = Code(value: .notARecording)
        /// A later version of watchdogd wrote it.
        public static let newerVersion = Code(value: .newerVersion)
        /// A key is missing, has a value of the wrong type, or an impossible value.
        public static let damaged = Code(value: .damaged)
    }

    /// The kind of fault.
    public let code: Code
    /// The error, without a trailing period: "lanes[3].begin is missing".
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(.damaged, "damaged recording: \((context.codingPath + [key]).path) is missing")
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            self.init(.notARecording, "not a recording: the file is not JSON")
        case .typeMismatch(_, let context) where context.codingPath.isEmpty,
            .valueNotFound(_, let context) where context.codingPath.isEmpty:
            self.init(.notARecording, "not a recording: the file holds no JSON object")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            self.init(.damaged, "damaged recording: \(context.codingPath.path): \(context.debugDescription)")
        @unknown default:
            self.init(.damaged, "damaged recording")
        }
    }
}
