// SPDX-License-Identifier: Apache-2.0

/// A test could not be set up, for a reason that is not the app's.
public struct TestSetupError: Error, Sendable, CustomStringConvertible {
    /// One sentence without a final period.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// An app did not do what a test expects.
public struct ExpectationFailure: Error, Sendable, CustomStringConvertible {
    /// What was expected, what the app did, the verdict, and where its crash log is.
    public let description: String

    init(_ description: String) { self.description = description }
}
