// SPDX-License-Identifier: Apache-2.0

/// The settings of a file in the format of systemd units, in their order and without a judgement on them:
/// systemd.syntax(7).
public struct UnitFile: Hashable, Sendable {
    /// A line `Key=Value`, with all its continuations.
    public struct Setting: Hashable, Sendable {
        /// The name of its section; empty before the first one.
        public let section: String
        /// The key.
        public let key: String
        /// The value, with its quotes and escapes; empty if the line resets the key.
        public let value: String
        /// The line on which it begins, counted from 1.
        public let line: Int
    }

    /// All settings.
    public let settings: [Setting]
    /// Lines that are neither a section, a setting nor a comment.
    public let diagnostics: [ConfigurationDiagnostic]

    /// Splits a file into its settings.
    public init(_ file: ConfigurationFile) {
        var collector = DiagnosticCollector(files: [SourceFile(file)])
        var section = ""
        var settings: [Setting] = []
        for statement in UnitSyntax.statements(of: 0, &collector) {
            switch statement {
            case .section(_, let name): section = name.string
            case .assignment(let key, let value):
                let line = key.position(at: 0).line + 1
                settings.append(Setting(section: section, key: key.string, value: value.string, line: line))
            }
        }
        self.settings = settings
        diagnostics = collector.diagnostics
    }

    /// Why watchdogd has no counterpart of one of systemd's keys; nil if it has one or systemd has no such key.
    public static func reasonForLack(ofKey key: String) -> String? {
        guard case .some(.none(let reason)) = SystemdKey.counterpart(of: key) else { return nil }
        return reason
    }
}
