// SPDX-License-Identifier: Apache-2.0

/// A command line of `ExecStart=`, `ExecStartPre=` or `ExecReload=`, with its specifiers replaced and its variables not.
public struct Command: Hashable, Sendable, Codable {
    /// The program: an absolute path, or a file name to be searched in `PATH`.
    public var program: String
    /// The arguments, beginning with the program's name for itself.
    ///
    /// They may contain variables: ``argumentsReplacingVariables(_:)``.
    public var arguments: [String]
    /// `-`: its failure counts as success.
    public var ignoresFailure = false
    /// `+`: it runs as the daemon's user, whatever `User=` and `Group=` are.
    public var isPrivileged = false
    /// False after `:`: `$` stands for itself.
    public var replacesVariables = true

    /// Creates a command without prefixes.
    public init(program: String, arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }

    /// The arguments with variables replaced as systemd.service(5) has it.
    ///
    /// A word `$NAME` becomes the words of the variable's value, split at blanks outside quotes, or none. `${NAME}`
    /// anywhere becomes the value as it is, or nothing. `$$` becomes `$`.
    ///
    /// - Parameter environment: the value of a variable; nil if it is not set.
    public func argumentsReplacingVariables(_ environment: (String) -> String?) -> [String] {
        guard replacesVariables else { return arguments }
        return arguments.flatMap { argument in
            if let name = Variables.name(ofWord: argument) {
                return environment(name).map(Variables.words) ?? []
            }
            return [Variables.replaced(in: argument, environment)]
        }
    }
}
