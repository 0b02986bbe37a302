// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture

/// The command line of `watchdogd-symbolicate`.
public enum SymbolicateCommand {
    private static let snapshotDescriptor: Int32 = 3
    private static let firstModuleDescriptor: Int32 = 4

    private static let usage = """
        Usage: watchdogd-symbolicate [--budget TIME] 3<SNAPSHOT [4<MODULE] [5<MODULE] ...

        Unwinds and symbolicates a snapshot of a process, and prints the stacks as JSON. It is started by watchdogd.

          Descriptor 3        the snapshot
          Descriptors 4, ...  the files mapped into the process, in the order in which the snapshot numbers them

          --budget TIME       time to spend, such as 3s or 500ms (default 3s); when it runs out, source lines are left
                              out, then names
          --help              print this text

        Exit status: 0 done, 64 wrong usage, 65 not a snapshot, 70 failed.

        """

    /// Runs the command.
    ///
    /// - Parameter arguments: The command line with the program's name.
    /// - Returns: The exit status.
    public static func run(_ arguments: [String]) -> Int32 {
        var job = SymbolicationJob()
        var arguments = arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help", "-h":
                return Descriptor.write(usage.utf8, to: STDOUT_FILENO) ? EX_OK : EX_IOERR
            case "--budget":
                guard let text = arguments.popFirst(), let budget = duration(text) else {
                    return fail("--budget needs a time such as 3s or 500ms", EX_USAGE)
                }
                job.budget = budget
            default:
                return fail("unknown argument \(argument)", EX_USAGE)
            }
        }
        let contents: SnapshotContents
        do throws(SnapshotFormatError) {
            contents = try SnapshotReader.read(descriptor: snapshotDescriptor)
        } catch {
            return fail("\(error)", EX_DATAERR)
        }
        let count = (contents.modules.compactMap(\.descriptor).max() ?? -1) + 1
        let modules = (0..<Int32(count)).map { firstModuleDescriptor + $0 }
        guard let problem = job.run(contents, modules: modules, output: STDOUT_FILENO) else { return EX_OK }
        return fail(problem, EX_SOFTWARE)
    }

    /// A whole number of seconds or milliseconds, up to an hour.
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
