// SPDX-License-Identifier: Apache-2.0

/// The apps and diagnostics in a configuration directory.
public struct ConfigurationListing: Hashable, Sendable {
    /// The apps, valid or not, by name.
    public var apps: [AppDefinition] = []
    /// The diagnostics of files that belong to no app.
    public var diagnostics: [ConfigurationDiagnostic] = []

    /// Creates an empty listing.
    public init() {}
}
