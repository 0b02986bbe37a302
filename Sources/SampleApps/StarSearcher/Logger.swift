// SPDX-License-Identifier: Apache-2.0

import Glibc
import SampleSupport

/// The app's logger, which it uses for one rare line only.
enum Logger {
    /// Costs nothing until it is used.
    case system
    /// A shared library with a constructor that takes long.
    case superfast(@convention(c) (UnsafePointer<CChar>) -> Void)

    private static let library = "libSuperfastLog.so"
    private static let preload = "LD_PRELOAD"

    func log(_ message: String) {
        switch self {
        case .system:
            let line = "<6>StarSearcher: \(message)\n"
            write(STDERR_FILENO, line, line.utf8.count)
        case .superfast(let log): log(message)
        }
    }

    /// The library's logger, which is loaded before main or not at all.
    ///
    /// An option cannot link a library, so this process executes itself anew with the library preloaded: ld.so(8). Its
    /// constructor then runs where that of a linked library would.
    static func superfast(for arguments: Arguments) -> Logger {
        // The null handle is RTLD_DEFAULT: all libraries of the process.
        if let symbol = dlsym(nil, "superfast_log") {
            // The app's children are programs of their own.
            unsetenv(preload)
            return .superfast(unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>) -> Void).self))
        }
        guard getenv(preload) == nil else { arguments.giveUp("the dynamic linker did not load \(library)") }
        let program = "/proc/self/exe"
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink(program, &buffer, buffer.count - 1)
        let own = String(decoding: buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = own.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(library)"
        guard access(path, R_OK) == 0 else {
            arguments.giveUp("cannot read \(path): \(String(cString: strerror(errno)))")
        }
        setenv(preload, path, 1)
        // The library's constructor reads the scale before main, and therefore before any option.
        setenv("SAMPLE_TIME_SCALE", "\(arguments.timeScale)", 1)
        execv(own, CommandLine.arguments.map { strdup($0) } + [nil])
        arguments.giveUp("cannot execute \(own): \(String(cString: strerror(errno)))")
    }
}
