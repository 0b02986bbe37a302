// SPDX-License-Identifier: Apache-2.0

/// What was found where apps are configured.
public struct ConfigurationListing: Hashable, Sendable {
    /// The apps, right or wrong, by name.
    public var apps: [AppDefinition] = []
    /// What is wrong with files that belong to no app.
    public var diagnostics: [ConfigurationDiagnostic] = []

    /// Creates an empty listing.
    public init() {}
}
