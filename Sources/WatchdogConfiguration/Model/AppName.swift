// SPDX-License-Identifier: Apache-2.0

/// The name of an app: its file's name without `.app`.
///
/// With an `@` it is an instance, `PREFIX@INSTANCE`, or, with nothing after the `@`, a template for instances.
public struct AppName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// A name that is none, with the reason.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence without a final stop.
        public let description: String
    }

    /// What the name of an app's file ends in.
    public static let fileSuffix = ".app"
    /// The most bytes that a name may have.
    public static let maximumLength = 64

    /// The name.
    public let description: String

    /// Checks a name.
    ///
    /// - Throws: ``Invalid`` unless it consists of 1 to 64 ASCII letters, digits and `-_.@`, and begins with a letter, a
    ///   digit or `_`.
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
            throw Invalid(description: "an app's name begins with a letter, a digit or \"_\", not as \(text.quoted())")
        }
        description = text
    }

    /// What comes before the first `@`; everything if there is none.
    public var prefix: String {
        String(description.prefix { $0 != "@" })
    }

    /// What comes after the first `@`; empty if there is none.
    public var instance: String {
        String(description.drop { $0 != "@" }.dropFirst())
    }

    /// True of `PREFIX@`, which is not started itself.
    public var isTemplate: Bool {
        description.hasSuffix("@") && instance.isEmpty
    }

    /// The template of an instance; nil of any other name.
    public var template: AppName? {
        instance.isEmpty ? nil : try? AppName(prefix + "@")
    }

    /// True when `left` comes first in byte order.
    public static func < (left: AppName, right: AppName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}

extension UInt8 {
    fileprivate var isOfName: Bool {
        isLetter || isDigit || "-_.@".utf8.contains(self)
    }
}
