// SPDX-License-Identifier: Apache-2.0

/// A variable and its value.
public struct EnvironmentVariable: Hashable, Sendable {
    /// ASCII letters, digits and `_`, not starting with a digit.
    public var name: String
    /// The value, without control characters other than tab and newline.
    public var value: String

    /// Creates a variable.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
