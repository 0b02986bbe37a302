// SPDX-License-Identifier: Apache-2.0

/// A file of variables, to be read when the app is launched: `EnvironmentFile=`.
public struct EnvironmentFile: Hashable, Sendable {
    /// An absolute path, possibly with the wildcards of glob(7).
    public var pattern: String
    /// `-`: it need not exist.
    public var isOptional: Bool

    /// Creates a file to be read.
    public init(pattern: String, isOptional: Bool) {
        self.pattern = pattern
        self.isOptional = isOptional
    }

    /// What a file of variables holds.
    public struct Contents: Hashable, Sendable {
        /// The variables, in order; a name may occur again, and the last one counts.
        public var variables: [EnvironmentVariable] = []
        /// What was left out, and why.
        public var diagnostics: [ConfigurationDiagnostic] = []
    }

    /// Reads a file of variables, by the rules of systemd.exec(5).
    ///
    /// Values may stand in quotes, also over several lines. Lines without `=` and comments are skipped. What is no
    /// variable is left out and told as a warning, as systemd does it; values appear in no diagnostic.
    public static func read(_ file: ConfigurationFile) -> Contents {
        EnvironmentFileReader.read(file)
    }
}
