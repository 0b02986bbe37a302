// SPDX-License-Identifier: Apache-2.0

/// The diagnostics of one app, sorted by file and line.
struct DiagnosticCollector {
    /// Enough to work with; a megabyte with an error in each line must not fill the memory.
    static let limit = 200

    let files: [SourceFile]
    private(set) var hasErrors = false
    private var found: [(position: SourcePosition, diagnostic: ConfigurationDiagnostic)] = []
    private var omitted = 0

    init(files: [SourceFile]) {
        self.files = files
    }

    mutating func report(
        _ severity: ConfigurationDiagnostic.Severity, at position: SourcePosition, length: Int = 1, _ message: String,
        suggestion: String? = nil
    ) {
        if severity == .error { hasErrors = true }
        guard found.count < Self.limit else {
            omitted += 1
            return
        }
        let file = files[position.file]
        let diagnostic = ConfigurationDiagnostic(
            severity, at: file.place(position), message, suggestion: suggestion,
            excerpt: file.excerpt(position, length: length))
        found.append((position, diagnostic))
    }

    /// Reports a problem of the whole file.
    mutating func report(
        _ severity: ConfigurationDiagnostic.Severity, file: Int, _ message: String, suggestion: String? = nil
    ) {
        if severity == .error { hasErrors = true }
        let diagnostic = ConfigurationDiagnostic(severity, file: files[file].path, message, suggestion: suggestion)
        found.append((SourcePosition(file: file, line: -1, byte: 0), diagnostic))
    }

    /// Reports a problem within a value.
    mutating func report(_ severity: ConfigurationDiagnostic.Severity, _ error: ValueError, in text: SourceText) {
        let start = min(max(0, error.offset), text.count)
        let length = min(max(1, error.length), max(1, text.count - start))
        report(
            severity, at: text.position(at: start), length: length, error.message, suggestion: error.suggestion)
    }

    var diagnostics: [ConfigurationDiagnostic] {
        // Stable: diagnostics at the same place stay in the order of their reports.
        var sorted = found.enumerated().sorted {
            ($0.element.position, $0.offset) < ($1.element.position, $1.offset)
        }.map(\.element.diagnostic)
        if omitted > 0, let path = files.first?.path {
            let message = "\(omitted) more errors and warnings are not shown"
            sorted.append(ConfigurationDiagnostic(hasErrors ? .error : .warning, file: path, message))
        }
        return sorted
    }
}
