// SPDX-License-Identifier: Apache-2.0

/// The empty parameters of `List`, `DescribeDaemon`, `Metrics` and `GetInfo`.
public struct EmptyRequest: ControlRequest {
    /// There are none.
    public static let parameterNames: Set<String> = []

    /// Creates the parameters.
    public init() {}
}
