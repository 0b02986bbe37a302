// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Reload`.
public struct ReloadRequest: ControlRequest {
    /// Whether to return the changes of a reload without reloading.
    public var isDryRun: Bool?

    /// Creates the parameters.
    public init(isDryRun: Bool? = nil) {
        self.isDryRun = isDryRun
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case isDryRun = "dryRun"
    }
}
