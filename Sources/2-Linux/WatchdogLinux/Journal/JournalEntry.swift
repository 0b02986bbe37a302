// SPDX-License-Identifier: Apache-2.0

/// A journal entry: named fields, as described in systemd.journal-fields(7).
public struct JournalEntry: Hashable, Sendable {
    /// The maximum number of bytes in one value; the rest is cut off.
    public static let valueLimit = 4_096

    /// One field.
    public struct Field: Hashable, Sendable {
        /// The name, such as `MESSAGE`.
        public let name: String
        /// The value, which may contain any bytes.
        public let value: [UInt8]
    }

    /// A field without a limit on its length, which the entry may lose on its way.
    public struct Attachment: Hashable, Sendable {
        /// The field.
        public let field: Field
        /// The field that says why the attachment is missing, if it is.
        let substitute: String
    }

    /// The fields in the order in which they were added.
    public private(set) var fields: [Field] = []
    /// A large value that is sent if there is room for it; not one of ``fields``.
    public private(set) var attachment: Attachment?

    /// Creates an entry with its human-readable message.
    public init(_ message: String, priority: JournalPriority, identifier: String) {
        add("MESSAGE", message)
        add("PRIORITY", "\(priority.rawValue)")
        add("SYSLOG_IDENTIFIER", identifier)
    }

    /// Adds a field, unless the value is nil.
    ///
    /// The same name may occur several times.
    public mutating func add(_ name: String, _ value: String?) {
        precondition(Self.isName(name), "journald ignores the field \(name)")
        guard let value else { return }
        fields.append(Field(name: name, value: Self.cut(value)))
    }

    /// Attaches a large value as a field.
    ///
    /// - Parameter substitute: the name of the field that the entry gets instead if the value cannot be sent; it says
    ///   why.
    public mutating func attach(_ name: String, _ value: [UInt8], orSayWhyNotIn substitute: String) {
        precondition(Self.isName(name) && Self.isName(substitute), "journald ignores the field \(name)")
        attachment = Attachment(field: Field(name: name, value: value), substitute: substitute)
    }

    /// The entry with the reason instead of its attachment; nil if it has no attachment.
    func withoutAttachment(because reason: String) -> JournalEntry? {
        guard let attachment else { return nil }
        var entry = self
        entry.attachment = nil
        entry.add(attachment.substitute, reason)
        return entry
    }

    /// The approximate length of ``bytes``, without computing them.
    var size: Int {
        let all = fields + (attachment.map { [$0.field] } ?? [])
        return all.reduce(0) { $0 + $1.name.utf8.count + $1.value.count + 10 }
    }

    /// The value of the first field with a name.
    public subscript(name: String) -> String? {
        fields.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The entry in journald's native protocol: `NAME=value` lines; a value that contains a newline is preceded by its
    /// length.
    ///
    /// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        for field in fields + (attachment.map { [$0.field] } ?? []) {
            bytes += field.name.utf8
            if field.value.contains(UInt8(ascii: "\n")) {
                bytes.append(UInt8(ascii: "\n"))
                var length = UInt64(field.value.count)
                for _ in 0..<8 {
                    bytes.append(UInt8(truncatingIfNeeded: length))
                    length >>= 8
                }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += field.value
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// Truncates a value between characters, not within one.
    private static func cut(_ value: String) -> [UInt8] {
        guard value.utf8.count > valueLimit else { return Array(value.utf8) }
        let scalars = value.unicodeScalars
        var end = value.utf8.index(value.utf8.startIndex, offsetBy: valueLimit)
        while end.samePosition(in: scalars) == nil { end = value.utf8.index(before: end) }
        return Array(value.utf8[..<end])
    }

    /// Whether journald accepts the name from clients; names that begin with `_` are reserved for journald itself.
    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 64, first.isCapital else { return false }
        return name.utf8.allSatisfy { $0.isCapital || $0 == UInt8(ascii: "_") || (48...57).contains($0) }
    }
}

extension UInt8 {
    fileprivate var isCapital: Bool { (65...90).contains(self) }
}

/// The priority of an entry: the levels of syslog(3).
public enum JournalPriority: Int, Sendable {
    /// The system is unusable.
    case emergency = 0
    /// Action must be taken immediately.
    case alert = 1
    /// A critical condition, which should never happen.
    case critical = 2
    /// Something failed.
    case error = 3
    /// Something may be about to fail.
    case warning = 4
    /// Normal, but significant.
    case notice = 5
    /// Normal.
    case info = 6
    /// For debugging.
    case debug = 7
}
