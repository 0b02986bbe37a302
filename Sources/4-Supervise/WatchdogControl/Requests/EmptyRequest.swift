// SPDX-License-Identifier: Apache-2.0

/// The empty parameters of `List`, `DescribeDaemon`, `Metrics` and `GetInfo`.
public struct EmptyRequest: ControlRequest {
    /// Empty.
    public static let parameterNames: Set<String> = []

    /// Creates the parameters.
    public init() {}
}
