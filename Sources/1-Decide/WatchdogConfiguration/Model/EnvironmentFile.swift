// SPDX-License-Identifier: Apache-2.0

/// An environment file, read at each launch: `EnvironmentFile=`.
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

    /// The contents of an environment file.
    public struct Contents: Hashable, Sendable {
        /// The variables, in order; if a name occurs again, the last one counts.
        public var variables: [EnvironmentVariable] = []
        /// What was ignored, and why.
        public var diagnostics: [ConfigurationDiagnostic] = []
    }

    /// Reads an environment file by the rules of systemd.exec(5).
    ///
    /// Values may be quoted, also over several lines. Lines without `=` and comments are skipped. Anything else that is
    /// not a variable is ignored with a warning, as in systemd; no diagnostic contains a value.
    public static func read(_ file: ConfigurationFile) -> Contents {
        EnvironmentFileReader.read(file)
    }
}

/// A variable and its value.
public struct EnvironmentVariable: Hashable, Sendable {
    /// ASCII letters, digits and `_`, not starting with a digit.
    public var name: String
    /// The value, without control characters other than tab and newline.
    public var value: String

    /// Creates a variable.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
