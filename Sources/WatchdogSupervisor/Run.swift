// SPDX-License-Identifier: Apache-2.0

/// One run of one program in the foreground.
public struct Run {
    private let configuration: RunConfiguration

    /// Creates a run; nothing happens before ``execute()``.
    public init(_ configuration: RunConfiguration) {
        self.configuration = configuration
    }

    /// Runs the program to its end.
    public func execute() throws -> Int32 {
        0
    }
}
