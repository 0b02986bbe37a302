// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogVerdict

/// The owner of a frame's code, according to the image's name and folder.
public enum CodeOrigin: String, Codable, Sendable {
    /// The executable, or a file outside the system's library folders.
    case application
    /// A system library that belongs neither to the language nor to libc, such as SQLite; also an interpreter, and
    /// packages for its programs.
    case library
    /// libc, libdispatch, a language runtime, the loader, the kernel's vDSO, program startup code, and the standard
    /// libraries of Python, JavaScript, Java, .NET, Erlang, Go, Rust and C++, even if they are in the program's own file.
    case runtime
    /// Code in no known image.
    case unknown

    /// Library names up to the first dot, dash or digit.
    private static let runtimeNames: Set<String> = [
        "libc", "ld", "libpthread", "libm", "libdl", "librt", "libresolv", "libnss", "libutil", "libanl", "libgcc_s",
        "libstdc++", "libc++", "libc++abi", "libunwind", "libatomic", "libgomp", "libasan", "libtsan", "libubsan",
        "libdispatch", "libBlocksRuntime", "linux", "[vdso]", "[vsyscall]", "libobjc", "libdyld", "dyld",
        "libsystem_kernel", "libsystem_pthread", "libsystem_malloc", "libsystem_c", "libsystem_platform",
        "CoreFoundation", "GraphicsServices", "UIKitCore", "Foundation", "libFoundation", "lib_FoundationICU",
        "libFoundationEssentials", "libFoundationInternationalization",
    ]

    /// Programs and libraries that run scripts, without the version at the end of their names.
    private static let interpreterNames: Set<String> = [
        "python", "libpython", "pypy", "libpypy", "node", "nodejs", "libnode", "ruby", "libruby", "perl", "libperl",
        "php", "php-fpm", "libphp", "java", "libjvm", "dotnet", "libcoreclr", "libclrjit", "beam.smp", "sh", "bash",
        "dash", "ksh", "zsh", "busybox",
    ]

    /// Functions that the linker adds to every executable.
    private static let startFunctions: Set<String> = ["_start", "__libc_csu_init", "__libc_start_main", "start"]

    /// Classifies an image by its path.
    ///
    /// - Parameters:
    ///   - image: the image.
    ///   - executable: the path of the process's executable.
    package init(of image: ImageInfo, executable: String?) {
        guard let path = image.path ?? image.name, !path.isEmpty, image.source != "A" else {
            self = .unknown
            return
        }
        if Self.isRuntime(path) {
            self = .runtime
        } else if Self.isInterpreter(path) || Self.isInstalledForInterpreter(path) {
            self = .library
        } else if path == executable || !Self.isSystem(path) {
            self = .application
        } else {
            self = .library
        }
    }

    /// - Parameters:
    ///   - frame: the frame.
    ///   - image: the origin of its image.
    package init(of frame: FrameInfo, in image: CodeOrigin) {
        if let language = frame.language {
            self = Self.managed(language, frame)
        } else if image != .unknown, let symbol = frame.symbol,
            Self.startFunctions.contains(symbol) || Self.isOurs(symbol)
        {
            self = .runtime
        } else if image == .application {
            self = Self.origin(of: CodeOwner(compiled: frame.symbol, file: frame.sourceFile))
        } else {
            self = image
        }
    }

    private static func origin(of owner: CodeOwner) -> CodeOrigin {
        switch owner {
        case .app: .application
        case .package: .library
        case .runtime: .runtime
        }
    }

    /// Whether the function belongs to the client library, which is linked into the app's file but is not the app's own
    /// code.
    private static func isOurs(_ symbol: String) -> Bool {
        symbol.hasPrefix("static Watchdog.") || symbol.contains(" in static Watchdog.")
    }

    private static func isRuntime(_ name: String) -> Bool {
        let file = name.split(separator: "/").last ?? name[...]
        let stem = file.prefix { $0 != "." && $0 != "-" }
        return runtimeNames.contains(String(stem)) || stem.hasPrefix("libswift")
    }

    private static func managed(_ language: String, _ frame: FrameInfo) -> CodeOrigin {
        guard let language = Frame.Language(rawValue: language) else { return .application }
        return origin(of: CodeOwner(language, symbol: frame.symbol, file: frame.sourceFile))
    }

    private static func isInterpreter(_ name: String) -> Bool {
        let file = name.split(separator: "/").last ?? name[...]
        let stem = file.firstRange(of: ".so").map { file[..<$0.lowerBound] } ?? file
        let bare = stem.reversed().drop { $0.isASCIIDigit || $0 == "." || $0 == "-" }.reversed()
        return interpreterNames.contains(String(bare))
    }

    /// Whether a file is an extension of Python or Node.js, which is loaded from these folders.
    private static func isInstalledForInterpreter(_ path: String) -> Bool {
        ["/site-packages/", "/dist-packages/", "/lib-dynload/", "/node_modules/"].contains { path.contains($0) }
    }

    private static func isSystem(_ path: String) -> Bool {
        let folders = ["/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/System/"]
        return folders.contains { path.hasPrefix($0) } || path.contains("/usr/lib/swift/")
    }
}
