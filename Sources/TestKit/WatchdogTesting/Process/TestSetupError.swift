// SPDX-License-Identifier: Apache-2.0

/// A failed setup of a test, which is not the app's fault.
public struct TestSetupError: Error, Sendable, CustomStringConvertible {
    /// The error: one sentence without a period.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// A failed expectation about an app.
public struct ExpectationFailure: Error, Sendable, CustomStringConvertible {
    /// The expectation, the app's actual behavior, the verdict, and the path of the crash log.
    public let description: String

    init(_ description: String) { self.description = description }
}
