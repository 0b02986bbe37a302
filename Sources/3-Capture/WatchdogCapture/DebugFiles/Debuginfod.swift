// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux

/// Downloads debug files from the servers in `DEBUGINFOD_URLS`, with `libdebuginfod` in a separate process.
///
/// If watchdogd runs as root, that process runs as a user without other processes, and its cache is a folder that is
/// removed afterward; for other users, it uses their cache.
public struct Debuginfod {
    /// The limits for one file.
    public struct Limits: Sendable, Equatable {
        /// The size in bytes.
        public var size: UInt64 = 512 << 20
        /// The wall-clock time.
        public var time: Duration = .seconds(90)
        /// The maximum time without data from a server.
        public var silence: Duration = .seconds(15)

        /// Creates the default limits.
        public init() {}
    }

    /// The reason why a file is unavailable.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        /// The reason, worded as the end of a sentence.
        public let description: String
    }

    /// The environment variables that `libdebuginfod` and libcurl use.
    private static let variables = [
        "DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_RETRY_LIMIT", "HOME", "XDG_CACHE_HOME", "http_proxy",
        "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]

    private let symbolicator: Symbolicator
    private let environment: Environment
    private let limits: Limits

    /// Creates a client.
    ///
    /// - Parameter environment: must contain `DEBUGINFOD_URLS`.
    public init(_ symbolicator: Symbolicator, environment: Environment, limits: Limits = Limits()) {
        self.symbolicator = symbolicator
        self.environment = environment
        self.limits = limits
    }

    /// Downloads the debug file of one image.
    public func file(for image: DebugFile.Wanted) throws(Failure) -> DebugFile {
        guard let user = ReservedUser.reserved() else { return try file(for: image, as: nil, cache: nil) }
        var template = Array("/tmp/watchdogd-debuginfod-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw Failure(description: "no folder to put it in: \(Errno(rawValue: errno))")
        }
        let path = String(cString: made)
        defer { rmdir(path) }
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        guard let folder = try? OwnedDescriptor(opening: path, flags: flags) else {
            throw Failure(description: "no folder to put it in: \(Errno(rawValue: errno))")
        }
        defer { Self.empty(folder.number) }
        fchown(folder.number, user.credentials.user, user.credentials.group)
        return try file(for: image, as: user, cache: Cache(path: path, folder: folder))
    }

    /// A folder that is removed together with its contents.
    private struct Cache {
        let path: String
        let folder: OwnedDescriptor
    }

    private func file(
        for image: DebugFile.Wanted, as user: ReservedUser?, cache: Cache?
    ) throws(Failure) -> DebugFile {
        let result: BoundedRun.Result
        do throws(SymbolicationError) {
            result = try symbolicator.run(
                [Symbolicator.programName, "--fetch", image.buildID], [], as: user, budget: limits.time
            ) { configure(&$0, cache?.path) }
        } catch {
            throw Failure(description: error.description)
        }
        switch result.end {
        case .ended(.exited(code: 0)), .ended(.unknown): break
        case .overBudget: throw Failure(description: "it did not arrive within \(limits.time)")
        case .ended(.signaled(SIGXFSZ, _)): throw Failure(description: "it is larger than \(limits.size >> 20) MiB")
        case .ended, .tooMuchOutput, .outOfMemory:
            let mark = "\(Symbolicator.programName): "
            let message = result.message.hasPrefix(mark) ? String(result.message.dropFirst(mark.count)) : result.message
            throw Failure(description: message.isEmpty ? "its client failed" : message)
        }
        let path = String(decoding: result.output.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard let file = Self.open(path, in: cache) else { throw Failure(description: "its client named no file") }
        guard BuildID.read(debugFile: file.number) == image.buildID else {
            throw Failure(description: "what the server sent is of another build")
        }
        return DebugFile(descriptor: file, path: "debuginfod")
    }

    private func configure(_ request: inout SpawnRequest, _ cache: String?) {
        for name in Self.variables { if let value = environment[name] { request.environment[name] = value } }
        request.environment["DEBUGINFOD_MAXSIZE"] = "\(limits.size)"
        request.environment["DEBUGINFOD_MAXTIME"] = "\(limits.time.nanoseconds / 1_000_000_000)"
        request.environment["DEBUGINFOD_TIMEOUT"] = "\(limits.silence.nanoseconds / 1_000_000_000)"
        if let cache {
            request.environment["DEBUGINFOD_CACHE_PATH"] = cache
            request.environment["HOME"] = cache
        }
        let most = (try? ResourceLimit.current(.fileSize).hard) ?? .max
        request.limits = [
            ResourceLimit(.core, soft: 0, hard: 0),
            ResourceLimit(.fileSize, soft: min(limits.size, most), hard: min(limits.size, most)),
        ]
    }

    /// Opens the file that the untrusted client named: it must be a regular file, in the cache folder if there is one.
    private static func open(_ path: String, in cache: Cache?) -> OwnedDescriptor? {
        guard let cache else {
            return path.hasPrefix("/") ? try? OwnedDescriptor.regularFile(at: ByteString(path)) : nil
        }
        guard path.hasPrefix("\(cache.path)/") else { return nil }
        let name = path.utf8.dropFirst(cache.path.utf8.count + 1)
        return try? OwnedDescriptor.regularFile(at: ByteString(bytes: name), beneath: cache.folder)
    }

    /// Empties a folder whose owner is untrusted: follows no links, even if the contents change concurrently.
    ///
    /// - Parameter folder: a descriptor that the caller continues to own.
    static func empty(_ folder: Int32, depth: Int = 0) {
        // fdopendir(3) takes ownership of the descriptor.
        let own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard own >= 0 else { return }
        guard let stream = fdopendir(own) else {
            close(own)
            return
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != "..", unlinkat(folder, name, 0) != 0, depth < 8 else { continue }
            let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
            guard inner >= 0 else { continue }
            empty(inner, depth: depth + 1)
            close(inner)
            unlinkat(folder, name, AT_REMOVEDIR)
        }
    }
}
