// SPDX-License-Identifier: Apache-2.0

import CSymbolication
import Glibc
import WatchdogCapture
import WatchdogLinux

/// The command line of `watchdogd-symbolicate`.
public enum SymbolicateCommand {
    private static let snapshotDescriptor: Int32 = 3
    private static let firstModuleDescriptor: Int32 = 4

    private static let usage = """
        Usage: watchdogd-symbolicate [--budget TIME] 3<SNAPSHOT [4<MODULE] [5<MODULE] ...
               watchdogd-symbolicate --names [--budget TIME] 3<REQUEST [4<MODULE] [5<MODULE] ...
               watchdogd-symbolicate --fetch BUILD-ID

        Unwinds and symbolicates a snapshot of a process, and prints the stacks as JSON. It is started by watchdogd.

          Descriptor 3        the snapshot
          Descriptors 4, ...  the files mapped into the process and its perf map, in the order in which the snapshot
                              numbers them

          --names             name addresses of a stored report: descriptor 3 is the request in JSON, the others are
                              the debug files of its images
          --fetch BUILD-ID    have libdebuginfod get a debug file from $DEBUGINFOD_URLS, and print its path
          --budget TIME       time to work, such as 3s or 500ms (default 3s), not counting waits for a CPU; when it
                              runs out, source lines are left out, then names
          --help              print this text

        Exit status: 0 done, 64 wrong usage, 65 not a snapshot or request, 69 no debug file, 70 failed.

        """

    /// Whether a command line is for this command: one executable has both roles, and the first word selects one.
    ///
    /// - Parameter arguments: The command line, including the program's name.
    public static func isMeant(by arguments: [String]) -> Bool {
        arguments.first?.split(separator: "/").last.map { $0 == Symbolicator.programName } ?? false
    }

    /// Runs the command.
    ///
    /// - Parameter arguments: The command line, including the program's name.
    /// - Returns: The exit status.
    public static func run(_ arguments: [String]) -> Int32 {
        // Descriptor 3 contains stacks, and the environment of --fetch may contain passwords of servers and proxies.
        wd_worker_seal()
        var job = SymbolicationJob()
        var isNaming = false
        var arguments = arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help", "-h":
                return Descriptor.write(usage.utf8, to: STDOUT_FILENO) ? EX_OK : EX_IOERR
            case "--names": isNaming = true
            case "--fetch":
                guard let identifier = arguments.popFirst() else { return fail("--fetch needs a build-id", EX_USAGE) }
                return fetch(identifier)
            case "--budget":
                guard let text = arguments.popFirst(), let budget = duration(text) else {
                    return fail("--budget needs a time such as 3s or 500ms", EX_USAGE)
                }
                job.budget = budget
            default:
                return fail("unknown argument \(argument)", EX_USAGE)
            }
        }
        if isNaming {
            guard let naming = NamingJob(descriptor: snapshotDescriptor, firstModule: firstModuleDescriptor) else {
                return fail("descriptor 3 is not a request for names", EX_DATAERR)
            }
            return naming.run(within: job.budget, output: STDOUT_FILENO).map { fail($0, EX_SOFTWARE) } ?? EX_OK
        }
        let contents: SnapshotContents
        do throws(SnapshotFormatError) {
            contents = try SnapshotReader.read(descriptor: snapshotDescriptor)
        } catch {
            return fail("\(error)", EX_DATAERR)
        }
        let numbers = contents.modules.compactMap(\.descriptor) + [contents.perfMap].compactMap(\.self)
        let count = (numbers.max() ?? -1) + 1
        let modules = (0..<Int32(count)).map { firstModuleDescriptor + $0 }
        guard let problem = job.run(contents, modules: modules, output: STDOUT_FILENO) else { return EX_OK }
        return fail(problem, EX_SOFTWARE)
    }

    /// Downloads a file from a server, within libdebuginfod's limits.
    private static func fetch(_ identifier: String) -> Int32 {
        guard (2...128).contains(identifier.utf8.count), identifier.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return fail("--fetch: \(identifier.prefix(130)) is not a build ID", EX_USAGE)
        }
        var path: UnsafeMutablePointer<CChar>?
        let error = wd_debuginfod_find(identifier, &path)
        guard error == 0, let path else {
            guard error != 0 else { return fail("libdebuginfod.so.1 is not installed", EX_UNAVAILABLE) }
            let reason =
                switch -error {
                case ENOENT: "no server has it"
                case EFBIG: "it is too large"
                default: String(cString: strerror(-error))
                }
            return fail(reason, EX_UNAVAILABLE)
        }
        defer { free(path) }
        return Descriptor.write("\(String(cString: path))\n".utf8, to: STDOUT_FILENO) ? EX_OK : EX_IOERR
    }

    /// Parses a whole number of seconds or milliseconds, up to an hour.
    static func duration(_ text: String) -> Duration? {
        let isMilliseconds = text.hasSuffix("ms")
        guard isMilliseconds || text.hasSuffix("s"), let number = UInt32(text.dropLast(isMilliseconds ? 2 : 1)),
            number > 0
        else { return nil }
        let duration: Duration = isMilliseconds ? .milliseconds(number) : .seconds(number)
        return duration <= .seconds(3600) ? duration : nil
    }

    private static func fail(_ message: String, _ status: Int32) -> Int32 {
        _ = Descriptor.write("watchdogd-symbolicate: \(message)\n".utf8, to: STDERR_FILENO)
        return status
    }
}

/// Writes to descriptors without stdio, whose streams are shared mutable state to Swift.
enum Descriptor {
    /// Writes all bytes; returns false on failure.
    static func write(_ bytes: some Sequence<UInt8>, to descriptor: Int32) -> Bool {
        (try? writeAll(Array(bytes), to: descriptor)) != nil
    }
}
