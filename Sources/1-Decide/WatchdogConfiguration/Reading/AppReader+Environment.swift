// SPDX-License-Identifier: Apache-2.0

extension AppReader {
    /// Variables that watchdogd sets for each launch.
    private static let own: Set<String> = [
        "NOTIFY_SOCKET", "WATCHDOG_CHANNEL", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID",
    ]

    mutating func addVariables(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            draft.program.environment = []
            variableIndices = [:]
            return
        }
        var words = WordReader(text)
        while let word = try words.next() {
            warnOfEscapes(in: word, of: text)
            let variable: EnvironmentVariable
            do throws(ValueError) {
                variable = try self.variable(word)
            } catch {
                tell(error, of: .environment, in: text)
                continue
            }
            if Self.own.contains(variable.name) {
                diagnostics.report(
                    .warning,
                    word.error("Environment: watchdogd sets \(variable.name) itself; this has no effect"), in: text)
            }
            if let index = variableIndices[variable.name] {
                draft.program.environment[index] = variable
            } else {
                variableIndices[variable.name] = draft.program.environment.count
                draft.program.environment.append(variable)
            }
        }
    }

    private func variable(_ word: Word) throws(ValueError) -> EnvironmentVariable {
        let assignment = try expanded(word)
        guard let equals = assignment.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw word.error(
                "\(assignment.quoted()) has no \"=\"; put a value with spaces in quotes: Environment=\"NAME=two words\""
            )
        }
        let name = assignment[..<equals]
        guard Variables.isName(name) else {
            let rule = "use letters, digits and \"_\", and no digit first"
            throw word.error("\(name.quoted()) is not a variable name; \(rule)")
        }
        let value = assignment[equals...].dropFirst()
        guard Variables.isValue(value) else {
            throw word.error("the value of \(name) contains a control character")
        }
        return EnvironmentVariable(name: String(name), value: String(value))
    }

    mutating func addEnvironmentFile(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            draft.program.environmentFiles = []
            return
        }
        let path = try text.expanded(by: expansion)
        let isOptional = path.hasPrefix("-")
        let pattern = try Self.absolute(isOptional ? String(path.dropFirst()) : path, text)
        draft.program.environmentFiles.append(EnvironmentFile(pattern: pattern, isOptional: isOptional))
    }
}
