// SPDX-License-Identifier: Apache-2.0

/// No parameters: `List`, `Reload`, `GetInfo`.
public struct EmptyRequest: ControlRequest {
    /// None.
    public static let parameterNames: Set<String> = []

    /// Creates the parameters.
    public init() {}
}
