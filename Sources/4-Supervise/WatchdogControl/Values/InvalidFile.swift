// SPDX-License-Identifier: Apache-2.0

/// An invalid configuration file, whose app is therefore missing.
public struct InvalidFile: Hashable, Sendable, Codable {
    /// The name that the app would have.
    public var name: String
    /// The file's path.
    public var file: String
    /// The errors and warnings of the file.
    public var diagnostics: [ControlDiagnostic]

    /// Creates an invalid file.
    public init(name: String, file: String, diagnostics: [ControlDiagnostic]) {
        self.name = name
        self.file = file
        self.diagnostics = diagnostics
    }
}
