// SPDX-License-Identifier: Apache-2.0

/// The program of a recording.
public struct LaunchedProgram: Equatable, Sendable, Codable {
    /// The way in which the kernel starts a program.
    public enum Kind: String, Sendable, Codable {
        /// An ELF file with an interpreter, which is the dynamic linker.
        case dynamic
        /// An ELF file without an interpreter.
        case `static`
        /// Unknown: the file could not be read.
        case unknown
    }

    /// The command, as specified by the user.
    public var command: [String]
    /// The files that the process executed, in order; the last one is the program itself.
    ///
    /// A script or a wrapper has several.
    public var executables: [String]
    /// The way in which the kernel starts the program itself.
    public var kind: Kind
    /// The dynamic linker's path.
    public var interpreter: String?
    /// The name of the C library: "glibc", "musl"; nil if unknown or without one.
    public var runtime: String?
    /// The build ID of the main program in hexadecimal digits.
    public var buildID: String?
    /// The ID of the launched process.
    public var processID: Int32

    /// Creates the description of a program.
    public init(
        command: [String], executables: [String], kind: Kind = .unknown, interpreter: String? = nil,
        runtime: String? = nil, buildID: String? = nil, processID: Int32
    ) {
        self.command = command
        self.executables = executables
        self.kind = kind
        self.interpreter = interpreter
        self.runtime = runtime
        self.buildID = buildID
        self.processID = processID
    }
}

/// The machine of a recording.
public struct RecordingHost: Equatable, Sendable, Codable {
    /// As of uname(2): "x86_64".
    public var architecture: String
    /// As of uname(2): "6.1.0-26-amd64".
    ///
    /// The bits of a thread's state depend on it.
    public var kernel: String
    /// The number of online CPUs.
    public var processors: Int

    /// Creates the description of a machine.
    public init(architecture: String, kernel: String, processors: Int) {
        self.architecture = architecture
        self.kernel = kernel
        self.processors = processors
    }
}
