// SPDX-License-Identifier: Apache-2.0

/// The name of an app: its file's name without `.app`.
///
/// A name with an `@` is an instance, `PREFIX@INSTANCE`, or, if nothing follows the `@`, a template for instances.
public struct AppName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// An invalid name, with the reason.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a period.
        public let description: String
    }

    /// The suffix of an app's file.
    public static let fileSuffix = ".app"
    /// The maximum length of a name, in bytes.
    public static let maximumLength = 64

    /// The name.
    public let description: String

    /// Validates a name.
    ///
    /// - Throws: ``Invalid`` unless it consists of 1 to 64 ASCII letters, digits and `-_.@`, and starts with a letter,
    ///   a digit or `_`.
    public init(_ text: String) throws(Invalid) {
        guard let first = text.utf8.first else { throw Invalid(description: "the app has no name") }
        guard text.utf8.count <= Self.maximumLength else {
            throw Invalid(description: "the app's name is longer than \(Self.maximumLength) bytes: \(text.quoted())")
        }
        let other = text.unicodeScalars.first { !$0.isASCII || !UInt8(truncatingIfNeeded: $0.value).isOfName }
        if let other {
            let shown = String(Character(other)).quoted()
            throw Invalid(
                description: "\(shown) cannot be in an app's name; use letters, digits, \"-\", \"_\", \".\" and \"@\"")
        }
        guard first.isLetter || first.isDigit || first == UInt8(ascii: "_") else {
            throw Invalid(
                description: "an app's name must begin with a letter, a digit or \"_\", unlike \(text.quoted())")
        }
        description = text
    }

    /// The part before the first `@`; the whole name if there is none.
    public var prefix: String {
        String(description.prefix { $0 != "@" })
    }

    /// The part after the first `@`; empty if there is none.
    public var instance: String {
        String(description.drop { $0 != "@" }.dropFirst())
    }

    /// Whether it is `PREFIX@`, which is not launched itself.
    public var isTemplate: Bool {
        description.hasSuffix("@") && instance.isEmpty
    }

    /// The template of an instance; nil for any other name.
    public var template: AppName? {
        instance.isEmpty ? nil : try? AppName(prefix + "@")
    }

    /// True if `left` comes first in byte order.
    public static func < (left: AppName, right: AppName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

extension UInt8 {
    fileprivate var isOfName: Bool {
        isLetter || isDigit || "-_.@".utf8.contains(self)
    }
}
