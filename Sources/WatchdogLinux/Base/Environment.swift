// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Environment variables, in an order that is kept.
public struct Environment: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// `NAME=value` entries, in the order in which the names came.
    public private(set) var entries: [ByteString] = []

    /// Creates an environment without variables.
    public init() {}

    /// Creates an environment from variables; a later value for the same name wins.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// Creates an environment from `NAME=value` entries; what has no name is left out.
    public init(entries: some Sequence<ByteString>) {
        // Those of a hostile program may be hundreds of thousands: not each is compared with all others.
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

    /// The environment of this process, byte for byte, as it was when it was asked for first.
    ///
    /// No other thread may change the process's environment meanwhile; watchdogd never does.
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
            // What comes first tells most of them apart.
            entry.bytes.count > length && entry.bytes[length] == UInt8(ascii: "=")
                && entry.bytes[..<length] == name.bytes[...]
        }
    }
}
