// SPDX-License-Identifier: Apache-2.0

/// Whose code a frame runs, judged by the image's name and folder.
public enum CodeOrigin: String, Codable, Sendable {
    /// The executable, or a file outside the system's library folders.
    case application
    /// A library of the system that is no part of the language or of libc, such as SQLite.
    case library
    /// libc, libdispatch, a language's runtime, the loader, the kernel's vDSO, and how a program begins.
    case runtime
    /// In no known image.
    case unknown

    /// Names up to a dot, a dash or a digit.
    private static let runtimeNames: Set<String> = [
        "libc", "ld", "libpthread", "libm", "libdl", "librt", "libresolv", "libnss", "libutil", "libanl", "libgcc_s",
        "libstdc++", "libc++", "libc++abi", "libunwind", "libatomic", "libgomp", "libasan", "libtsan", "libubsan",
        "libdispatch", "libBlocksRuntime", "linux", "[vdso]", "[vsyscall]", "libobjc", "libdyld", "dyld",
        "libsystem_kernel", "libsystem_pthread", "libsystem_malloc", "libsystem_c", "libsystem_platform",
        "CoreFoundation", "GraphicsServices", "UIKitCore", "Foundation", "libFoundation", "lib_FoundationICU",
        "libFoundationEssentials", "libFoundationInternationalization",
    ]

    /// Functions that a linker puts into every executable.
    private static let startFunctions: Set<String> = ["_start", "__libc_csu_init", "__libc_start_main", "start"]

    /// - Parameters:
    ///   - executable: the path of the process's executable.
    init(of frame: FrameInfo, in image: ImageInfo, executable: String?) {
        guard let path = image.path ?? image.name, !path.isEmpty, image.source != "A" else {
            self = .unknown
            return
        }
        if Self.isRuntime(image.name ?? path) {
            self = .runtime
        } else if let symbol = frame.symbol, Self.startFunctions.contains(symbol) || Self.isOurs(symbol) {
            self = .runtime
        } else if path == executable || !Self.isSystem(path) {
            self = .application
        } else {
            self = .library
        }
    }

    /// The client library's own functions, which are part of the app's file: they say nothing of the app.
    private static func isOurs(_ symbol: String) -> Bool {
        symbol.hasPrefix("static Watchdog.") || symbol.contains(" in static Watchdog.")
    }

    private static func isRuntime(_ name: String) -> Bool {
        let file = name.split(separator: "/").last ?? name[...]
        let stem = file.prefix { $0 != "." && $0 != "-" }
        return runtimeNames.contains(String(stem)) || stem.hasPrefix("libswift")
    }

    private static func isSystem(_ path: String) -> Bool {
        let folders = ["/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/System/"]
        return folders.contains { path.hasPrefix($0) } || path.contains("/usr/lib/swift/")
    }
}
