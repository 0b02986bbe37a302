// SPDX-License-Identifier: Apache-2.0

/// The values of the `%` specifiers of systemd.unit(5) on this machine and for this daemon.
///
/// Nil means unknown; a setting that uses it is an error.
public struct Specifiers: Hashable, Sendable {
    /// `%h`: the home directory of the daemon's user.
    public var home: String?
    /// `%t`: the root of runtime directories.
    public var runtimeDirectory: String?
    /// `%S`: the root of state directories.
    public var stateDirectory: String?
    /// `%C`: the root of cache directories.
    public var cacheDirectory: String?
    /// `%L`: the root of log directories.
    public var logDirectory: String?
    /// `%u`: the name of the daemon's user.
    public var userName: String?
    /// `%U`: the id of the daemon's user.
    public var userID: UInt32?
    /// `%H`: the machine's host name; `%l` is the part before the first dot.
    public var hostName: String?
    /// `%m`: the machine id, 32 hexadecimal digits.
    public var machineID: String?
    /// `%b`: the boot id, 32 hexadecimal digits.
    public var bootID: String?
    /// `%v`: the kernel release.
    public var kernelRelease: String?

    /// Creates specifiers without values; only those of the app's name work.
    public init() {}

    /// The directories of a system daemon, which runs as root.
    public static var system: Specifiers {
        var specifiers = Specifiers()
        specifiers.home = "/root"
        specifiers.runtimeDirectory = "/run"
        specifiers.stateDirectory = "/var/lib"
        specifiers.cacheDirectory = "/var/cache"
        specifiers.logDirectory = "/var/log"
        specifiers.userName = "root"
        specifiers.userID = 0
        return specifiers
    }

    /// The directories of a user's daemon: XDG Base Directory Specification.
    ///
    /// - Parameters:
    ///   - home: the user's home directory.
    ///   - environment: the daemon's; `XDG_…` variables without an absolute path count as unset.
    public static func user(home: String, environment: (String) -> String?) -> Specifiers {
        func directory(_ variable: String, _ standard: String?) -> String? {
            environment(variable).flatMap { $0.hasPrefix("/") ? $0 : nil } ?? standard
        }
        var specifiers = Specifiers()
        specifiers.home = home
        specifiers.runtimeDirectory = directory("XDG_RUNTIME_DIR", nil)
        specifiers.stateDirectory = directory("XDG_STATE_HOME", "\(home)/.local/state")
        specifiers.cacheDirectory = directory("XDG_CACHE_HOME", "\(home)/.cache")
        specifiers.logDirectory = specifiers.stateDirectory.map { "\($0)/log" }
        return specifiers
    }
}

/// The specifiers for one app.
struct SpecifierExpansion {
    private let specifiers: Specifiers
    private let name: AppName

    init(_ specifiers: Specifiers, for name: AppName) {
        self.specifiers = specifiers
        self.name = name
    }

    /// A longer value is not a mistake but an attempt to fill the memory.
    private static let limit = 1 << 20

    /// Expands every specifier.
    ///
    /// - Throws: an error at the `%`, by offset into `bytes`.
    func expand(_ bytes: some Collection<UInt8>) throws(ValueError) -> String {
        var result: [UInt8] = []
        var offset = 0
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            if byte == UInt8(ascii: "%") {
                result += try value(of: iterator.next(), at: offset).utf8
                offset += 1
            } else {
                result.append(byte)
            }
            offset += 1
            guard result.count <= Self.limit else {
                throw ValueError(message: "the value with its specifiers replaced is longer than 1 MiB", offset: offset)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private func value(of letter: UInt8?, at offset: Int) throws(ValueError) -> String {
        guard let letter, letter > 0x20, letter < 0x7f else {
            throw ValueError(message: "a lone \"%\"; write %% for a percent sign", offset: offset)
        }
        let shown = "%\(Character(Unicode.Scalar(letter)))"
        let unknown = ValueError(
            message: "unknown specifier \(shown); write %\(shown) for a literal \(shown)", offset: offset,
            length: 2)
        let value =
            switch Unicode.Scalar(letter) {
            case "%": "%"
            case "n": name.description + AppName.fileSuffix
            case "N": name.description
            case "p": name.prefix
            case "P": Self.unescaped(name.prefix)
            case "i": name.instance
            case "I": Self.unescaped(name.instance)
            case "j": Self.finalComponent(name.prefix)
            case "J": Self.unescaped(Self.finalComponent(name.prefix))
            case "h": specifiers.home
            case "t": specifiers.runtimeDirectory
            case "S": specifiers.stateDirectory
            case "C": specifiers.cacheDirectory
            case "L": specifiers.logDirectory
            case "u": specifiers.userName
            case "U": specifiers.userID.map { String($0) }
            case "H": specifiers.hostName
            case "l": specifiers.hostName.map { String($0.prefix { $0 != "." }) }
            case "m": specifiers.machineID
            case "b": specifiers.bootID
            case "v": specifiers.kernelRelease
            default: throw unknown
            }
        guard let value else {
            throw ValueError(message: "the value of \(shown) is not known here", offset: offset, length: 2)
        }
        return value
    }

    /// Reverses systemd-escape(1); a name cannot contain its `\x..`, so only `-` remains.
    private static func unescaped(_ text: String) -> String {
        String(text.map { $0 == "-" ? "/" : $0 })
    }

    private static func finalComponent(_ text: String) -> String {
        text.lastIndex(of: "-").map { String(text[text.index(after: $0)...]) } ?? text
    }
}
