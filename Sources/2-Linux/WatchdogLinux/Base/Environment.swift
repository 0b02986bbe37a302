// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Environment variables, whose order is preserved.
public struct Environment: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// `NAME=value` entries, in the order in which the names were first set.
    public private(set) var entries: [ByteString] = []

    /// Creates an environment without variables.
    public init() {}

    /// Creates an environment from variables; a later value for the same name wins.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// Creates an environment from `NAME=value` entries; entries without a name are left out.
    public init(entries: some Sequence<ByteString>) {
        // A hostile program may have hundreds of thousands of entries: avoid comparing each with all others.
        var places: [ByteString: Int] = [:]
        for entry in entries {
            guard let equals = entry.bytes.firstIndex(of: UInt8(ascii: "=")), equals > 0 else { continue }
            let name = ByteString(bytes: entry.bytes[..<equals])
            if let place = places[name] {
                self.entries[place] = entry
            } else {
                places[name] = self.entries.count
                self.entries.append(entry)
            }
        }
    }

    /// This process's environment, byte for byte, as of the first access.
    ///
    /// No other thread may change the environment during that access; watchdogd never does.
    public static let inherited: Environment = {
        var entries: [ByteString] = []
        var next = environ
        while let entry = next.pointee {
            entries.append(ByteString(cString: entry))
            next += 1
        }
        return Environment(entries: entries)
    }()

    /// The value of a variable as text; nil removes it.
    public subscript(name: String) -> String? {
        get {
            let name = ByteString(name)
            guard let index = index(of: name) else { return nil }
            return String(decoding: entries[index].bytes.dropFirst(name.bytes.count + 1), as: UTF8.self)
        }
        set { set(ByteString(name), to: newValue.map { ByteString($0) }) }
    }

    /// Where programs are looked for: `PATH`, or what shells use without it.
    public var searchPath: String { self["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" }

    /// Sets a variable byte for byte; nil removes it.
    public mutating func set(_ name: ByteString, to value: ByteString?) {
        let index = index(of: name)
        guard let value else {
            if let index { entries.remove(at: index) }
            return
        }
        let entry = ByteString(bytes: name.bytes + [UInt8(ascii: "=")] + value.bytes)
        if let index { entries[index] = entry } else { entries.append(entry) }
    }

    private func index(of name: ByteString) -> Int? {
        let length = name.bytes.count
        return entries.firstIndex { entry in
            // Check the length first: it distinguishes most names.
            entry.bytes.count > length && entry.bytes[length] == UInt8(ascii: "=")
                && entry.bytes[..<length] == name.bytes[...]
        }
    }
}
