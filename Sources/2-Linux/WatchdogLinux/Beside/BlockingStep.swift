// SPDX-License-Identifier: Apache-2.0

/// What a call off the loop is currently doing, so that a timeout can name what does not answer.
///
/// Isolation: may be used from any thread.
public final class BlockingStep: Sendable {
    private let name: Locked<String>

    /// Starts with a first step.
    public init(_ name: String) {
        self.name = Locked(name)
    }

    /// The current step.
    public var description: String { name.withLock { $0 } }

    /// Enters another step.
    public func begin(_ name: String) { self.name.withLock { $0 = name } }
}
